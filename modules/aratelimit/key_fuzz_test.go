package aratelimit

import (
	"crypto/sha256"
	"encoding/base64"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// FuzzKey builds the keys of two callers at will. Each is taken apart again into exactly what it was made of, in ASCII without
// anything raw in it, and the two are the same only if all that they were made of is (contract A6).
func FuzzKey(f *testing.F) {
	f.Add("acme", "password-reset", "POST", "/demo/student/:id", "203.0.113.7", "7", int64(1_750_000_000_000), "acme:password-reset", "", "GET", "/", "::1", "a|subject:b", int64(-1))
	f.Add("", "a:b", "GET", "/a", "", "", int64(0), "", "a", "GET", "b:/a", "", "anonymous", int64(0))
	f.Add("null", "*", "HEAD", "*", "::ffff:1.2.3.4", "\x00", int64(1), "%6eull", "é\xff", "head", "//x", "1.2.3.4", "subject:x", int64(59_999))
	f.Fuzz(func(t *testing.T, instance1, name1, method1, raw1, ip1, id1 string, now1 int64, instance2, name2, method2, raw2, ip2, id2 string, now2 int64) {
		for _, kind := range []KeyKind{KeyIdentity, KeyIP, KeySubject} {
			for _, bits := range []int{128, 64, 1} {
				a := made(t, kind, bits, instance1, name1, method1, raw1, ip1, id1, now1)
				b := made(t, kind, bits, instance2, name2, method2, raw2, ip2, id2, now2)
				if (a.key == b.key) != (a.of == b.of) {
					t.Errorf("%q and %q have the keys %q and %q", a.of, b.of, a.key, b.key)
				}
			}
		}
	})
}

type madeKey struct {
	key string
	of  [5]string // instance, policy, route, identity, start
}

func made(t *testing.T, kind KeyKind, bits int, instance, name, method, raw, ip, id string, now int64) madeKey {
	t.Helper()
	c := &onion.Call{Instance: instance}
	c.Addr, _ = netip.ParseAddr(ip)
	c.Addr = c.Addr.Unmap().WithZone("") // as contract D4 has it
	passport.Set(c, &passport.Passport{User: passport.User{ID: passport.StringID(id)}})
	r := &onion.RouteInfo{Bean: "m.controller.c", Action: "a", Method: method, Raw: raw}
	p := Policy{WindowMs: 60_000, Key: kind, Name: name}
	start := windowAt(now, p.WindowMs).start
	if now > -1<<62 && (start > now || now-start >= p.WindowMs || start%p.WindowMs != 0) {
		t.Fatalf("the window of %d begins at %d", now, start)
	}
	m := madeKey{
		key: slotsOf("pre:", bits, p, r).key(c, start),
		of:  [5]string{instance, policyName(p, r), strings.ToLower(method) + ":" + raw, string(appendIdentity(nil, c, kind, bits)), strconv.FormatInt(start, 10)},
	}
	for i := range len(m.key) {
		if b := m.key[i]; b <= ' ' || b > '~' || strings.IndexByte(`{}*?[]\`, b) >= 0 && b != '*' {
			t.Fatalf("the key %q has the byte %q", m.key, b)
		}
	}
	parts := strings.Split(strings.TrimPrefix(m.key, "pre:rate-limit:v1:"), ":")
	if len(parts) != 5 {
		t.Fatalf("the key %q has %d parts", m.key, len(parts))
	}
	for i, part := range parts[:3] {
		if text, err := url.PathUnescape(part); err != nil || text != m.of[i] {
			t.Fatalf("part %d of %q is %q (%v), want %q", i, m.key, text, err, m.of[i])
		}
	}
	sum := sha256.Sum256([]byte(m.of[3]))
	if parts[3] != base64.RawURLEncoding.EncodeToString(sum[:]) || parts[4] != m.of[4] {
		t.Fatalf("the key %q is not that of %q", m.key, m.of)
	}
	return m
}

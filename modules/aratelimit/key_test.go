package aratelimit

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// looseText is a JSON text or number, as text.
type looseText string

func (l *looseText) UnmarshalJSON(data []byte) error {
	*l = looseText(strings.Trim(string(data), `"`))
	return nil
}

type keyCase struct {
	Name         string
	InstanceName string
	Bean         string `json:"controllerBeanFullName"`
	Action       looseText
	Method       string `json:"routeMethod"`
	Raw          string `json:"routePathRaw"`
	IP           string
	User         passport.User
	Auth         passport.Auth
	Policy       struct {
		WindowMs int64
		Key      KeyKind
		Name     string
	}
	Now           int64
	Key, Identity string
}

// Contract A5 and A6, against keys recorded from Vona.
func TestKeyVectors(t *testing.T) {
	for _, tc := range readVectors[keyCase](t, "ratekey.json") {
		t.Run(tc.Name, func(t *testing.T) {
			c := &onion.Call{Instance: tc.InstanceName}
			if tc.IP != "" {
				c.Addr = netip.MustParseAddr(tc.IP)
			}
			passport.Set(c, &passport.Passport{User: tc.User, Auth: tc.Auth})
			r := &onion.RouteInfo{Bean: tc.Bean, Action: string(tc.Action), Method: strings.ToUpper(tc.Method), Raw: tc.Raw}
			p := Policy{WindowMs: tc.Policy.WindowMs, Key: tc.Policy.Key, Name: tc.Policy.Name}

			if got := string(appendIdentity(nil, c, p.Key, 128)); got != tc.Identity {
				t.Errorf("identity %q, want %q", got, tc.Identity)
			}
			start := windowAt(tc.Now, p.WindowMs).start
			if got := slotsOf("", 128, p, r).key(c, start); got != tc.Key {
				t.Errorf("key\n got %s\nwant %s", got, tc.Key)
			}
		})
	}
}

func TestKeyOfSharedBucket(t *testing.T) {
	p := Policy{Name: "mail out", Shared: onion.On, Key: KeySubject}
	key := slotsOf("pre:", 128, p, testRoute).key(&onion.Call{}, 60_000)
	const want = "pre:rate-limit:v1::mail%20out:*:zkfiGhE4fw6Pmn60ibGi5S6D0gJMhjMOt11w-SY7K7g:60000"
	if key != want {
		t.Fatalf("key\n got %s\nwant %s", key, want)
	}
}

// Contract D4: ipv6Prefix groups IPv6 addresses, and nothing else.
func TestIPv6Prefix(t *testing.T) {
	for _, tc := range []struct {
		addr string
		bits int
		want string
	}{
		{"2001:db8:1:2:3:4:5:6", 128, "2001:db8:1:2:3:4:5:6"},
		{"2001:db8:1:2:3:4:5:6", 127, "2001:db8:1:2:3:4:5:6"},
		{"2001:db8:1:2:3:4:5:7", 127, "2001:db8:1:2:3:4:5:6"},
		{"2001:db8:1:2:3:4:5:6", 64, "2001:db8:1:2::"},
		{"2001:db8:1:2:ffff:ffff:ffff:ffff", 64, "2001:db8:1:2::"},
		{"2001:db8:1:3::", 64, "2001:db8:1:3::"},
		{"2001:db8:1:2::", 48, "2001:db8:1::"},
		{"2001:db8:1:2::", 1, "::"},
		{"ffff::", 1, "8000::"},
		{"fe80::1%eth0", 128, "fe80::1%eth0"}, // zones are taken off before (contract D4)
		{"fe80::1%eth0", 64, "fe80::"},
		{"203.0.113.77", 1, "203.0.113.77"},
		{"203.0.113.77", 32, "203.0.113.77"},
		{"203.0.113.77", 64, "203.0.113.77"},
		{"::ffff:203.0.113.77", 64, "::ffff:203.0.113.77"},
	} {
		c := &onion.Call{Addr: netip.MustParseAddr(tc.addr)}
		if got := string(appendIdentity(nil, c, KeyIP, tc.bits)); got != "ip:"+tc.want {
			t.Errorf("%s by %d bits: %s, want ip:%s", tc.addr, tc.bits, got, tc.want)
		}
	}
	if got := string(appendIdentity(nil, &onion.Call{}, KeyIP, 64)); got != "ip:unknown" {
		t.Errorf("no address: %s", got)
	}
	a := &onion.Call{Addr: netip.MustParseAddr("2001:db8::1")}
	b := &onion.Call{Addr: netip.MustParseAddr("2001:db8::2")}
	one, all := slotsOf("", 64, policy(nil), testRoute), slotsOf("", 128, policy(nil), testRoute)
	if one.key(a, 0) != one.key(b, 0) || all.key(a, 0) == all.key(b, 0) {
		t.Error("keys do not follow the prefix")
	}
}

func TestKeyWithoutInstance(t *testing.T) {
	key := slotsOf("", 128, Policy{}, testRoute).key(&onion.Call{NoInstance: true, Instance: "x"}, 0)
	if !strings.HasPrefix(key, "rate-limit:v1:null:") {
		t.Fatal(key)
	}
}

func TestAggregateKey(t *testing.T) {
	if got := aggregateKey("limiter_app:", 1796072074000); got != "limiter_app:rate-limit:v1:aggregate:1796072074000" {
		t.Fatal(got)
	}
}

// A key never splits differently than it was put together.
func TestEscapedSlots(t *testing.T) {
	for _, s := range []string{"", "a:b", "%3A", "ü/\x00\n", "\xff", "a b+c", "~!*'()-_."} {
		escaped := string(appendEscaped(nil, s))
		if strings.ContainsAny(escaped, ":/ +\x00\n") {
			t.Errorf("%q is escaped as %q", s, escaped)
		}
		if back, err := url.PathUnescape(escaped); err != nil || back != s {
			t.Errorf("%q is escaped as %q, which reads %q (%v)", s, escaped, back, err)
		}
	}
}

// Keys longer than the room on the stack are whole too.
func TestLongKey(t *testing.T) {
	name := strings.Repeat("ü", 10_000)
	key := slotsOf("", 128, Policy{Name: name}, testRoute).key(&onion.Call{Instance: name}, 1)
	if n := strings.Count(key, "%C3%BC"); n != 20_000 {
		t.Fatalf("%d of 20000 letters", n)
	}
}

func TestWindow(t *testing.T) {
	for _, tc := range []struct {
		now, length, start, seconds int64
	}{
		{0, 1000, 0, 1},
		{999, 1000, 0, 1},
		{1000, 1000, 1000, 1},
		{60_000, 60_000, 60_000, 60},
		{60_001, 60_000, 60_000, 60},
		{61_000, 60_000, 60_000, 59},
		{118_999, 60_000, 60_000, 2},
		{119_000, 60_000, 60_000, 1},
		{119_999, 60_000, 60_000, 1},
		{1_796_072_074_190, 86_400_000, 1_795_996_800_000, 11126},
		{1500, 1500, 1500, 2}, // a window and a half second: rounded up
		{-1, 1000, -1000, 1},  // a clock that is wrong by decades
	} {
		w := windowAt(tc.now, tc.length)
		if w.start != tc.start || w.end != tc.start+tc.length {
			t.Errorf("at %d by %d: window %v, want start %d", tc.now, tc.length, w, tc.start)
		}
		s := w.secondsLeft(tc.now)
		if s != tc.seconds {
			t.Errorf("at %d by %d: %d seconds left, want %d", tc.now, tc.length, s, tc.seconds)
		}
		// Contract A9: who waits exactly that long is in another window.
		if later := windowAt(tc.now+1000*s, tc.length); later.start < w.end {
			t.Errorf("at %d by %d: waiting %d s leads to window %v", tc.now, tc.length, s, later)
		}
	}
}

package aratelimit

import (
	"crypto/sha256"
	"encoding/base64"
	"net/netip"
	"strconv"
	"strings"

	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// Counter keys are those of contract A6 and B4, after the client's prefix.
const (
	keyHead          = "rate-limit:v1:"
	aggregateKeyHead = "rate-limit:v1:aggregate:"

	// keyRoom holds the keys one meets, so that building one allocates nothing
	// but the key itself.
	keyRoom = 384
	// identityRoom does the same for the identity text.
	identityRoom = 192
)

// window is a fixed window: aligned to whole multiples of its length since 1970.
type window struct{ start, end int64 } // ms

func windowAt(nowMs, lengthMs int64) window {
	start := nowMs - nowMs%lengthMs
	if start > nowMs { // the remainder of a time before 1970 is negative
		start -= lengthMs
	}
	return window{start, start + lengthMs}
}

// secondsLeft is the wait after which a client is in the next window, in whole
// seconds, at least 1 (contract A9).
func (w window) secondsLeft(nowMs int64) int64 {
	return max(1, (w.end-nowMs+999)/1000)
}

// slots are what a route and its policy put into every key, escaped once.
type slots struct {
	head string // the client's prefix, and what stands before the instance
	tail string // ":<policy>:<route>:"
	kind KeyKind
	ipv6 int // leading bits of an IPv6 address that count; 128 for all
}

// policyName is the policy slot, unescaped: what events and metrics call it too.
func policyName(p Policy, r *onion.RouteInfo) string {
	if p.Name != "" {
		return p.Name
	}
	return r.Bean + ":" + r.Action
}

func slotsOf(prefix string, ipv6 int, p Policy, r *onion.RouteInfo) slots {
	tail := appendEscaped([]byte(":"), policyName(p, r))
	tail = append(tail, ':')
	if p.Shared.True() {
		tail = append(tail, '*') // contract A12
	} else {
		tail = appendEscaped(tail, strings.ToLower(r.Method)+":"+r.Raw)
	}
	return slots{head: prefix + keyHead, tail: string(append(tail, ':')), kind: p.Key, ipv6: ipv6}
}

// key is the key that counts this call in the window that begins at start.
func (s slots) key(c *onion.Call, start int64) string {
	var room [keyRoom]byte
	key := append(room[:0], s.head...)
	if c.NoInstance {
		key = append(key, "null"...) // what the name is called; no instance has it
	} else {
		key = appendEscaped(key, c.Instance)
	}
	key = append(key, s.tail...)
	key = appendDigest(key, c, s.kind, s.ipv6)
	key = append(key, ':')
	return string(strconv.AppendInt(key, start, 10))
}

func aggregateKey(prefix string, start int64) string {
	var room [keyRoom]byte
	key := append(room[:0], prefix...)
	key = append(key, aggregateKeyHead...)
	return string(strconv.AppendInt(key, start, 10))
}

// appendDigest appends the digest of the caller's identity, which is all that a
// key ever holds of it.
func appendDigest(key []byte, c *onion.Call, kind KeyKind, ipv6 int) []byte {
	var room [identityRoom]byte
	sum := sha256.Sum256(appendIdentity(room[:0], c, kind, ipv6))
	return base64.RawURLEncoding.AppendEncode(key, sum[:])
}

// appendIdentity appends the identity text of contract A5.
func appendIdentity(text []byte, c *onion.Call, kind KeyKind, ipv6 int) []byte {
	if kind != KeySubject {
		text = append(text, "ip:"...)
		if c.Addr.IsValid() {
			text = grouped(c.Addr, ipv6).AppendTo(text)
		} else {
			text = append(text, "unknown"...)
		}
		if kind == KeyIP {
			return text
		}
		text = append(text, '|')
	}
	text = append(text, "subject:"...)
	return append(text, passport.Of(c).Subject()...)
}

// grouped is the address that stands for all IPv6 addresses with the same leading
// bits (contract D4). IPv4 addresses, mapped ones too, stand for themselves.
func grouped(addr netip.Addr, bits int) netip.Addr {
	if bits == addr.BitLen() || !addr.Is6() || addr.Is4In6() {
		return addr
	}
	network, err := addr.Prefix(bits)
	if err != nil { // no number of bits that config lets through
		return addr
	}
	return network.Addr()
}

// appendEscaped appends s as JavaScript's encodeURIComponent writes it. Bytes
// that are no UTF-8, for which JavaScript has no text, are escaped as they are.
func appendEscaped(dst []byte, s string) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(s) {
		if b := s[i]; unreserved(b) {
			dst = append(dst, b)
		} else {
			dst = append(dst, '%', digits[b>>4], digits[b&15])
		}
	}
	return dst
}

func unreserved(b byte) bool {
	switch {
	case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9':
		return true
	}
	return strings.IndexByte("-_.!~*'()", b) >= 0
}

package executor

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Bounds of what is read of a forwarding header. Behind more than maxForwarded
// trusted hops the address is that of the last one read.
const (
	maxForwarded    = 64
	maxForwardedLen = 64
)

// addresses finds who sent a request: the client's address, the host and whether
// the client used TLS (contract D4).
type addresses struct {
	header   string // canonical; "" trusts none
	trusted  []netip.Prefix
	maxCount int
}

// newAddresses checks and compiles a ProxyConfig. The error joins all bad entries;
// they are refused where the section is not enabled too.
func newAddresses(cfg ProxyConfig) (addresses, error) {
	trusted, err := parsePrefixes(cfg.Trusted)
	if err != nil || !cfg.Enabled {
		return addresses{}, err
	}
	a := addresses{header: http.CanonicalHeaderKey(cfg.Header), trusted: trusted, maxCount: cfg.MaxProxyCount}
	switch {
	case a.header == "":
		return a, fmt.Errorf("proxy.header: must name the header that holds the client's address")
	case a.header == "Forwarded":
		return a, fmt.Errorf("proxy.header: Forwarded is not read: want a header that is a list of addresses, such as X-Forwarded-For")
	case len(trusted) > 0 && cfg.MaxProxyCount > 0:
		return a, fmt.Errorf("proxy: give trusted or maxProxyCount, not both")
	case len(trusted) == 0 && cfg.MaxProxyCount <= 0:
		return a, fmt.Errorf("proxy: enabled, but neither trusted (a list of CIDRs) nor maxProxyCount (at least 1) says whom to trust")
	case cfg.MaxProxyCount > maxForwarded:
		return a, fmt.Errorf("proxy.maxProxyCount: at most %d, got %d", maxForwarded, cfg.MaxProxyCount)
	}
	return a, nil
}

func parsePrefixes(texts []string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	var errs []error
	for i, text := range texts {
		prefix, err := parsePrefix(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("proxy.trusted[%d]: %w", i, err))
			continue
		}
		list = append(list, prefix)
	}
	return list, errors.Join(errs...)
}

// parsePrefix reads a CIDR, or an address that stands for itself, normalised as
// client addresses are.
func parsePrefix(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("%q is no CIDR and no address", text)
		}
		addr = normal(addr)
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is no CIDR: want 10.0.0.0/8 or fd00::/8", text)
	}
	const mappedBits = 96
	if prefix.Addr().Is4In6() && prefix.Bits() >= mappedBits {
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-mappedBits)
	}
	return prefix.Masked(), nil
}

// normal is an address without a zone, an IPv4-mapped one as IPv4.
func normal(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// origin is what addresses finds.
type origin struct {
	addr   netip.Addr // the zero Addr if there is none
	host   string
	secure bool
}

// of finds the origin of a request.
func (a *addresses) of(r *http.Request) origin {
	o := origin{host: r.Host, secure: r.TLS != nil}
	o.addr, _ = parseAddress(r.RemoteAddr)
	if a.header == "" {
		return o
	}
	hops := 0
	if a.trusts(o.addr, hops) {
		o.addr, hops = a.walk(o.addr, r.Header[a.header])
		o.forwarded(r.Header, hops)
	}
	return o
}

// trusts reports whether the hop with that address and number, the peer's being
// 0, is a trusted proxy.
func (a *addresses) trusts(addr netip.Addr, hop int) bool {
	if a.maxCount > 0 {
		return hop < a.maxCount
	}
	for _, p := range a.trusted {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// walk goes through the list from right to left, past trusted hops, to the first
// untrusted valid address. What does not parse stops it at the last trusted hop.
// hops counts the trusted hops passed, the peer included.
func (a *addresses) walk(peer netip.Addr, lines []string) (addr netip.Addr, hops int) {
	addr, hops = peer, 1
	for _, line := range slices.Backward(lines) {
		for more := true; more; {
			var item string
			item, line, more = cutLast(line)
			next, ok := parseAddress(strings.Trim(item, " \t"))
			if !ok {
				return addr, hops
			}
			if !a.trusts(next, hops) {
				return next, hops
			}
			if addr = next; hops == maxForwarded {
				return addr, hops
			}
			hops++
		}
	}
	return addr, hops
}

// cutLast cuts the last element off a list.
func cutLast(list string) (last, before string, more bool) {
	i := strings.LastIndexByte(list, ',')
	if i < 0 {
		return list, "", false
	}
	return list[i+1:], list[:i], true
}

// parseAddress reads an address with or without port, brackets and zone, and
// normalises it.
func parseAddress(text string) (netip.Addr, bool) {
	if len(text) > maxForwardedLen {
		return netip.Addr{}, false
	}
	if addr, ok := parsePlainIPv4(text); ok {
		return addr, true
	}
	host, port := text, ""
	if inner, bracketed := strings.CutPrefix(text, "["); bracketed {
		end := strings.IndexByte(inner, ']')
		if end < 0 || strings.IndexByte(inner[:end], ':') < 0 {
			return netip.Addr{}, false
		}
		host, port = inner[:end], inner[end+1:]
	} else if i := strings.IndexByte(text, ':'); i >= 0 && i == strings.LastIndexByte(text, ':') {
		host, port = text[:i], text[i:]
	}
	if port != "" && !isPort(port) {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}, false
	}
	return normal(addr), true
}

// parsePlainIPv4 reads what nearly every peer's address is, "192.0.2.1:1234" or
// "192.0.2.1", in one pass. What it does not take is not wrong for that.
func parsePlainIPv4(text string) (netip.Addr, bool) {
	var octets [4]byte
	rest := text
	for i := range octets {
		value, digits := 0, 0
		for digits < len(rest) && digits < 4 && rest[digits] >= '0' && rest[digits] <= '9' {
			value = value*10 + int(rest[digits]-'0')
			digits++
		}
		if digits == 0 || value > 255 || digits > 1 && rest[0] == '0' {
			return netip.Addr{}, false
		}
		octets[i], rest = byte(value), rest[digits:]
		if i < len(octets)-1 {
			if rest == "" || rest[0] != '.' {
				return netip.Addr{}, false
			}
			rest = rest[1:]
		}
	}
	if rest != "" && !isPort(rest) {
		return netip.Addr{}, false
	}
	return netip.AddrFrom4(octets), true
}

// isPort accepts ":0" to ":65535".
func isPort(text string) bool {
	if len(text) < 2 || text[0] != ':' {
		return false
	}
	port := 0
	for i := 1; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
		if port = port*10 + int(text[i]-'0'); port > 65535 {
			return false
		}
	}
	return true
}

// forwarded applies X-Forwarded-Host and -Proto, which only a trusted peer's
// request gets here with. Of a list it takes the element that the outermost of
// the trusted hops wrote; what is malformed is ignored.
func (o *origin) forwarded(header http.Header, hops int) {
	if host := elementFromRight(header["X-Forwarded-Host"], hops); isHost(host) {
		o.host = host
	}
	switch proto := elementFromRight(header["X-Forwarded-Proto"], hops); {
	case strings.EqualFold(proto, "https"):
		o.secure = true
	case strings.EqualFold(proto, "http"):
		o.secure = false
	}
}

// elementFromRight is the n-th element of a list from the right, or the leftmost
// if there are fewer; "" if there is none.
func elementFromRight(lines []string, n int) string {
	item := ""
	for _, line := range slices.Backward(lines) {
		for more := true; more; {
			item, line, more = cutLast(line)
			if n--; n == 0 {
				return strings.Trim(item, " \t")
			}
		}
	}
	return strings.Trim(item, " \t")
}

// isHost accepts what can stand in a Host: a name or address, perhaps a port.
func isHost(s string) bool {
	const longest = 255
	return s != "" && len(s) <= longest && !strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("-._:[]", r)
	})
}

package executor

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
)

func proxied(trusted ...string) ProxyConfig {
	cfg := DefaultProxyConfig()
	cfg.Enabled, cfg.Trusted = true, trusted
	return cfg
}

func counted(n int) ProxyConfig {
	cfg := DefaultProxyConfig()
	cfg.Enabled, cfg.MaxProxyCount = true, n
	return cfg
}

// TestAddress is contract D4.
func TestAddress(t *testing.T) {
	off := DefaultProxyConfig()
	ten := proxied("10.0.0.0/8", "fd00::/8")
	single := proxied("10.0.0.0/8")
	single.Header = "x-real-ip"
	tests := []struct {
		name, peer string
		cfg        ProxyConfig
		forwarded  []string
		want       string
	}{
		{"nothing trusted", "10.0.0.1:80", off, []string{"1.2.3.4"}, "10.0.0.1"},
		{"untrusted peer", "9.9.9.9:80", ten, []string{"1.2.3.4"}, "9.9.9.9"},
		{"one hop", "10.0.0.1:80", ten, []string{"1.2.3.4"}, "1.2.3.4"},
		{"no header", "10.0.0.1:80", ten, nil, "10.0.0.1"},
		{"empty header", "10.0.0.1:80", ten, []string{""}, "10.0.0.1"},
		{"spoofed on the left", "10.0.0.1:80", ten, []string{"6.6.6.6, 1.2.3.4"}, "1.2.3.4"},
		{"two trusted hops", "10.0.0.1:80", ten, []string{"6.6.6.6, 1.2.3.4 ,10.0.0.2"}, "1.2.3.4"},
		{"all trusted", "10.0.0.1:80", ten, []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"several lines", "10.0.0.1:80", ten, []string{"6.6.6.6", "1.2.3.4", "10.0.0.2"}, "1.2.3.4"},
		{"garbage stops", "10.0.0.1:80", ten, []string{"1.2.3.4, unknown, 10.0.0.2"}, "10.0.0.2"},
		{"garbage at once", "10.0.0.1:80", ten, []string{"1.2.3.4, _hidden"}, "10.0.0.1"},
		{"empty element stops", "10.0.0.1:80", ten, []string{"1.2.3.4,,10.0.0.2"}, "10.0.0.2"},
		{"empty line stops", "10.0.0.1:80", ten, []string{"1.2.3.4", "", "10.0.0.2"}, "10.0.0.2"},
		{"port", "10.0.0.1:80", ten, []string{"1.2.3.4:5678"}, "1.2.3.4"},
		{"bad port", "10.0.0.1:80", ten, []string{"1.2.3.4:http"}, "10.0.0.1"},
		{"signed port", "10.0.0.1:80", ten, []string{"1.2.3.4:+1"}, "10.0.0.1"},
		{"port too large", "10.0.0.1:80", ten, []string{"1.2.3.4:65536"}, "10.0.0.1"},
		{"IPv6", "10.0.0.1:80", ten, []string{"2001:DB8::1"}, "2001:db8::1"},
		{"IPv6 in brackets", "10.0.0.1:80", ten, []string{"[2001:db8::1]"}, "2001:db8::1"},
		{"IPv6 with port", "10.0.0.1:80", ten, []string{"[2001:db8::1]:443"}, "2001:db8::1"},
		{"IPv6 with zone", "10.0.0.1:80", ten, []string{"fe80::1%eth0"}, "fe80::1"},
		{"bracketed zone", "10.0.0.1:80", ten, []string{"[fe80::1%25eth0]:1"}, "fe80::1"},
		{"bracket not closed", "10.0.0.1:80", ten, []string{"[2001:db8::1"}, "10.0.0.1"},
		{"text behind the bracket", "10.0.0.1:80", ten, []string{"[2001:db8::1]x"}, "10.0.0.1"},
		{"IPv4 in brackets", "10.0.0.1:80", ten, []string{"[1.2.3.4]"}, "10.0.0.1"},
		{"mapped", "10.0.0.1:80", ten, []string{"::ffff:1.2.3.4"}, "1.2.3.4"},
		{"mapped, hexadecimal", "10.0.0.1:80", ten, []string{"[::ffff:102:304]:9"}, "1.2.3.4"},
		{"mapped hop is trusted", "10.0.0.1:80", ten, []string{"1.2.3.4, ::ffff:10.0.0.9"}, "1.2.3.4"},
		{"mapped peer", "[::ffff:10.0.0.1]:80", ten, []string{"1.2.3.4"}, "1.2.3.4"},
		{"peer with zone", "[fd00::1%eth0]:80", ten, []string{"1.2.3.4"}, "1.2.3.4"},
		{"leading zeros", "10.0.0.1:80", ten, []string{"010.0.0.1"}, "10.0.0.1"},
		{"quoted", "10.0.0.1:80", ten, []string{`"1.2.3.4"`}, "10.0.0.1"},
		{"unix socket", "@", ten, []string{"1.2.3.4"}, ""},
		{"unix socket, counted", "@", counted(1), []string{"1.2.3.4"}, "1.2.3.4"},
		{"one counted hop", "9.9.9.9:1", counted(1), []string{"6.6.6.6, 1.2.3.4"}, "1.2.3.4"},
		{"two counted hops", "9.9.9.9:1", counted(2), []string{"6.6.6.6, 1.2.3.4, 8.8.8.8"}, "1.2.3.4"},
		{"fewer than counted", "9.9.9.9:1", counted(3), []string{"1.2.3.4"}, "1.2.3.4"},
		{"another header", "10.0.0.1:1", single, nil, "7.7.7.7"},
		{"too long an element", "10.0.0.1:1", ten, []string{"1.2.3.4, " + strings.Repeat("1", 100)}, "10.0.0.1"},
		{"thousands of elements", "10.0.0.1:1", ten, []string{strings.Repeat("1.2.3.4, ", 5000) + "5.5.5.5"}, "5.5.5.5"},
		{"thousands of trusted elements", "10.0.0.1:1", ten, []string{"1.2.3.4" + strings.Repeat(", 10.0.0.7", 5000)}, "10.0.0.7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := newAddresses(tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			r := &http.Request{RemoteAddr: tt.peer, Header: http.Header{"X-Forwarded-For": tt.forwarded, "X-Real-Ip": {"7.7.7.7"}}}
			got := a.of(r).addr
			if got.IsValid() != (tt.want != "") || got.IsValid() && got.String() != tt.want {
				t.Errorf("got %v, want %q", got, tt.want)
			}
		})
	}
}

func TestForwardedHostAndProto(t *testing.T) {
	ten := proxied("10.0.0.0/8")
	tests := []struct {
		name, peer, forwarded, host, proto string
		tls                                bool
		wantHost                           string
		wantSecure                         bool
	}{
		{"untrusted peer", "9.9.9.9:1", "1.2.3.4", "evil.test", "https", false, "own.test:80", false},
		{"trusted peer", "10.0.0.1:1", "1.2.3.4", "public.test:8443", "https", false, "public.test:8443", true},
		{"nothing said", "10.0.0.1:1", "1.2.3.4", "", "", true, "own.test:80", true},
		{"plain to the proxy", "10.0.0.1:1", "1.2.3.4", "", "http", true, "own.test:80", false},
		{"unknown proto", "10.0.0.1:1", "1.2.3.4", "", "gopher", true, "own.test:80", true},
		{"the outermost trusted hop's", "10.0.0.1:1", "1.2.3.4, 10.0.0.2", "evil.test, public.test, inner.test", "http, https, http", false, "public.test", true},
		{"no host", "10.0.0.1:1", "1.2.3.4", "a b", "", false, "own.test:80", false},
		{"a path", "10.0.0.1:1", "1.2.3.4", "a/b", "", false, "own.test:80", false},
	}
	for _, tt := range tests {
		a, err := newAddresses(ten)
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{RemoteAddr: tt.peer, Host: "own.test:80", Header: http.Header{"X-Forwarded-For": {tt.forwarded}}}
		if tt.host != "" {
			r.Header.Set("X-Forwarded-Host", tt.host)
		}
		if tt.proto != "" {
			r.Header.Set("X-Forwarded-Proto", tt.proto)
		}
		if tt.tls {
			r.TLS = &tls.ConnectionState{}
		}
		if o := a.of(r); o.host != tt.wantHost || o.secure != tt.wantSecure {
			t.Errorf("%s: got %q %v", tt.name, o.host, o.secure)
		}
	}
}

func TestProxyConfigErrors(t *testing.T) {
	both := proxied("10.0.0.0/8")
	both.MaxProxyCount = 1
	noHeader := proxied("10.0.0.0/8")
	noHeader.Header = ""
	forwarded := proxied("10.0.0.0/8")
	forwarded.Header = "forwarded"
	tests := []struct {
		cfg  ProxyConfig
		want string
	}{
		{proxied(), "neither"}, {both, "not both"}, {noHeader, "proxy.header"}, {forwarded, "Forwarded"},
		{proxied("10.0.0.0/8", "10.0.0.0/33"), "proxy.trusted[1]"}, {proxied("example.com"), "proxy.trusted[0]"}, {counted(65), "proxy.maxProxyCount"},
	}
	for _, tt := range tests {
		if err := tt.cfg.Check(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q", tt.cfg, err, tt.want)
		}
	}
	const every = "proxy.trusted[0]: \"a\" is no CIDR and no address\nproxy.trusted[2]: \"1.2.3.4/x\" is no CIDR: want 10.0.0.0/8 or fd00::/8"
	if err := proxied("a", "10.0.0.0/8", "1.2.3.4/x").Check(); err == nil || err.Error() != every {
		t.Errorf("got %v, want both", err)
	}
	off := proxied("a", "10.0.0.0/8", "1.2.3.4/x")
	off.Enabled = false
	if err := off.Check(); err == nil || err.Error() != every {
		t.Errorf("not enabled: got %v, want both", err)
	}
	for _, cfg := range []ProxyConfig{{}, DefaultProxyConfig(), proxied("::ffff:10.0.0.0/104", "127.0.0.1", "::1"), counted(64)} {
		if err := cfg.Check(); err != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

// FuzzAddress sends anything as header and peer: nothing panics, and the answer
// is normal, and one of the addresses that were sent.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"1.2.3.4", "[::1]:80, 10.0.0.1", "fe80::1%eth0", "::ffff:1.2.3.4", ",,", "unknown", "[", "1.2.3.4:99999"} {
		f.Add("10.0.0.1:80", seed, "10.0.0.2")
	}
	cidrs, err := newAddresses(proxied("10.0.0.0/8"))
	if err != nil {
		f.Fatal(err)
	}
	hops, err := newAddresses(counted(2))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, peer, one, two string) {
		r := &http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": {one, two}}}
		sent := map[netip.Addr]bool{{}: true}
		for _, item := range append(strings.Split(one+","+two, ","), peer) {
			if addr, ok := parseAddress(strings.Trim(item, " \t")); ok {
				sent[addr] = true
			}
		}
		for _, a := range []addresses{cidrs, hops} {
			got := a.of(r).addr
			if got.Is4In6() || got.Zone() != "" {
				t.Fatalf("%v is not normal", got)
			}
			if !sent[got] {
				t.Fatalf("%v was never sent", got)
			}
		}
	})
}

// FuzzPlainIPv4: the short way reads nothing that the long one would read
// differently.
func FuzzPlainIPv4(f *testing.F) {
	for _, seed := range []string{
		"192.0.2.1:1234", "192.0.2.1", "0.0.0.0:0", "255.255.255.255:65535", "01.2.3.4", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.4:",
		"1.2.3.4:65536", "1.2.3.4:+1", "1.2.3.0004", "::1", "[::1]:80", "1.2.3.4%eth0", "", ".1.2.3", "1..2.3", "1.2.3.4:01",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := parsePlainIPv4(text)
		if !ok {
			return
		}
		host, port, hasPort := strings.Cut(text, ":")
		if hasPort {
			if _, err := strconv.ParseUint(port, 10, 16); err != nil {
				t.Errorf("%q: took a bad port", text)
			}
		}
		if want, err := netip.ParseAddr(host); err != nil || want != got {
			t.Errorf("%q: got %v, netip says %v, %v", text, got, want, err)
		}
	})
}

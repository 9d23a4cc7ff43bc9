package instance

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vonago/vonago/onion"
)

func call(host, query string, header ...string) *onion.Call {
	c := &onion.Call{Host: host, RawQuery: query, Header: http.Header{}}
	if len(header) > 0 {
		c.Header["X-Vona-Instance-Name"] = header
	}
	return c
}

var defaultSection = Section{QueryField: DefaultField, HeaderField: DefaultField}

// The name of every row of contract D1.
func TestResolve(t *testing.T) {
	const q = DefaultField
	tests := []struct {
		name string
		call *onion.Call
		want string
		none bool
	}{
		{"subdomain", call("acme.cabloy.test", ""), "acme", false},
		{"two subdomains are reversed", call("eu.acme.cabloy.test", ""), "acme.eu", false},
		{"three subdomains are reversed", call("a.eu.acme.cabloy.test:80", ""), "acme.eu.a", false},
		{"no subdomain", call("cabloy.test", ""), "", false},
		{"one label", call("cabloy", ""), "", false},
		{"port", call("acme.cabloy.test:7102", ""), "acme", false},
		{"absolute host name", call("acme.cabloy.test.", ""), "acme", false},
		{"absolute host name with port", call("acme.cabloy.test.:80", ""), "acme", false},
		{"case stays", call("Acme.Cabloy.Test", ""), "Acme", false},
		{"IPv4", call("192.168.10.20", ""), "", false},
		{"IPv4 with port", call("192.168.10.20:7102", ""), "", false},
		{"IPv6", call("[2001:db8::1]", ""), "", false},
		{"IPv6 with port", call("[2001:db8::1]:7102", ""), "", false},
		{"IPv6 with IPv4 at its end", call("[::ffff:1.2.3.4]:7102", ""), "", false},
		{"IPv6 without brackets", call("2001:db8::1.2.3.4", ""), "", false},
		{"localhost", call("localhost", ""), "", false},
		{"localhost with port", call("LOCALHOST:7102", ""), "", false},
		{"digits are no address", call("7.acme.cabloy.t3st", ""), "acme.7", false},
		{"no host", call("", ""), "", false},
		{"only a port", call(":80", ""), "", false},
		{"null subdomain", call("null.cabloy.test", ""), "", true},

		{"header", call("acme.cabloy.test", "", "beta"), "beta", false},
		{"header, first value", call("", "", "beta", "gamma"), "beta", false},
		{"empty header is given", call("acme.cabloy.test", "", ""), "", false},
		{"empty first header is given", call("acme.cabloy.test", "", "", "beta"), "", false},
		{"null header", call("acme.cabloy.test", "", "null"), "", true},
		{"null is exact", call("", "", "Null"), "Null", false},

		{"query before header", call("acme.cabloy.test", q+"=gamma", "beta"), "gamma", false},
		{"query, first value", call("", "a=1&"+q+"=one&"+q+"=two"), "one", false},
		{"empty query is given", call("acme.cabloy.test", q+"=", "beta"), "", false},
		{"query without = is given", call("acme.cabloy.test", q, "beta"), "", false},
		{"null query", call("acme.cabloy.test", q+"=null", "beta"), "", true},
		{"escaped value", call("", q+"=%E7%A7%9F+1"), "租 1", false},
		{"escaped null", call("", q+"=%6eull"), "", true},
		{"escaped field", call("", "x%2Dvona-instance%2dname=acme"), "acme", false},
		{"badly escaped value stands for itself", call("acme.cabloy.test", q+"=100%", "beta"), "100%", false},
		{"semicolon is part of the value", call("", q+"=a;b"), "a;b", false},
		{"= is part of the value", call("", q+"=a=b"), "a=b", false},
		{"another field", call("acme.cabloy.test", "x-vona-instance-names=beta&y"+q+"=beta&a="+q), "acme", false},
		{"another case of the field", call("acme.cabloy.test", strings.ToUpper(q)+"=beta"), "acme", false},
		{"empty pairs", call("", "&&"+q+"=acme&"), "acme", false},
		{"badly escaped field", call("acme.cabloy.test", "x-vona-instance-nam%zz=beta"), "acme", false},
	}
	r := NewResolver(defaultSection, 2, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if name, none := r.Resolve(tt.call); name != tt.want || none != tt.none {
				t.Errorf("Resolve = %q, %v, want %q, %v", name, none, tt.want, tt.none)
			}
		})
	}
}

func TestResolveSubdomainOffset(t *testing.T) {
	tests := []struct {
		host   string
		offset int
		want   string
	}{
		{"acme.cabloy.test", 0, "test.cabloy.acme"},
		{"cabloy", 0, "cabloy"},
		{"localhost", 0, ""},
		{"127.0.0.1", 0, ""},
		{"[::1]:80", 0, ""},
		{"acme.localhost", 1, "acme"},
		{"acme.cabloy.test", 1, "cabloy.acme"},
		{"acme.cabloy.test", 3, ""},
		{"acme.cabloy.test", 4, ""},
		{"eu.acme.app.cabloy.test", 3, "acme.eu"},
	}
	for _, tt := range tests {
		name, none := NewResolver(defaultSection, tt.offset, nil).Resolve(call(tt.host, ""))
		if name != tt.want || none {
			t.Errorf("host %q, offset %d: %q, %v, want %q", tt.host, tt.offset, name, none, tt.want)
		}
	}
}

func TestResolveSourcesOff(t *testing.T) {
	tests := []struct {
		name    string
		section Section
		want    string
	}{
		{"both on", defaultSection, "query"},
		{"query off", Section{HeaderField: DefaultField}, "header"},
		{"header off", Section{QueryField: DefaultField}, "query"},
		{"both off", Section{}, "host"},
		{"other fields", Section{QueryField: "tenant", HeaderField: "x-tenant"}, "other query"},
		{"other header", Section{HeaderField: "x-tenant"}, "other header"},
	}
	for _, tt := range tests {
		c := call("host.cabloy.test", DefaultField+"=query&tenant=other+query&=empty", "header")
		c.Header.Set("X-Tenant", "other header")
		c.Header[""] = []string{"empty"}
		if name, _ := NewResolver(tt.section, 2, nil).Resolve(c); name != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, name, tt.want)
		}
	}
}

func TestResolveCustom(t *testing.T) {
	custom := func(c *onion.Call) (string, bool) {
		name, found := strings.CutPrefix(c.Path, "/t/")
		return name, found
	}
	r := NewResolver(defaultSection, 2, custom)
	tests := []struct {
		path, want string
		none       bool
	}{
		{"/t/custom", "custom", false},
		{"/t/", "", false},
		{"/t/null", "", true},
		{"/other", "query", false},
	}
	for _, tt := range tests {
		c := call("acme.cabloy.test", DefaultField+"=query", "header")
		c.Path = tt.path
		if name, none := r.Resolve(c); name != tt.want || none != tt.none {
			t.Errorf("path %s: %q, %v, want %q, %v", tt.path, name, none, tt.want, tt.none)
		}
	}
}

// A hostile host or query costs no memory of its size.
func TestResolveAllocs(t *testing.T) {
	r := NewResolver(defaultSection, 2, nil)
	calls := map[string]*onion.Call{
		"localhost":      call("localhost:7102", ""),
		"address":        call("127.0.0.1:7102", "a=1&b=2&c=%20"),
		"IPv6":           call("[::1]:7102", ""),
		"subdomain":      call("acme.cabloy.test", "page=1&size=20"),
		"header":         call("cabloy.test", "", "acme"),
		"query":          call("cabloy.test", "page=1&"+DefaultField+"=acme"),
		"hostile host":   call(strings.Repeat("a.", 100_000)+"cabloy.test", ""),
		"hostile query":  call("cabloy.test", strings.Repeat("%41&", 100_000)),
		"hostile header": call("cabloy.test", "", strings.Repeat("a", 100_000)),
		"hostile key":    call("cabloy.test", strings.Repeat("%41", 100_000)+"=1"),
	}
	for name, c := range calls {
		if n := testing.AllocsPerRun(100, func() { r.Resolve(c) }); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}

// queryValue finds what a whole parse would find, wherever that can read the
// pair.
func FuzzQueryValue(f *testing.F) {
	for _, seed := range []string{"", "x=1", "a=1&x=2&x=3", "x", "%78=1", "x=%zz", "x=+%20", "&x", "x=a;b", "=x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		value, given := queryValue(query, "x")
		if strings.ContainsRune(query, ';') {
			return // net/url drops such a pair, here it is part of the value
		}
		values, err := url.ParseQuery(query)
		if err != nil {
			return // net/url drops a badly escaped pair
		}
		if want, ok := values["x"]; ok != given || ok && want[0] != value {
			t.Errorf("queryValue(%q) = %q, %v, net/url says %q", query, value, given, want)
		}
	})
}

func FuzzSubdomains(f *testing.F) {
	for _, seed := range []string{"", "acme.cabloy.test:80", "[::1]:80", ":", "[", "]", ".", "1.2.3.4", "a..b", "localhost."} {
		f.Add(seed, 2)
	}
	f.Fuzz(func(t *testing.T, host string, offset int) {
		if offset < 0 || offset > 10 {
			return
		}
		if name := subdomains(host, offset); len(name) > len(host) {
			t.Errorf("subdomains(%q, %d) = %q is longer than the host", host, offset, name)
		}
	})
}

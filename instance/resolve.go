package instance

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/vonago/vonago/onion"
)

// NameFunc is an application's own rule for the instance name. given is false if
// it has nothing to say about the call; the name "null" means none (contract
// D1). It runs for every request before anything else, so it must not wait.
type NameFunc func(c *onion.Call) (name string, given bool)

// Resolver finds the instance name of a request (contract D1). It does not
// change and may be used by many goroutines.
type Resolver struct {
	custom          NameFunc
	queryField      string
	headerField     string // canonical
	subdomainOffset int
}

// NewResolver makes a resolver of the section "instance" and
// server.subdomainOffset, the number of labels that belong to the application's
// own domain (0 or more, 2 by default). custom may be nil.
func NewResolver(s Section, subdomainOffset int, custom NameFunc) *Resolver {
	return &Resolver{
		custom:          custom,
		queryField:      s.QueryField,
		headerField:     http.CanonicalHeaderKey(s.HeaderField),
		subdomainOffset: subdomainOffset,
	}
}

// Resolve gives the instance name of a call: the first that is given of the
// custom function, the query field, the header field and the subdomains. none
// reports the name "null". The name is as the client wrote it, of any length;
// whether there is such an instance is for Manager.Lookup to say. It reads the
// call's Host, RawQuery and Header.
func (r *Resolver) Resolve(c *onion.Call) (name string, none bool) {
	name = r.name(c)
	if name == noneName {
		return "", true
	}
	return name, false
}

func (r *Resolver) name(c *onion.Call) string {
	if r.custom != nil {
		if name, given := r.custom(c); given {
			return name
		}
	}
	if r.queryField != "" {
		if name, given := queryValue(c.RawQuery, r.queryField); given {
			return name
		}
	}
	if r.headerField != "" {
		if values := c.Header[r.headerField]; len(values) > 0 {
			return values[0]
		}
	}
	return subdomains(c.Host, r.subdomainOffset)
}

// queryValue finds the first value of a query field without parsing the rest of
// the query. A value that is not properly escaped stands for itself: it was
// given, so it must not be passed over for another source.
func queryValue(query, field string) (value string, given bool) {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		key, value, _ := strings.Cut(pair, "=")
		if !isField(key, field) {
			continue
		}
		if !strings.ContainsAny(value, "%+") {
			return value, true
		}
		if plain, err := url.QueryUnescape(value); err == nil {
			return plain, true
		}
		return value, true
	}
	return "", false
}

// isField compares a query key, which may be escaped, with a field's name.
func isField(key, field string) bool {
	const escaped = len("%xx")
	if len(key) < len(field) || len(key) > escaped*len(field) {
		return false
	}
	if key == field {
		return true
	}
	if !strings.ContainsAny(key, "%+") {
		return false
	}
	plain, err := url.QueryUnescape(key)
	return err == nil && plain == field
}

// subdomains gives the labels of a host without the last offset ones, reversed
// and joined by dots: eu.acme.cabloy.test gives acme.eu. An address and
// localhost have none.
func subdomains(host string, offset int) string {
	host = strings.TrimSuffix(hostname(host), ".")
	if host == "" || strings.EqualFold(host, "localhost") || isAddress(host) {
		return ""
	}
	for range offset {
		i := strings.LastIndexByte(host, '.')
		if i < 0 {
			return ""
		}
		host = host[:i]
	}
	if strings.IndexByte(host, '.') < 0 || len(host) > MaxNameLen {
		return host // a name of that length is none, in any order
	}
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

// hostname cuts the port off a Host; brackets stay.
func hostname(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && i > strings.LastIndexByte(host, ']') {
		return host[:i]
	}
	return host
}

// isAddress tells IP addresses, bracketed or not. Only what ends like one is
// parsed: no top-level domain ends in a digit.
func isAddress(host string) bool {
	if host[0] == '[' || strings.IndexByte(host, ':') >= 0 {
		return true
	}
	if last := host[len(host)-1]; last < '0' || last > '9' {
		return false
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

package acore

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vonago/vonago/onion"
)

// CORSOptions are the options of a-security:cors, named as in Vona. Without
// whiteList and reflect, which is the default, pages of no other origin may read
// answers.
type CORSOptions struct {
	// WhiteList lists the origins that may read answers, each exactly as browsers
	// send it ("https://app.example.com"); "*" alone means any.
	WhiteList []string `json:"whiteList"`
	// Reflect names any origin back to itself, as Vona does for "*".
	Reflect onion.Toggle `json:"reflect"`
	// Credentials lets pages of the listed origins send cookies. With "*" or
	// reflect it is refused at start (contract C10).
	Credentials onion.Toggle `json:"credentials"`
	// AllowMethods lists the methods that a preflight is told.
	AllowMethods []string `json:"allowMethods"`
	// AllowHeaders lists the request fields that a preflight is told; empty allows
	// those it asks for.
	AllowHeaders []string `json:"allowHeaders"`
	// ExposeHeaders lists the response fields that pages may read. A list in
	// configuration replaces the default, the rate limiter's fields.
	ExposeHeaders []string `json:"exposeHeaders"`
	// MaxAge is for how many seconds a browser may keep a preflight's answer; not
	// given leaves it to the browser.
	MaxAge *int64 `json:"maxAge" range:"0..86400"`
}

const anyOrigin = "*"

// cors answers preflights and lets pages of the listed origins read answers. The
// fields stand on the response before anything further in runs, so that errors
// raised there keep them (contract C3): a page can read a 429.
var cors = onion.SystemMiddleware("a-security:cors", corsDefaults, buildCORS,
	onion.Inbound(), onion.After("a-instance:instance"))

func corsDefaults() CORSOptions {
	return CORSOptions{
		Reflect: onion.Off, Credentials: onion.Off,
		AllowMethods: []string{
			http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodPatch,
		},
		ExposeHeaders: []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"},
	}
}

// Validate refuses origins that no browser sends and credentials for anyone.
func (o CORSOptions) Validate() error {
	wildcard := slices.Contains(o.WhiteList, anyOrigin)
	if wildcard && len(o.WhiteList) > 1 {
		return optionError("\"*\" must stand alone", "whiteList")
	}
	for _, origin := range o.WhiteList {
		if origin == anyOrigin {
			continue
		}
		if err := checkOrigin(origin); err != nil {
			return optionError(err.Error(), "whiteList")
		}
	}
	if o.Credentials.True() && (wildcard || o.Reflect.True()) {
		return optionError("must not be on while any origin is let in (whiteList \"*\" or reflect): list the origins", "credentials")
	}
	return nil
}

func optionError(message string, path ...string) error {
	return &onion.OptionError{Path: path, Message: message}
}

// checkOrigin wants the form in which browsers send an origin, since it is
// compared as text. "null" stands for too many pages to be let in by name.
func checkOrigin(origin string) error {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin || origin != strings.ToLower(origin) {
		return fmt.Errorf("%q is no origin as browsers send it: want scheme://host[:port] in lower case, nothing after it", origin)
	}
	if strings.Contains(origin, anyOrigin) {
		return fmt.Errorf("%q: origins are compared exactly, \"*\" is no pattern", origin)
	}
	if u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443" {
		return fmt.Errorf("%q: browsers leave the scheme's own port out of an origin", origin)
	}
	return nil
}

func buildCORS(o CORSOptions, _ onion.Env) (onion.Wrap, error) {
	p := corsPolicy{
		origins: o.WhiteList, reflect: o.Reflect.True(), credentials: o.Credentials.True(),
		methods: strings.Join(o.AllowMethods, ", "), headers: strings.Join(o.AllowHeaders, ", "),
		expose: strings.Join(o.ExposeHeaders, ", "),
	}
	if o.MaxAge != nil {
		p.maxAge = strconv.FormatInt(*o.MaxAge, 10)
	}
	return func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			allowed := p.origin(c)
			if isPreflight(c) {
				if allowed {
					p.preflight(c)
				}
				return &onion.Reply{Status: http.StatusNoContent}, nil
			}
			if allowed && p.expose != "" {
				c.Response.Header.Set("Access-Control-Expose-Headers", p.expose)
			}
			return next(ctx, c)
		}
	}, nil
}

func isPreflight(c *onion.Call) bool {
	return c.Method == http.MethodOptions && c.Header.Get(headerOrigin) != "" &&
		c.Header.Get("Access-Control-Request-Method") != ""
}

type corsPolicy struct {
	origins                          []string
	reflect, credentials             bool
	methods, headers, expose, maxAge string
}

// varyOrigin is shared by all responses; whoever adds to it gets a list of its own.
var varyOrigin = []string{headerOrigin}

// origin says on the response which origin may read it. Vary is set for all, so
// that no cache serves one origin's answer to another (contract C10).
func (p *corsPolicy) origin(c *onion.Call) (allowed bool) {
	header := responseHeader(c)
	if header[headerVary] == nil {
		header[headerVary] = varyOrigin
	} else {
		header.Add(headerVary, headerOrigin)
	}
	origin := ""
	if values := c.Header[headerOrigin]; len(values) > 0 {
		origin = values[0]
	}
	switch {
	case origin == "":
		return false
	case p.reflect || slices.Contains(p.origins, origin):
		header.Set("Access-Control-Allow-Origin", origin)
	case len(p.origins) == 1 && p.origins[0] == anyOrigin:
		header.Set("Access-Control-Allow-Origin", anyOrigin)
	default:
		return false
	}
	if p.credentials {
		header.Set("Access-Control-Allow-Credentials", "true")
	}
	return true
}

// preflight adds what only a preflight is told.
func (p *corsPolicy) preflight(c *onion.Call) {
	header := c.Response.Header
	header.Set("Access-Control-Allow-Methods", p.methods)
	headers := p.headers
	if headers == "" {
		const requested = "Access-Control-Request-Headers"
		header.Add(headerVary, requested)
		headers = strings.Join(c.Header.Values(requested), ", ")
	}
	if headers != "" {
		header.Set("Access-Control-Allow-Headers", headers)
	}
	if p.maxAge != "" {
		header.Set("Access-Control-Max-Age", p.maxAge)
	}
}

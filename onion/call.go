package onion

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Call is one request, or one PerformAction, on its way through the onions. It
// belongs to one goroutine at a time. After the response it says what it said at
// the end, for as long as somebody keeps it: no call is used for two requests.
type Call struct {
	// Request is the HTTP request; nil in a PerformAction outside any request.
	Request *http.Request
	// Method is the method in force, upper case; a-core:overrideMethod changes it.
	Method string
	// Path is the incoming path as sent, percent-encoded, with the API prefix.
	Path string
	// RawQuery is the query as sent, without '?'.
	RawQuery string
	// Host is the Host as sent, with its port; proxies are heard only as
	// contract D4 allows.
	Host string
	// Header holds the request's header fields.
	Header http.Header
	// Addr is the client address of contract D4, normalised; the zero Addr if
	// there is none.
	Addr netip.Addr
	// Locale is the caller's language, as first found in Accept-Language.
	Locale string

	// Instance names the tenant; "" is the default one. It means nothing when
	// NoInstance is set (the name "null", contract D1).
	Instance string

	// Route is set once the router found it.
	Route *RouteInfo
	// Params are the values of the route's ":name" and "*" segments, in order.
	Params Params

	// AuthToken is a token given to PerformAction instead of in a header.
	AuthToken string

	// Secure reports TLS, to the client or to a trusted proxy (contract D4).
	Secure bool
	// NoInstance is set for the instance name "null".
	NoInstance bool
	// Inner marks a PerformAction with inner access (contract F1, P4).
	Inner bool
	// WantsJSON is the negotiated format (contract C4).
	WantsJSON bool

	// Body is the request's body; a-body:bodyReq fills it.
	Body Body

	// Response is what goes back.
	Response Response

	query  *parsedQuery
	values []callValue
	room   [3]callValue // what values usually needs
	own    callContext  // what WithCall gives first
}

// parsedQuery is what Query came to.
type parsedQuery struct {
	values url.Values
	err    error
}

// Body is a parsed request body. At most one of JSON and Form is set.
type Body struct {
	// Parsed is set once a-body:bodyReq, or PerformAction, has seen the body.
	Parsed bool
	// JSON is a syntactically valid JSON object or array.
	JSON []byte
	// Form holds the fields of a form body.
	Form url.Values
}

// Response is the response side of a Call. Steps set header fields and the
// status; the executor alone writes (contract C).
type Response struct {
	// Header holds the response's header fields.
	Header http.Header
	// Status is the status of a success; 0 means 200, or 204 where C4a says so.
	Status int
	// Envelope asks for the wrapper {code, message, data}; a-body:bodyRes sets it.
	Envelope bool
	// Writer is for an action that writes the response itself; what it writes
	// goes out as it is. Nil in a PerformAction.
	Writer http.ResponseWriter
	// Written tells what was sent: a status of 0 means nothing yet.
	Written Written
}

// Written is the outcome of a call.
type Written struct {
	// Status is the HTTP status that was sent.
	Status int
	// Bytes counts the body bytes sent.
	Bytes int64
}

// SetHeader sets a header field of the response.
func (r *Response) SetHeader(key, value string) {
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set(key, value)
}

// Param is the value of one path parameter.
type Param struct{ Name, Value string }

// Params are a route's path parameters in the order of the path.
type Params []Param

// Get finds a parameter by name. An optional one that is absent is not found.
func (p Params) Get(name string) (string, bool) {
	for i := range p {
		if p[i].Name == name {
			return p[i].Value, true
		}
	}
	return "", false
}

// IP is the client address as text, "" if there is none.
func (c *Call) IP() string {
	if !c.Addr.IsValid() {
		return ""
	}
	return c.Addr.String()
}

// Query parses the query once. The error says that part of it is malformed; the
// values hold what could be read.
func (c *Call) Query() (url.Values, error) {
	if c.query == nil {
		values, err := url.ParseQuery(c.RawQuery)
		c.query = &parsedQuery{values, err}
	}
	return c.query.values, c.query.err
}

// QueryField gives the first value of a query field and how often the field is
// given. The error is Query's. A query in which nothing is escaped, as most are,
// is read in place; any other is parsed once, as Query does.
func (c *Call) QueryField(name string) (first string, count int, err error) {
	if c.query != nil || !isPlainQuery(c.RawQuery) {
		query, err := c.Query()
		values := query[name]
		if len(values) == 0 {
			return "", 0, err
		}
		return values[0], len(values), err
	}
	for rest := c.RawQuery; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		key, value, _ := strings.Cut(pair, "=")
		if pair == "" || key != name {
			continue
		}
		if count == 0 {
			first = value
		}
		count++
	}
	return first, count, nil
}

// isPlainQuery reports whether url.ParseQuery would take a query apart and
// change nothing, and so little of it that looking for each field anew is
// cheaper than a map.
func isPlainQuery(query string) bool {
	const longest = 256
	if len(query) > longest {
		return false
	}
	for i := range len(query) {
		if b := query[i]; b == '%' || b == '+' || b == ';' {
			return false
		}
	}
	return true
}

type callValue struct{ key, value any }

// Set stores a value for later steps of this call. Like a context's, a key is of
// a type that its package keeps to itself.
func (c *Call) Set(key, value any) {
	for i := range c.values {
		if c.values[i].key == key {
			c.values[i].value = value
			return
		}
	}
	if c.values == nil {
		c.values = c.room[:0]
	}
	c.values = append(c.values, callValue{key, value})
}

// Value gives what Set stored under key, or nil.
func (c *Call) Value(key any) any {
	for i := range c.values {
		if c.values[i].key == key {
			return c.values[i].value
		}
	}
	return nil
}

type callKey struct{}

// callContext is a context that carries a call.
type callContext struct {
	context.Context //nolint:containedctx // it is a context

	call *Call
}

// Value finds the call, or what the context around has.
func (c *callContext) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return c.call
	}
	return c.Context.Value(key)
}

// WithCall gives a context that carries c, so that services called by an action
// can ask for the caller.
func WithCall(ctx context.Context, c *Call) context.Context {
	if c.own.Context == nil {
		// The call and its context are one allocation.
		c.own = callContext{ctx, c}
		return &c.own
	}
	return &callContext{ctx, c}
}

// CallFrom finds the call that ctx belongs to; nil if there is none.
func CallFrom(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

package executor

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
)

// exchange is what the executor itself keeps of one call: the runtime it began
// with, which it also ends with, and how far its answer is. It holds everything
// that a call needs, so that a call is one allocation. It is not used again for
// another call: actions hand the call and its context to goroutines, mounted
// handlers and connections that were taken over, and nothing could tell when the
// last of them is done with it.
type exchange struct {
	call    onion.Call
	runtime *Runtime
	writer  responseWriter
	// complete is set when the executor has sent a whole response; aborted when
	// one that others began will never be whole.
	complete bool
	aborted  bool
	head     bool // the request came as a HEAD

	params [1]onion.Param // room for most routes' parameters
}

type exchangeKey struct{}

// exchangeOf finds the exchange of a call; nil if the executor did not make it.
func exchangeOf(c *onion.Call) *exchange {
	if c == nil {
		return nil
	}
	x, _ := c.Value(exchangeKey{}).(*exchange)
	return x
}

// newExchange makes the call of a request.
func newExchange(rt *Runtime, w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{runtime: rt}
	c := &x.call
	c.Request, c.Method, c.Path, c.RawQuery, c.Header = r, r.Method, pathAsSent(r), r.URL.RawQuery, r.Header
	o := rt.addresses.of(r)
	c.Addr, c.Host, c.Secure = o.addr, o.host, o.secure
	c.Locale = localeOf(r.Header)
	c.WantsJSON = wantsJSON(c.Path, r.Header, rt.compatAccept)
	x.head = r.Method == http.MethodHead
	x.writer = responseWriter{ResponseWriter: w, exchange: x}
	c.Response.Header, c.Response.Writer = w.Header(), &x.writer
	c.Params = x.params[:0]
	c.Set(exchangeKey{}, x)
	return x
}

// pathAsSent is the path of a request, percent-encoded as the client wrote it.
// URL.EscapedPath would rewrite some.
func pathAsSent(r *http.Request) string {
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
		for i := range len(path) {
			if !isPlainPath(path[i]) {
				path = r.URL.EscapedPath()
				break
			}
		}
	}
	if path == "" {
		return "/"
	}
	return path
}

// isPlainPath reports a byte that stands for itself in a path, in any spelling.
func isPlainPath(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= '-' && b <= '9' || b >= 'A' && b <= 'Z' || b == '_' || b == '~'
}

func (x *exchange) logger() *slog.Logger { return x.runtime.env.Logger }

// filtersOf are the filters for a call's errors: the route's, else those of its
// instance, else the application's.
func (x *exchange) filtersOf(c *onion.Call) []onion.FilterFunc {
	set := x.runtime.setOf(instance.Of(c))
	if c.Route != nil {
		if chain, err := set.Chain(c.Route); err == nil {
			return chain.Filters
		}
	}
	return set.Filters()
}

// finish answers with an outcome, once: what comes after a response has begun
// can only be logged (contract C9).
func (x *exchange) finish(ctx context.Context, c *onion.Call, value any, err error) {
	if c.Response.Written.Status != 0 {
		if err != nil {
			x.late(ctx, c, err)
		}
		return
	}
	if err == nil {
		_, err = protect(ctx, c, func(context.Context, *onion.Call) (any, error) { return nil, x.writeValue(c, value) })
	}
	if err == nil {
		return
	}
	if c.Response.Written.Status != 0 {
		x.late(ctx, c, err)
		return
	}
	x.writeError(ctx, c, err)
}

// late notes an error that came after the response had begun. After a panic the
// client must be able to tell that what it has is not the whole.
func (x *exchange) late(ctx context.Context, c *onion.Call, err error) {
	if clientGone(c, err) {
		return
	}
	var panicked *PanicError
	x.aborted = x.aborted || errors.As(err, &panicked) && !x.complete
	x.logger().ErrorContext(ctx, "error after the response had begun",
		"error", err, "method", c.Method, "path", c.Path, "status", c.Response.Written.Status)
}

// protect runs a step; a panic becomes an error, a typed nil error none.
func protect(ctx context.Context, c *onion.Call, next onion.Next) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			value, err = nil, recovered(p)
		}
	}()
	if value, err = next(ctx, c); err != nil {
		err = realError(err)
	}
	return value, err
}

// boundary stands inside every system middleware that acts on the way out. It
// answers with the outcome of what lies further in, so that what lies further
// out sees a response that is written (Call.Response.Written). What nothing
// handled passes, for a-core:notfound.
func boundary(next onion.Next) onion.Next {
	return func(ctx context.Context, c *onion.Call) (any, error) {
		value, err := protect(ctx, c, next)
		switch {
		case err != nil:
		case c.Response.Written.Status != 0: // further in, it was answered
			return nil, nil
		case value == onion.Unhandled:
			return value, nil
		}
		exchangeOf(c).finish(ctx, c, value, err)
		return nil, nil
	}
}

// attach finds the instance of a call (contract D1, C8). An unknown one is left
// to a-instance:instance, so that such a request reaches what comes before it.
func (rt *Runtime) attach(ctx context.Context, c *onion.Call) error {
	name, none := rt.resolver.Resolve(c)
	if none {
		c.NoInstance = true
		return nil
	}
	c.Instance = name
	inst, err := rt.instances.Lookup(ctx, name)
	switch {
	case err == nil:
		instance.Attach(c, inst)
	case errors.Is(err, instance.ErrUnknown):
	default:
		return err
	}
	return nil
}

// setOf is the option set in force for a call of an instance, or of none.
func (rt *Runtime) setOf(inst *instance.Instance) *onion.Set {
	if inst != nil {
		return inst.Set
	}
	return rt.instances.Fallback()
}

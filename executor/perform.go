package executor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// ActionOptions are what PerformAction takes beside method and path (contract
// F1). All may be left out.
type ActionOptions struct {
	// Params are the values of the path's ":name" and "{name}".
	Params map[string]any
	// Query is the query in order; what the path itself carries stays before it.
	Query []Pair
	// Headers are the header fields that the action sees.
	Headers http.Header
	// Body is url.Values for a form, or anything that JSON makes an object or
	// array of; nil is no body.
	Body any
	// Onions is the dynamic layer: options by onion name, above all others, for
	// this call.
	Onions map[string]map[string]any
	// AuthToken is the caller's token; empty keeps the passport of the call that
	// ctx belongs to.
	AuthToken string
	// NoInnerAccess sends the call through the guards like one from outside. By
	// default it passes those behind a-user:passport.
	NoInnerAccess bool
}

// PerformAction runs an action in process: routing and all that follows it,
// without the system chain (contract F1). path is a raw template or path
// ("/demo/student/:id"), below the API prefix; one that begins with "//" is
// taken without prefix and with one slash, as in a route's declaration. The call
// is a new one, with its own context; it inherits instance, locale, address and
// passport of the call that ctx belongs to, and belongs to the default instance
// if there is none.
//
// The result is the action's value, or a *onion.Reply if a step answered with
// one, or an error that onion.AsError gives status and code of; filters do not
// see it. A panic is an error too.
func (e *Executor) PerformAction(ctx context.Context, method, path string, opts ActionOptions) (any, error) {
	parent := onion.CallFrom(ctx)
	rt := e.runtimeOf(parent)
	c, err := rt.newCall(ctx, parent)
	if err != nil {
		return nil, err
	}
	if err := rt.address(c, method, path, opts); err != nil {
		return nil, fmt.Errorf("perform %s %s: %w", method, path, err)
	}
	return protect(onion.WithCall(ctx, c), c, func(ctx context.Context, c *onion.Call) (any, error) {
		return rt.perform(ctx, c, opts.Onions)
	})
}

// Perform is PerformAction with the type of the action's output. A value of
// another type is an error.
func Perform[T any](ctx context.Context, e *Executor, method, path string, opts ActionOptions) (T, error) {
	var typed T
	value, err := e.PerformAction(ctx, method, path, opts)
	if err != nil || value == nil {
		return typed, err
	}
	typed, ok := value.(T)
	if !ok {
		return typed, fmt.Errorf("perform %s %s: the action gave a %T, want %T", method, path, value, typed)
	}
	return typed, nil
}

// runtimeOf is the runtime of a call that is under way, else the one in force.
func (e *Executor) runtimeOf(c *onion.Call) *Runtime {
	if x := exchangeOf(c); x != nil {
		return x.runtime
	}
	return e.runtime.Load()
}

// CallOptions say what NewCtx does not inherit.
type CallOptions struct {
	// Instance names the instance; nil inherits it. A caller's passport does not
	// go along to another instance: its users are not this one's.
	Instance *string
	// Locale is the language; empty inherits it.
	Locale string
}

// NewCtx gives a context with a call of its own that no client made: for work in
// the background, at a schedule or for another instance. It inherits from the
// call that ctx belongs to, and belongs to the default instance if there is
// none. An unknown or disabled instance is a 423, a store that fails or an
// instance that does not start a 503.
func (e *Executor) NewCtx(ctx context.Context, opts CallOptions) (context.Context, error) {
	parent := onion.CallFrom(ctx)
	rt := e.runtimeOf(parent)
	c := rt.inherit(parent)
	if opts.Locale != "" {
		c.Locale = opts.Locale
	}
	if opts.Instance == nil {
		if err := rt.inheritInstance(ctx, parent, c); err != nil {
			return nil, err
		}
	} else if err := rt.enterInstance(ctx, c, *opts.Instance); err != nil {
		return nil, err
	}
	if parent != nil && parent.Instance == c.Instance && parent.NoInstance == c.NoInstance {
		passport.Inherit(parent, c)
	}
	return onion.WithCall(ctx, c), nil
}

// newCall makes a call inside another one, or outside any.
func (rt *Runtime) newCall(ctx context.Context, parent *onion.Call) (*onion.Call, error) {
	c := rt.inherit(parent)
	if parent != nil {
		passport.Inherit(parent, c)
	}
	return c, rt.inheritInstance(ctx, parent, c)
}

// inherit makes a call with what a parent has to give, save its instance and its
// passport: a user of one instance is nobody in another.
func (rt *Runtime) inherit(parent *onion.Call) *onion.Call {
	x := &exchange{runtime: rt}
	c := &x.call
	c.Params, c.Header, c.WantsJSON = x.params[:0], http.Header{}, true
	c.Response.Header = http.Header{}
	c.Set(exchangeKey{}, x)
	if parent != nil {
		c.Request, c.Host, c.Secure, c.Addr, c.Locale = parent.Request, parent.Host, parent.Secure, parent.Addr, parent.Locale
	}
	return c
}

func (rt *Runtime) inheritInstance(ctx context.Context, parent, c *onion.Call) error {
	if exchangeOf(parent) == nil {
		return rt.enterInstance(ctx, c, "")
	}
	c.NoInstance, c.Instance = parent.NoInstance, parent.Instance
	if inst := instance.Of(parent); inst != nil {
		instance.Attach(c, inst)
	}
	return nil
}

// enterInstance attaches an instance that is open and has started.
func (rt *Runtime) enterInstance(ctx context.Context, c *onion.Call, name string) error {
	inst, err := rt.instances.Lookup(ctx, name)
	switch {
	case errors.Is(err, instance.ErrUnknown), err == nil && inst.Disabled:
		return onion.NewError(http.StatusLocked, fmt.Errorf("instance %q is unknown or disabled", name))
	case err != nil:
		return err
	}
	if err := inst.Ready(ctx); err != nil {
		return onion.NewError(http.StatusServiceUnavailable, err)
	}
	instance.Attach(c, inst)
	return nil
}

// address fills in what the call asks for.
func (rt *Runtime) address(c *onion.Call, method, path string, opts ActionOptions) error {
	u, err := SerializePath(path, opts.Params, opts.Query)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(u, "/") {
		return errors.New("the path must begin with a slash")
	}
	if absolute, ok := strings.CutPrefix(u, "//"); ok {
		u = "/" + absolute
	} else {
		u = rt.prefix + u
	}
	c.Method = strings.ToUpper(method)
	c.Path, c.RawQuery, _ = strings.Cut(u, "?")
	c.Inner, c.AuthToken = !opts.NoInnerAccess, opts.AuthToken
	for key, values := range opts.Headers {
		c.Header[http.CanonicalHeaderKey(key)] = values
	}
	return setBody(&c.Body, opts.Body)
}

// setBody gives a call a body as a-body:bodyReq would have left it.
func setBody(body *onion.Body, value any) error {
	body.Parsed = true
	if form, ok := value.(url.Values); ok {
		body.Form = form
		return nil
	}
	if value == nil {
		return nil
	}
	b := getBuffer()
	defer putBuffer(b)
	if err := b.encoder.Encode(value); err != nil {
		return fmt.Errorf("encode the body, a %T, as JSON: %w", value, err)
	}
	switch raw := b.Bytes(); {
	case raw[0] == '{' || raw[0] == '[':
		body.JSON = append([]byte(nil), raw...)
	case raw[0] != 'n': // null is no body
		return onion.NewError(http.StatusBadRequest, fmt.Errorf("a body of type %T is neither object nor array", value))
	}
	return nil
}

// perform routes and runs a call.
func (rt *Runtime) perform(ctx context.Context, c *onion.Call, onions map[string]map[string]any) (any, error) {
	f, err := rt.router.find(c.Method, c.Path, c.Params[:0])
	if err != nil {
		return nil, err
	}
	if f.route == nil {
		status := http.StatusNotFound
		if f.others != 0 {
			status = http.StatusMethodNotAllowed
		}
		return nil, onion.NewError(status, fmt.Errorf("there is no route %s %s", c.Method, c.Path))
	}
	c.Route, c.Params = f.route, f.params
	set := rt.setOf(instance.Of(c))
	chain, err := set.Chain(f.route)
	if len(onions) > 0 {
		chain, err = set.Dynamic(f.route, c.Instance, c.NoInstance, onions)
	}
	if err != nil {
		return nil, err
	}
	return chain.Run(ctx, c)
}

package executor

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
)

// Instances finds instances: an *instance.Manager.
type Instances interface {
	// Lookup gives an instance; instance.ErrUnknown says that there is none.
	Lookup(ctx context.Context, name string) (*instance.Instance, error)
	// Fallback is the option set of calls without an instance.
	Fallback() *onion.Set
}

// Resolver reads the instance name out of a request: an *instance.Resolver.
type Resolver interface {
	Resolve(c *onion.Call) (name string, none bool)
}

// RuntimeInput is what a Runtime is made of.
type RuntimeInput struct {
	// Env tells the mode, and where to log.
	Env onion.Env
	// Engine must have been built with Assemble.
	Engine    *onion.Engine
	Instances Instances
	Resolver  Resolver
	Server    ServerConfig
	Proxy     ProxyConfig
	// Mounts are ordinary handlers beside the routes.
	Mounts []Mount
}

// Runtime is everything that requests are served with and that a reload
// replaces. It does not change.
type Runtime struct {
	env          onion.Env
	prefix       string
	compatAccept bool
	instances    Instances
	resolver     Resolver
	router       *router
	mounts       mounts
	addresses    addresses
	system       onion.Next
}

// NewRuntime compiles a runtime. The error joins all that is wrong: routes whose
// shapes are equal or ambiguous (both places named), inputs that cannot be
// filled in (type and field), the proxy section, mounts.
func NewRuntime(in RuntimeInput) (*Runtime, error) {
	rt := &Runtime{
		env: in.Env, prefix: in.Server.GlobalPrefix, compatAccept: in.Server.CompatAccept,
		instances: in.Instances, resolver: in.Resolver,
	}
	var errs [3]error
	rt.router, errs[0] = newRouter(in.Engine.Routes())
	rt.mounts, errs[1] = newMounts(in.Mounts)
	rt.addresses, errs[2] = newAddresses(in.Proxy)
	all := errs[:]
	// Chains are compiled on first use; those of the application's own options
	// are compiled here, as what is wrong with an input is wrong at every
	// instance.
	for _, route := range in.Engine.Routes() {
		if _, err := in.Instances.Fallback().Chain(route); err != nil {
			all = append(all, err)
		}
	}
	if err := errors.Join(all...); err != nil {
		return nil, err
	}
	rt.system = rt.Dispatch
	for _, step := range slices.Backward(in.Engine.System()) {
		if !step.Inbound {
			rt.system = boundary(rt.system)
		}
		rt.system = step.Wrap(rt.system)
	}
	return rt, nil
}

// Executor serves HTTP requests and performs actions in process with the runtime
// in force. It is safe for concurrent use.
type Executor struct {
	runtime atomic.Pointer[Runtime]
}

// New makes an executor that serves with rt.
func New(rt *Runtime) *Executor {
	e := &Executor{}
	e.runtime.Store(rt)
	return e
}

// Swap puts a runtime in force for the calls that begin from now on; those under
// way finish with the one they began with. It returns the one it replaced.
func (e *Executor) Swap(rt *Runtime) *Runtime { return e.runtime.Swap(rt) }

// ServeHTTP answers one request.
func (e *Executor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rt := e.runtime.Load()
	x := newExchange(rt, w, r)
	c := &x.call
	ctx := onion.WithCall(r.Context(), c)
	value, err := protect(ctx, c, rt.enter)
	if value == onion.Unhandled && err == nil {
		value = notFound(c)
	}
	x.finish(ctx, c, value, err)
	if x.aborted {
		_ = x.writer.FlushError()
		panic(http.ErrAbortHandler)
	}
}

// enter is a request from its instance on. A store that fails is answered before
// the system chain (contract C8).
func (rt *Runtime) enter(ctx context.Context, c *onion.Call) (any, error) {
	if err := rt.attach(ctx, c); err != nil {
		return nil, err
	}
	return rt.system(ctx, c)
}

// Dispatch is the innermost step of the system chain: it finds the route of a
// call by its method and path, and runs the chain that was compiled for it and the
// call's instance. The value is the action's, a Reply, or onion.Unhandled where
// there is neither a route nor a mounted handler; the errors are those of contract
// C5, C8 and the chain's own.
func (rt *Runtime) Dispatch(ctx context.Context, c *onion.Call) (any, error) {
	f, err := rt.router.find(c.Method, c.Path, c.Params[:0])
	if err != nil {
		return nil, err
	}
	if f.route == nil {
		return rt.unrouted(ctx, c, f.others)
	}
	inst := instance.Of(c)
	if err := admitted(c, inst); err != nil {
		return nil, err
	}
	c.Route, c.Params = f.route, f.params
	chain, err := rt.setOf(inst).Chain(f.route)
	if err != nil {
		return nil, err
	}
	return chain.Run(ctx, c)
}

// admitted keeps routes closed to unknown and disabled instances even where
// a-instance:instance is not in the system chain (contract C8).
func admitted(c *onion.Call, inst *instance.Instance) error {
	if c.NoInstance || inst != nil && !inst.Disabled {
		return nil
	}
	return onion.NewError(http.StatusLocked, nil)
}

// unrouted is contract C5 for a path and method without a route.
func (rt *Runtime) unrouted(ctx context.Context, c *onion.Call, others methodSet) (any, error) {
	if others != 0 {
		allow := http.Header{"Allow": {others.allow()}}
		if c.Method == http.MethodOptions {
			return &onion.Reply{Status: http.StatusNoContent, Header: allow}, nil
		}
		e := onion.NewError(http.StatusMethodNotAllowed, nil)
		e.Header = allow
		return nil, e
	}
	if h := rt.mounts.find(c.Path); h != nil && c.Request != nil {
		serveMounted(ctx, c, h)
		return nil, nil //nolint:nilnil // the handler has written
	}
	return onion.Unhandled, nil
}

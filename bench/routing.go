package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/executor"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
)

// endpoint is one route of a table of routes: a service has modules of four
// controllers, each with the five actions of a resource.
type endpoint struct {
	method, base string
	item         bool // the path ends in an id
}

func endpoints(n int) []endpoint {
	actions := []endpoint{
		{http.MethodGet, "", false},
		{http.MethodGet, "", true},
		{http.MethodPost, "", false},
		{http.MethodPut, "", true},
		{http.MethodDelete, "", true},
	}
	list := make([]endpoint, n)
	for i := range list {
		list[i] = actions[i%len(actions)]
		controller := i / len(actions)
		list[i].base = fmt.Sprintf("/api/module%d/resource%d", controller/4, controller%4)
	}
	return list
}

// path is a path that a request could have.
func (e endpoint) path() string {
	if e.item {
		return e.base + "/12345"
	}
	return e.base
}

// pattern is the route with its id written as the router wants it.
func (e endpoint) pattern(id string) string {
	if e.item {
		return e.base + "/" + id
	}
	return e.base
}

// requests are one for each endpoint.
func requests(list []endpoint) []*http.Request {
	all := make([]*http.Request, len(list))
	for i, e := range list {
		all[i] = httptest.NewRequestWithContext(context.Background(), e.method, e.path(), http.NoBody)
	}
	return all
}

// ownRoutes runs our router and compiled chain of so many no-op steps, asked for
// all its routes in turn.
func ownRoutes(tb testing.TB, name string, list []endpoint, steps int) contestant {
	tb.Helper()
	return ownAsked(tb, name, list, list, steps)
}

// ownAsked is asked for some of its routes only.
func ownAsked(tb testing.TB, name string, all, list []endpoint, steps int) contestant {
	tb.Helper()
	rt, inst := ownRuntime(tb, all, steps)
	calls := make([]*onion.Call, len(list))
	contexts := make([]context.Context, len(list))
	for i, e := range list {
		calls[i] = &onion.Call{Method: e.method, Path: e.path(), Params: make(onion.Params, 0, 2)}
		instance.Attach(calls[i], inst)
		contexts[i] = onion.WithCall(tb.Context(), calls[i]) //nolint:fatcontext // each is the test's own context, and a call
	}
	i := 0
	return contestant{name, func(n int) {
		for range n {
			if i++; i == len(calls) {
				i = 0
			}
			if _, err := rt.Dispatch(contexts[i], calls[i]); err != nil {
				tb.Fatal(err)
			}
		}
	}}
}

type routeTable []endpoint

// Controller declares the table.
func (r routeTable) Controller() onion.Controller {
	c := onion.Controller{Name: "table"}
	none := ""
	c.Prefix = &none
	for i, e := range r {
		action := func(context.Context, *onion.Empty) (onion.Empty, error) { return onion.Empty{}, nil }
		route := onion.Get("a"+strconv.Itoa(i), e.pattern(":id"), action)
		route.Method = e.method
		c.Routes = append(c.Routes, route)
	}
	return c
}

// ownRuntime is a runtime of the routes alone, whose chains hold no-op
// interceptors.
func ownRuntime(tb testing.TB, list []endpoint, steps int) (*executor.Runtime, *instance.Instance) {
	tb.Helper()
	module := onion.Basic{ModuleName: "bench-routes", ModuleControllers: []onion.Declaration{onion.Code(routeTable(list))}}
	for i := range steps {
		module.ModuleOnions = append(module.ModuleOnions, onion.Interceptor("bench-routes:noop"+strconv.Itoa(i), onion.NoDefaults,
			func(onion.NoOptions, onion.Env) (onion.Wrap, error) {
				return func(next onion.Next) onion.Next {
					return func(ctx context.Context, c *onion.Call) (any, error) { return next(ctx, c) }
				}, nil
			}, onion.Global()))
	}
	env := onion.NewEnv("bench", onion.ModeProd, "normal", nil, nil)
	engine, err := onion.Build(onion.Input{Modules: []onion.Module{module}, Env: env, Assemble: executor.Assemble})
	if err != nil {
		tb.Fatal(err)
	}
	tree := config.FromMap("bench", map[string]any{"instance": map[string]any{"instances": map[string]any{"": map[string]any{}}}})
	statics, err := instance.Statics(tree, nil)
	if err != nil {
		tb.Fatal(err)
	}
	manager, err := instance.NewManager(instance.Config{App: tree, Statics: statics, NewSet: engine.Set}, instance.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	rt, err := executor.NewRuntime(executor.RuntimeInput{
		Env: env, Engine: engine, Instances: manager, Resolver: instance.NewResolver(instance.Section{}, 2, nil),
		Server: executor.DefaultServerConfig(), Proxy: executor.DefaultProxyConfig(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	inst, err := manager.Lookup(context.Background(), "")
	if err != nil {
		tb.Fatal(err)
	}
	return rt, inst
}

// served runs a handler over a request for each endpoint.
func served(name string, list []endpoint, h http.Handler) contestant {
	all := requests(list)
	w := &sink{header: http.Header{}}
	i := 0
	return contestant{name, func(n int) {
		for range n {
			if i++; i == len(all) {
				i = 0
			}
			h.ServeHTTP(w, all[i])
		}
	}}
}

func noop(http.ResponseWriter, *http.Request) {}

// muxRoutes is net/http's own router, with so many wrappers around it.
func muxRoutes(name string, list []endpoint, wrappers int) contestant {
	mux := http.NewServeMux()
	for _, e := range list {
		mux.HandleFunc(e.method+" "+e.pattern("{id}"), noop)
	}
	h := http.Handler(mux)
	for range wrappers {
		inner := h
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { inner.ServeHTTP(w, r) })
	}
	return served(name, list, h)
}

// chiRoutes is chi's radix tree, the well-kept tree router that ours is measured
// against.
func chiRoutes(name string, list []endpoint) contestant {
	r := chi.NewRouter()
	for _, e := range list {
		r.MethodFunc(e.method, e.pattern("{id}"), noop)
	}
	return served(name, list, r)
}

package onion

import (
	"context"
	"testing"
)

// policyOptions are the options of the test onions.
type policyOptions struct {
	RateLimit ratePolicy `json:"rateLimit"`
}

type ratePolicy struct {
	Mode    string   `json:"mode" oneof:"observe|enforce"`
	Limit   int64    `json:"limit" range:"1..9007199254740991"`
	Headers Toggle   `json:"headers"`
	Name    *string  `json:"name"`
	List    []string `json:"list"`
}

func rateDefaults() policyOptions {
	return policyOptions{RateLimit: ratePolicy{Mode: "enforce", Limit: 120, Headers: On}}
}

// trail is the value under which test steps leave their names.
type trailKey struct{}

func leave(c *Call, name string) {
	list, _ := c.Value(trailKey{}).([]string)
	c.Set(trailKey{}, append(list, name))
}

func trail(c *Call) []string {
	list, _ := c.Value(trailKey{}).([]string)
	return list
}

// tracing builds a wrap that leaves a name.
func tracing[O any](name string) func(O, Env) (Wrap, error) {
	return func(O, Env) (Wrap, error) {
		return func(next Next) Next {
			return func(ctx context.Context, c *Call) (any, error) {
				leave(c, name)
				return next(ctx, c)
			}
		}, nil
	}
}

func rateOnion(opts ...DefOption) *Def[policyOptions] {
	return Interceptor("a-ratelimit:rateLimit", rateDefaults, tracing[policyOptions]("rateLimit"),
		append([]DefOption{Global(), Disabled(), Before("a-body:bodyReq"), Tag("rateLimit")}, opts...)...)
}

func bodyOnion() *Def[NoOptions] {
	return Interceptor("a-body:bodyReq", NoDefaults, tracing[NoOptions]("bodyReq"), Global())
}

type pingController struct {
	uses, action []Use
}

func (p pingController) Controller() Controller {
	return Controller{Name: "student", Path: "student", Uses: p.uses, Routes: []Route{
		Get("list", "", ping, p.action...), Get("one", ":id", ping),
	}}
}

func ping(context.Context, *Empty) (string, error) { return "pong", nil }

// assembleInterceptors is enough of an executor for these tests.
func assembleInterceptors(route *RouteInfo, steps *Steps) (Next, error) {
	action := func(ctx context.Context, _ *Call) (any, error) { return route.Handler.Invoke(ctx, route.Handler.New()) }
	return Compose(steps.Middleware, Compose(steps.Interceptors, Compose(steps.LocalMiddleware, action))), nil
}

func testInput(modules ...Module) Input {
	return Input{Modules: modules, Env: NewEnv("test", ModeTest, "normal", nil, nil), Prefix: "/api", Assemble: assembleInterceptors}
}

func mustBuild(t *testing.T, in Input) *Engine {
	t.Helper()
	e, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func mustSet(t *testing.T, e *Engine, name string, in ...Settings) *Set {
	t.Helper()
	s, err := e.Set(name, false, in...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// runRoute runs a route's chain and gives the trail.
func runRoute(t *testing.T, s *Set, route *RouteInfo, c *Call) []string {
	t.Helper()
	chain, err := s.Chain(route)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := chain.Run(t.Context(), c); err != nil || v != "pong" {
		t.Fatalf("got %v, %v", v, err)
	}
	return trail(c)
}

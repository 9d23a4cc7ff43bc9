package docs_test

import (
	"context"
	"fmt"

	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// declared is a controller that is a model already.
type declared onion.Controller

func (d declared) Controller() onion.Controller { return onion.Controller(d) }

// around makes a build of a step that says when it is entered and left.
func around(name string) func(onion.NoOptions, onion.Env) (onion.Wrap, error) {
	return func(onion.NoOptions, onion.Env) (onion.Wrap, error) {
		return func(next onion.Next) onion.Next {
			return func(ctx context.Context, c *onion.Call) (any, error) {
				fmt.Println("->", name)
				defer fmt.Println("<-", name)
				return next(ctx, c)
			}
		}, nil
	}
}

func checking(name string) func(onion.NoOptions, onion.Env) (onion.CheckFunc, error) {
	return func(onion.NoOptions, onion.Env) (onion.CheckFunc, error) {
		return func(context.Context, *onion.Call) (onion.Verdict, error) {
			fmt.Println("  ", name)
			return onion.Pass, nil
		}, nil
	}
}

func piping(name string) func(onion.NoOptions, onion.Env) (onion.PipeFunc, error) {
	return func(onion.NoOptions, onion.Env) (onion.PipeFunc, error) {
		return func(_ context.Context, _ *onion.Call, arg onion.Arg, value any) (any, error) {
			fmt.Println("  ", name, "of", arg.Source)
			return value, nil
		}, nil
	}
}

func filtering(name string) func(onion.NoOptions, onion.Env) (onion.FilterFunc, error) {
	return func(onion.NoOptions, onion.Env) (onion.FilterFunc, error) {
		return func(_ context.Context, _ *onion.Call, err error) (*onion.Reply, error) {
			fmt.Println("  ", name)
			return nil, err
		}, nil
	}
}

type stagesInput struct {
	ID int `param:"id" pipe:"demo-stage:named"`
}

// Example_stages sends a request through onions of every scene, global and
// local, and then one that fails.
func Example_stages() {
	no := onion.NoDefaults
	localMiddleware := onion.Middleware("demo-stage:localMiddleware", no, around("local middleware"))
	localGuard := onion.Guard("demo-stage:localGuard", no, checking("local guard"))
	localInterceptor := onion.Interceptor("demo-stage:localInterceptor", no, around("local interceptor"))
	localPipe := onion.Pipe("demo-stage:localPipe", no, piping("local pipe"))
	localFilter := onion.Filter("demo-stage:localFilter", no, filtering("local filter"))
	onions := []onion.Onion{
		onion.SystemMiddleware("demo-stage:system", no, around("system middleware"), onion.After("a-security:securities")),
		onion.Middleware("demo-stage:middleware", no, around("global middleware"), onion.Global()),
		onion.Guard("demo-stage:guard", no, checking("global guard"), onion.Global(), onion.Before("a-user:passport")),
		onion.Interceptor("demo-stage:interceptor", no, around("global interceptor"), onion.Global()),
		onion.Pipe("demo-stage:pipe", no, piping("global pipe"), onion.Global()),
		onion.Pipe("demo-stage:whole", no, piping("global pipe of inputs"), onion.Global(), onion.OnInput()),
		onion.Pipe("demo-stage:named", no, piping("pipe of the argument")),
		onion.Filter("demo-stage:filter", no, filtering("global filter"), onion.Global(), onion.Before("a-error:error")),
		localMiddleware, localGuard, localInterceptor, localPipe, localFilter,
	}
	action := func(_ context.Context, in *stagesInput) (string, error) {
		fmt.Println("   action")
		if in.ID == 0 {
			return "", onion.BusinessError("demo-stage", 1, 409, "not zero")
		}
		return "done", nil
	}
	var none onion.NoOptions
	controller := declared{Name: "run", Path: "run", Routes: []onion.Route{
		onion.Get("run", ":id", onion.Action[stagesInput, string](action), passport.Public(),
			localMiddleware.Use(none), localGuard.Use(none), localInterceptor.Use(none), localPipe.Use(none), localFilter.Use(none)),
	}}
	try(onion.Basic{ModuleName: "demo-stage", ModuleOnions: onions, ModuleControllers: []onion.Declaration{onion.Code(controller)}}, nil,
		"GET /api/demo/stage/run/7", "GET /api/demo/stage/run/0")
	// Output:
	// -> system middleware
	// -> global middleware
	//    global guard
	//    local guard
	// -> global interceptor
	// -> local interceptor
	//    global pipe of param
	//    local pipe of param
	//    pipe of the argument of param
	//    global pipe of inputs of input
	// -> local middleware
	//    action
	// <- local middleware
	// <- local interceptor
	// <- global interceptor
	// <- global middleware
	// <- system middleware
	// 200 {"code":0,"message":"Success","data":"done"}
	// -> system middleware
	// -> global middleware
	//    global guard
	//    local guard
	// -> global interceptor
	// -> local interceptor
	//    global pipe of param
	//    local pipe of param
	//    pipe of the argument of param
	//    global pipe of inputs of input
	// -> local middleware
	//    action
	// <- local middleware
	// <- local interceptor
	// <- global interceptor
	// <- global middleware
	//    local filter
	//    global filter
	// <- system middleware
	// 409 {"code":"demo-stage:1","message":"not zero"}
}

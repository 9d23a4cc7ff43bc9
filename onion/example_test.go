package onion_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/vonago/vonago/onion"
)

// Quota are the options of the onion of these examples.
type Quota struct {
	Limit int64    `json:"limit" range:"1..1000"`
	Burst *int64   `json:"burst"` // nil is "not said", 0 is a number
	Bill  Bill     `json:"bill"`
	Tags  []string `json:"tags"`
}

// Bill is nested: layers merge it key by key.
type Bill struct {
	To   string       `json:"to"`
	Dry  onion.Toggle `json:"dry"`
	Note string       `json:"note" nullable:"true"`
}

func quotaDefaults() Quota { return Quota{Limit: 100, Bill: Bill{To: "house", Dry: onion.Off}} }

// quota says what it would do; every chain with equal options shares one build.
var quota = onion.Interceptor("demo-shop:quota", quotaDefaults,
	func(o Quota, _ onion.Env) (onion.Wrap, error) {
		return func(next onion.Next) onion.Next {
			return func(ctx context.Context, c *onion.Call) (any, error) {
				fmt.Println("quota", o.Limit, "before")
				defer fmt.Println("quota after")
				return next(ctx, c)
			}
		}, nil
	}, onion.Global(), onion.Tag("quota"))

// Goods is a controller by policy tags.
type Goods struct {
	onion.ControllerTag `name:"goods" path:"goods" quota:"limit=50"`

	List  onion.Action[onion.Empty, string] `get:""`
	Order onion.Action[onion.Empty, string] `post:"" quota:"limit=5,burst=0,dry,bill.note='a, b',tags=slow|'x,y'"`
}

func text(s string) onion.Action[onion.Empty, string] {
	return func(context.Context, *onion.Empty) (string, error) { return s, nil }
}

// shop is an application without a server: the engine runs no request by itself,
// so assemble stands for the executor.
func shop(app onion.Settings, declared onion.Declaration) (*onion.Engine, error) {
	assemble := func(route *onion.RouteInfo, steps *onion.Steps) (onion.Next, error) {
		return onion.Compose(steps.Interceptors, func(ctx context.Context, _ *onion.Call) (any, error) {
			return route.Handler.Invoke(ctx, route.Handler.New())
		}), nil
	}
	return onion.Build(onion.Input{
		Modules: []onion.Module{onion.Basic{
			ModuleName: "demo-shop", ModuleOnions: []onion.Onion{quota}, ModuleControllers: []onion.Declaration{declared},
		}},
		Env: onion.NewEnv("shop", onion.ModeDev, "normal", nil, nil), App: app, Prefix: "/api", Assemble: assemble,
	})
}

// A chain is compiled for a route and an option set, and then only run.
func ExampleBuild() {
	engine, err := shop(onion.Settings{}, onion.Tags(&Goods{List: text("apples"), Order: text("ordered")}))
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := engine.Set("", false)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, route := range engine.Routes() {
		chain, err := set.Chain(route)
		if err != nil {
			fmt.Println(err)
			return
		}
		value, err := chain.Run(context.Background(), &onion.Call{Route: route})
		fmt.Println(route, value, err)
	}
	// Output:
	// quota 50 before
	// quota after
	// GET /api/demo/shop/goods apples <nil>
	// quota 5 before
	// quota after
	// POST /api/demo/shop/goods ordered <nil>
}

// Explain tells which layer said what. The action says only part; the rest is
// inherited from the layers below.
func ExampleSet_Explain() {
	app := onion.Settings{Kind: onion.LayerApp, Label: "application config", Onions: map[string]any{
		"interceptor": map[string]any{"demo-shop:quota": map[string]any{"bill": map[string]any{"to": "team"}}},
	}}
	acme := onion.Settings{Kind: onion.LayerInstance, Label: "instance acme", Onions: map[string]any{
		"interceptor": map[string]any{"demo-shop:quota": map[string]any{"limit": 7, "bill": map[string]any{"note": "acme's"}}},
	}}
	engine, err := shop(app, onion.Tags(&Goods{List: text("apples"), Order: text("ordered")}))
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := engine.Set("acme", false, acme)
	if err != nil {
		fmt.Println(err)
		return
	}
	order := engine.Routes()[1]
	for _, o := range set.Explain(order).Onions {
		fmt.Println(o.Name, "active:", o.Active)
		for _, option := range o.Options {
			fmt.Printf("  %s = %v (%v)\n", option.Path, option.Value, option.Layer)
		}
	}
	// Output:
	// demo-shop:quota active: true
	//   bill.dry = true (action)
	//   bill.note = a, b (action)
	//   bill.to = team (application config)
	//   burst = 0 (action)
	//   limit = 5 (action)
	//   tags = [slow x,y] (action)
}

// All that is wrong with an application comes at once, and says where.
func ExampleErrors() {
	type Wrong struct {
		onion.ControllerTag `name:"wrong" qouta:"limit=1"`

		Fast onion.Action[onion.Empty, string] `get:"fast" quota:"limits=3"`
		Nil  onion.Action[onion.Empty, string] `get:"nil"`
	}
	app := onion.Settings{Kind: onion.LayerApp, Label: "application config", Onions: map[string]any{
		"interceptor": map[string]any{"demo-shop:quota": map[string]any{"limit": 1001}},
	}}
	_, err := shop(app, onion.Tags(&Wrong{Fast: text("fast")}))
	fmt.Println(err)
	// Output:
	// onion demo-shop:quota: application config: limit: want 1 to 1000, got 1001
	// onion_test.Wrong.ControllerTag: unknown tag key "qouta", want one of quota
	// onion_test.Wrong.Fast: tag quota: unknown option "limits", want one of enable, match, ignore, meta.mode, meta.flavor, meta.instanceName, meta.host, limit, burst, bill.to, bill.dry, bill.note, tags
	// demo-shop.controller.wrong, action "nil" at onion_test.Wrong.Nil: the action is nil
}

// Errors have an HTTP face; the cause is for logs and for errors.Is.
func ExampleError() {
	missing := errors.New("row 7 is gone")
	e := onion.NewError(http.StatusServiceUnavailable, missing)
	_, dev, _ := e.Public(false)
	fmt.Println(e, "|", dev, "|", errors.Is(e, missing))

	code, message, _ := onion.BusinessError("demo-shop", 1001, http.StatusConflict, "sold out").Public(true)
	fmt.Println(string(code), message)

	code, message, _ = onion.BusinessError("demo-shop", 1002, 0, "the till is jammed").Public(true)
	fmt.Println(string(code), message)
	// Output:
	// 503 Service Unavailable: row 7 is gone | Service Unavailable | true
	// "demo-shop:1001" sold out
	// "demo-shop:1002" Internal Server Error
}

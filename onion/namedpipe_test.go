package onion

import (
	"context"
	"testing"
)

// TestNamedPipesBelongToTheirInstance: pipes that inputs name are no uses of the
// route, yet an instance's options of them must not serve another one.
func TestNamedPipesBelongToTheirInstance(t *testing.T) {
	type options struct {
		Text string `json:"text"`
	}
	pipe := Pipe("test-app:text", func() options { return options{"default"} }, func(o options, _ Env) (PipeFunc, error) {
		return func(context.Context, *Call, Arg, any) (any, error) { return o.Text, nil }, nil
	})
	in := testInput(Basic{ModuleName: "test-app", ModuleOnions: []Onion{pipe}, ModuleControllers: []Declaration{Code(pingController{})}})
	in.Assemble = func(_ *RouteInfo, steps *Steps) (Next, error) {
		named, err := steps.Pipe("test-app:text")
		return func(ctx context.Context, c *Call) (any, error) { return named(ctx, c, Arg{}, "as sent") }, err
	}
	e := mustBuild(t, in)
	for _, c := range []struct {
		name, want string
		said       map[string]any
	}{
		{"", "default", nil},
		{"acme", "acme's", map[string]any{"text": "acme's"}},
		{"beta", "as sent", map[string]any{"meta": map[string]any{"mode": "prod"}}},
		{"gamma", "as sent", map[string]any{"meta": map[string]any{"instanceName": "acme"}}},
		{"delta", "as sent", map[string]any{"enable": false}},
	} {
		var settings []Settings
		if c.said != nil {
			settings = []Settings{{Kind: LayerInstance, Label: c.name, Onions: map[string]any{"pipe": map[string]any{"test-app:text": c.said}}}}
		}
		chain, err := mustSet(t, e, c.name, settings...).Chain(e.Routes()[0])
		if err != nil {
			t.Fatal(err)
		}
		if got, err := chain.Run(t.Context(), &Call{}); got != c.want || err != nil {
			t.Errorf("instance %q: %v, %v, want %q", c.name, got, err, c.want)
		}
	}
}

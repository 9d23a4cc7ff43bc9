package executor

import (
	"context"
	"strings"
	"testing"

	"github.com/vonago/vonago/onion"
)

func pipe(name string, f func(arg onion.Arg, v any) (any, error), opts ...onion.DefOption) *onion.Def[onion.NoOptions] {
	return onion.Pipe(name, onion.NoDefaults, func(onion.NoOptions, onion.Env) (onion.PipeFunc, error) {
		return func(_ context.Context, _ *onion.Call, arg onion.Arg, v any) (any, error) { return f(arg, v) }, nil
	}, opts...)
}

func onText(f func(string) any) func(onion.Arg, any) (any, error) {
	return func(_ onion.Arg, v any) (any, error) {
		if text, ok := v.(string); ok {
			return f(text), nil
		}
		return v, nil
	}
}

func TestPipes(t *testing.T) {
	type in struct {
		A string `query:"" pipe:"demo-x:upper | demo-x:exclaim"`
		N named  `query:""`
		I int    `query:"i"`
		S []int  `query:"s" pipe:"demo-x:grow"`
	}
	echo := func(_ context.Context, in *in) (*in, error) { return in, nil }
	var saw []string
	trim := pipe("demo-x:trim", func(arg onion.Arg, v any) (any, error) {
		saw = append(saw, arg.Field+" "+arg.Name+" "+string(arg.Source))
		if text, ok := v.(string); ok {
			v = strings.TrimSpace(text)
		}
		if name, ok := v.(named); ok {
			v = name + "."
		}
		return v, nil
	}, onion.Global())
	local := pipe("demo-x:local", onText(func(s string) any { return "<" + s + ">" }))
	upper := pipe("demo-x:upper", onText(func(s string) any { return strings.ToUpper(s) }))
	exclaim := pipe("demo-x:exclaim", onText(func(s string) any { return s + "!" }))
	grow := pipe("demo-x:grow", func(_ onion.Arg, v any) (any, error) { return append(v.([]int), 9), nil })
	whole := pipe("demo-x:whole", func(arg onion.Arg, v any) (any, error) {
		saw = append(saw, "whole "+string(arg.Source))
		v.(*in).I++
		return v, nil
	}, onion.Global(), onion.OnInput())
	def := newApp(onion.Get("a", "a", echo, local.Use(onion.NoOptions{})))
	def.onions = append(def.onions, trim, local, upper, exclaim, grow, whole)
	def.run(t).get("/api/t/a?a=+x+&n=m&i=4&s=1").want(t, 200, `{"code":0,"message":"Success","data":{"A":"<X>!","N":"m.","I":5,"S":[1,9]}}`)
	want := "A a query,N n query,I i query,S s query,whole input"
	if got := strings.Join(saw, ","); got != want {
		t.Errorf("pipes saw %q, want %q", got, want)
	}
}

func TestPipeErrors(t *testing.T) {
	type in struct {
		A string   `query:"" pipe:"demo-x:check"`
		B int      `query:"b"`
		C *int     `query:"c" pipe:"demo-x:check"`
		D []string `query:"d" pipe:"demo-x:check"`
	}
	echo := func(_ context.Context, in *in) (string, error) { return in.A, nil }
	check := pipe("demo-x:check", func(arg onion.Arg, v any) (any, error) {
		switch v {
		case "bad":
			return nil, onion.ValidationError([]onion.FieldError{{Code: "rule", Path: []any{arg.Name}, Message: "m"}})
		case "gone":
			return nil, onion.NewError(410, nil)
		case "typed nil":
			var none *onion.Error
			return "was nil", none
		case "type":
			return 5, nil
		case "nil":
			return nil, nil
		}
		return v, nil
	})
	def := newApp(onion.Get("a", "a", echo))
	def.onions = append(def.onions, check)
	a := def.run(t)
	a.get("/api/t/a?a=ok&c=1&d=x").want(t, 200, `{"code":0,"message":"Success","data":"ok"}`)
	res := a.get("/api/t/a?a=bad&b=x")
	if res.StatusCode != 422 || !strings.Contains(res.body, `"errors":[{"code":"rule","path":["a"],"message":"m"},{"code":"invalid_type","path":["b"],"message":"expected integer"}]`) {
		t.Errorf("got %d %s", res.StatusCode, res.body)
	}
	a.get("/api/t/a?a=gone&b=x").want(t, 410, `{"code":410,"message":"Gone"}`)
	a.get("/api/t/a?a=typed+nil").want(t, 200, `{"code":0,"message":"Success","data":"was nil"}`)
	for _, what := range []string{"type", "nil"} {
		if res := a.get("/api/t/a?a="+what, asHTML); res.StatusCode != 500 || !strings.Contains(res.body, "pipe demo-x:check gave field A a") {
			t.Errorf("%s: got %d %s", what, res.StatusCode, res.body)
		}
	}

	def.onions = []onion.Onion{bodyRes}
	if _, err := def.build(&logBuffer{}); err == nil || !strings.Contains(err.Error(), "field A") || !strings.Contains(err.Error(), "demo-x:check") || !strings.Contains(err.Error(), "field C") {
		t.Errorf("an unknown pipe: got %v, want every field", err)
	}
}

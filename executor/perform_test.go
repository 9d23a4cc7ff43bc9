package executor

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

type echoInput struct {
	ID     string         `param:"id"`
	Q      int            `query:"q"`
	List   []int          `query:"list"`
	Object map[string]any `query:"object"`
	X      string         `header:"x-x"`
	Name   string         `field:"name"`
}

type echoOutput struct {
	echoInput
	Instance, Locale, IP, User, Token string
	Inner, Request                    bool
}

func echoAction(ctx context.Context, in *echoInput) (*echoOutput, error) {
	c := onion.CallFrom(ctx)
	out := &echoOutput{echoInput: *in, Locale: c.Locale, IP: c.IP(), User: passport.Current(ctx).User.Name, Token: c.AuthToken, Inner: c.Inner, Request: c.Request != nil}
	if inst := instance.Current(ctx); inst != nil {
		out.Instance = "=" + inst.Name
	}
	return out, nil
}

type limitOptions struct {
	Limit int64 `json:"limit" range:"1..1000"`
}

// limit is an interceptor whose option the action's value shows.
var limit = onion.Interceptor("demo-x:limit", func() limitOptions { return limitOptions{Limit: 1} }, func(o limitOptions, _ onion.Env) (onion.Wrap, error) {
	return func(onion.Next) onion.Next {
		return func(context.Context, *onion.Call) (any, error) { return o.Limit, nil }
	}, nil
})

// TestPerformAction is contract F1.
func TestPerformAction(t *testing.T) {
	var e *Executor
	outer := handle(func(ctx context.Context) (*echoOutput, error) {
		return Perform[*echoOutput](ctx, e, "get", "/t/echo/:id", ActionOptions{Params: map[string]any{"id": 5}})
	})
	other := handle(func(ctx context.Context) (*echoOutput, error) {
		name := "acme"
		ctx, err := e.NewCtx(ctx, CallOptions{Instance: &name, Locale: "fr"})
		if err != nil {
			return nil, err
		}
		return Perform[*echoOutput](ctx, e, "get", "/t/echo/6", ActionOptions{})
	})
	systemRan := false
	def := newApp(
		onion.Get("echo", "echo/:id", echoAction), onion.Post("post", "echo/:id?", echoAction2), onion.Get("outer", "outer", outer), onion.Get("other", "other", other),
		onion.Get("limited", "limited", gives("not reached"), limit.Use(limitOptions{Limit: 3})),
		onion.Get("bad", "bad", fails(onion.BusinessError("demo-x", 7, 409, "no"))), onion.Get("boom", "boom", handle(func(context.Context) (int, error) { panic("boom") })),
		onion.Get("root", "//root", gives("root")),
	)
	def.onions = append(def.onions, limit, globalGuard("demo-x:signIn", signIn), system("demo-x:system", func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			systemRan = true
			return next(ctx, c)
		}
	}))
	a := def.run(t)
	e = a.Executor

	t.Run("outside any request", func(t *testing.T) {
		got, err := Perform[*echoOutput](t.Context(), e, "GET", "/t/echo/:id?q=1", ActionOptions{
			Params: map[string]any{"id": "a/b ü"}, AuthToken: "token", Headers: http.Header{"x-x": {"h"}},
			Query: []Pair{{"list", []int{1, 2}}, {"object", map[string]any{"k": "v"}}},
		})
		if err != nil || got.ID != "a/b ü" || got.Q != 1 || len(got.List) != 2 || got.Object["k"] != "v" || got.X != "h" ||
			got.Instance != "=" || !got.Inner || got.Token != "token" || got.Request {
			t.Errorf("got %+v, %v", got, err)
		}
		if systemRan {
			t.Error("the system chain ran")
		}
	})
	t.Run("bodies", func(t *testing.T) {
		for _, body := range []any{map[string]any{"name": "n"}, url.Values{"name": {"n"}}, struct {
			Name string `json:"name"`
		}{"n"}} {
			if got, err := e.PerformAction(t.Context(), "post", "/t/echo/:id?", ActionOptions{Body: body, NoInnerAccess: true}); err != nil || got != "n false" {
				t.Errorf("%v: got %v, %v", body, got, err)
			}
		}
		if _, err := e.PerformAction(t.Context(), "post", "/t/echo", ActionOptions{Body: "text"}); onion.AsError(err).Status != 400 {
			t.Errorf("a body that is a text: got %v", err)
		}
		if _, err := e.PerformAction(t.Context(), "post", "/t/echo", ActionOptions{Body: func() {}}); err == nil {
			t.Error("a body that is a function: want an error")
		}
	})
	t.Run("inherits", func(t *testing.T) {
		res := a.get("/api/t/outer", "x-vona-instance-name: acme", "Accept-Language: de-DE", "X-User: kate", "X-X: not inherited")
		for _, part := range []string{`"ID":"5"`, `"Instance":"=acme"`, `"Locale":"de-DE"`, `"IP":"127.0.0.1"`, `"User":"kate"`, `"X":""`, `"Inner":true`, `"Request":true`} {
			if !strings.Contains(res.body, part) {
				t.Errorf("%s is not in %s", part, res.body)
			}
		}
		if res := a.get("/api/t/other"); !strings.Contains(res.body, `"Instance":"=acme","Locale":"fr","IP":"127.0.0.1"`) {
			t.Errorf("in another instance: %s", res.body)
		}
		// A user of one instance is nobody in another.
		if res := a.get("/api/t/other", "X-User: kate"); strings.Contains(res.body, "kate") {
			t.Errorf("the passport went along to another instance: %s", res.body)
		}
		if res := a.get("/api/t/other", "X-User: kate", "x-vona-instance-name: acme"); !strings.Contains(res.body, "kate") {
			t.Errorf("the passport is lost within one instance: %s", res.body)
		}
	})
	t.Run("dynamic options", func(t *testing.T) {
		for want, onions := range map[int64]map[string]map[string]any{3: nil, 9: {"demo-x:limit": {"limit": 9}}} {
			if got, err := e.PerformAction(t.Context(), "GET", "/t/limited", ActionOptions{Onions: onions}); err != nil || got != want {
				t.Errorf("got %v, %v, want %d", got, err, want)
			}
		}
		off := map[string]map[string]any{"demo-x:limit": {"enable": false}}
		if got, err := Perform[string](t.Context(), e, "GET", "/t/limited", ActionOptions{Onions: off}); err != nil || got != "not reached" {
			t.Errorf("got %v, %v", got, err)
		}
		wrong := map[string]map[string]any{"demo-x:limit": {"limit": "x"}}
		if _, err := e.PerformAction(t.Context(), "GET", "/t/limited", ActionOptions{Onions: wrong}); err == nil || !strings.Contains(err.Error(), "limit") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("errors", func(t *testing.T) {
		for path, want := range map[string]int{"/t/bad": 409, "/t/boom": 500, "/nowhere": 404, "/t/outer/": 404, "/t/%zz": 400} {
			value, err := e.PerformAction(t.Context(), "GET", path, ActionOptions{})
			if err == nil || value != nil || onion.AsError(err).Status != want {
				t.Errorf("%s: got %v, %v, want %d", path, value, err, want)
			}
		}
		_, err := e.PerformAction(t.Context(), "GET", "/t/bad", ActionOptions{})
		if code := onion.AsError(err).Code; code != "demo-x:7" {
			t.Errorf("code %q", code)
		}
		_, err = e.PerformAction(t.Context(), "GET", "/t/boom", ActionOptions{})
		if p := (*PanicError)(nil); !errors.As(err, &p) || p.Value != "boom" {
			t.Errorf("got %v", err)
		}
		if _, err := e.PerformAction(t.Context(), "PUT", "/t/bad", ActionOptions{}); onion.AsError(err).Status != 405 {
			t.Errorf("another method: got %v", err)
		}
		if _, err := e.PerformAction(t.Context(), "GET", "t/bad", ActionOptions{}); err == nil {
			t.Error("a path without slash: want an error")
		}
		if _, err := Perform[int](t.Context(), e, "GET", "//root", ActionOptions{}); err == nil || !strings.Contains(err.Error(), "want int") {
			t.Errorf("another type: got %v", err)
		}
	})
	t.Run("outside the prefix", func(t *testing.T) {
		if got, err := Perform[string](t.Context(), e, "GET", "//root", ActionOptions{}); err != nil || got != "root" {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("instances that are closed", func(t *testing.T) {
		for _, name := range []string{"closed", "unknown"} {
			if _, err := e.NewCtx(t.Context(), CallOptions{Instance: &name}); onion.AsError(err).Status != 423 {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

func echoAction2(ctx context.Context, in *struct {
	Name string `field:"name"`
}) (string, error) {
	if onion.CallFrom(ctx).Inner {
		return in.Name + " true", nil
	}
	return in.Name + " false", nil
}

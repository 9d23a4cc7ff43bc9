package acore

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vonago/vonago/modules/aratelimit"
	"github.com/vonago/vonago/onion"
)

// TestOrder is the order of architecture.md, whatever the order of modules.
func TestOrder(t *testing.T) {
	pass := func(onion.NoOptions, onion.Env) (onion.Wrap, error) {
		return func(next onion.Next) onion.Next { return next }, nil
	}
	instance := onion.Basic{ModuleName: "a-instance", ModuleOnions: []onion.Onion{
		onion.SystemMiddleware("a-instance:instance", onion.NoDefaults, pass, onion.After("a-instance:app")),
		onion.SystemMiddleware("a-instance:app", onion.NoDefaults, pass),
	}}
	for _, modules := range [][]onion.Module{
		{Module(), aratelimit.Module(), instance},
		{instance, aratelimit.Module(), Module()},
		{aratelimit.Module(), Module(), instance},
	} {
		env := onion.NewEnv("test", onion.ModeTest, "", nil, nil)
		if err := onion.Provide[onion.Probe](env, &fakeProbe{}); err != nil {
			t.Fatal(err)
		}
		e, err := onion.Build(onion.Input{Modules: modules, Env: env})
		if err != nil {
			t.Fatal(err)
		}
		for scene, want := range map[onion.Scene][]onion.Name{
			onion.SceneMiddlewareSystem: {
				"a-logger:httpLog", "a-ratelimit:aggregate", "a-core:health", "a-core:notfound", "a-core:overrideMethod",
				"a-instance:app", "a-instance:instance", "a-security:cors", "a-security:securities",
			},
			onion.SceneInterceptor: {"a-ratelimit:rateLimit", "a-body:bodyReq", "a-body:bodyRes"},
			onion.SceneMiddleware:  {"a-core:gate"},
			onion.ScenePipe:        {"a-web:valid"},
			onion.SceneFilter:      {"a-error:error"},
		} {
			if got := e.Order(scene); !slices.Equal(got, want) {
				t.Errorf("%s first: %s: %v, want %v", modules[0].Name(), scene, got, want)
			}
		}
		if w := e.Warnings(); len(w) != 0 {
			t.Errorf("warnings %q", w)
		}
	}
}

func TestNotFound(t *testing.T) {
	run := newApp(t).system("a-core:notfound", nil, answer(onion.Unhandled, nil))
	_, err := run(t.Context(), newCall(http.MethodGet, "/nowhere"))
	wantError(t, err, http.StatusNotFound, "Not Found")

	c := newCall(http.MethodGet, "/nowhere")
	c.WantsJSON = false
	value, err := run(t.Context(), c)
	reply, ok := value.(*onion.Reply)
	if err != nil || !ok || reply.Status != 404 || string(reply.Body) != "<h1>404 Not Found</h1>" || reply.ContentType != contentHTML {
		t.Errorf("HTML: %+v, %v", value, err)
	}

	boom := onion.NewError(http.StatusTeapot, nil)
	for _, inner := range []onion.Next{answer("value", nil), answer(nil, nil), answer(nil, boom)} {
		wantValue, wantErr := inner(t.Context(), nil)
		value, err := newApp(t).system("a-core:notfound", nil, inner)(t.Context(), newCall(http.MethodGet, "/"))
		if value != wantValue || !errors.Is(err, wantErr) {
			t.Errorf("got %v, %v; want %v, %v passed on", value, err, wantValue, wantErr)
		}
	}
}

func TestOverrideMethod(t *testing.T) {
	run := newApp(t).system("a-core:overrideMethod", nil, func(_ context.Context, c *onion.Call) (any, error) { return c.Method, nil })
	tests := []struct {
		method string
		values []string
		want   string // "" is 400
	}{
		{"POST", nil, "POST"},
		{"POST", []string{"PUT"}, "PUT"},
		{"POST", []string{"PATCH"}, "PATCH"},
		{"POST", []string{"DELETE"}, "DELETE"},
		{"POST", []string{" delete "}, "DELETE"},
		{"POST", []string{"PUT", "put"}, "PUT"},
		{"POST", []string{"PUT", "DELETE"}, ""},
		{"POST", []string{"GET"}, ""},
		{"POST", []string{"POST"}, ""},
		{"POST", []string{"OPTIONS"}, ""},
		{"POST", []string{""}, ""},
		{"POST", []string{"DELETE, PUT"}, ""},
		{"GET", []string{"DELETE"}, "GET"},
		{"PUT", []string{"DELETE"}, "PUT"},
		{"OPTIONS", []string{"DELETE"}, "OPTIONS"},
	}
	for _, tt := range tests {
		c := newCall(tt.method, "/")
		for _, v := range tt.values {
			c.Header.Add(headerOverride, v)
		}
		value, err := run(t.Context(), c)
		if tt.want == "" {
			if e := wantError(t, err, http.StatusBadRequest, ""); !strings.Contains(e.Text(), "X-HTTP-Method-Override") {
				t.Errorf("%q does not name the header", e.Text())
			}
			continue
		}
		if err != nil || value != tt.want {
			t.Errorf("%s %q: %v, %v; want %s", tt.method, tt.values, value, err, tt.want)
		}
	}
}

func TestSecurities(t *testing.T) {
	tests := []struct {
		name    string
		options map[string]any
		secure  bool
		want    http.Header
	}{
		{"defaults", nil, false, http.Header{
			"X-Content-Type-Options": {"nosniff"}, "X-Frame-Options": {"SAMEORIGIN"}, "Referrer-Policy": {"strict-origin-when-cross-origin"},
		}},
		{"over TLS", nil, true, http.Header{
			"X-Content-Type-Options": {"nosniff"}, "X-Frame-Options": {"SAMEORIGIN"}, "Referrer-Policy": {"strict-origin-when-cross-origin"},
			"Strict-Transport-Security": {"max-age=31536000"},
		}},
		{"changed", map[string]any{
			"xframe": map[string]any{"value": "DENY"}, "referrerPolicy": map[string]any{"value": "no-referrer"},
			"hsts": map[string]any{"maxAge": 0, "includeSubdomains": true},
		}, true, http.Header{
			"X-Content-Type-Options": {"nosniff"}, "X-Frame-Options": {"DENY"}, "Referrer-Policy": {"no-referrer"},
			"Strict-Transport-Security": {"max-age=0; includeSubDomains"},
		}},
		{"off", map[string]any{
			"nosniff": map[string]any{"enable": false}, "xframe": map[string]any{"enable": false},
			"referrerPolicy": map[string]any{"enable": false}, "hsts": map[string]any{"enable": false},
		}, true, http.Header{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := newApp(t).system("a-security:securities", tt.options, answer(nil, onion.NewError(500, nil)))
			c := newCall(http.MethodGet, "/")
			c.Secure = tt.secure
			_, err := run(t.Context(), c)
			wantError(t, err, 500, "") // an error keeps them
			if len(c.Response.Header) != len(tt.want) {
				t.Errorf("header %v, want %v", c.Response.Header, tt.want)
			}
			for key, values := range tt.want {
				if got := c.Response.Header[key]; !slices.Equal(got, values) {
					t.Errorf("%s: %q, want %q", key, got, values)
				}
			}
		})
	}
	for _, options := range []map[string]any{
		{"xframe": map[string]any{"value": "ALLOW-FROM x"}},
		{"referrerPolicy": map[string]any{"value": "never"}},
		{"hsts": map[string]any{"maxAge": -1}},
		{"hsts": map[string]any{"maxAge": nil}},
		{"csp": map[string]any{}},
	} {
		newApp(t).refused(onion.SceneMiddlewareSystem, "a-security:securities", options)
	}
}

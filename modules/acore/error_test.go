package acore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vonago/vonago/onion"
)

// panicError is an error that brings a stack along, as the executor makes one.
type panicError struct{ text string }

func (e panicError) Error() string { return e.text }
func (e panicError) Stack() []byte { return []byte("goroutine 1 [running]:\nmain.<fault>()") }

func TestErrorJSON(t *testing.T) {
	fields := []onion.FieldError{{Code: "min", Path: []any{"items", 0, "n"}, Message: "must be at least 1"}}
	tests := []struct {
		name   string
		err    error
		status int
		prod   string
		dev    string // if it differs
	}{
		{"internal code", onion.NewError(429, nil), 429, `{"code":429,"message":"Too Many Requests"}`, ""},
		{"cause of a 4xx", onion.NewError(401, errors.New("secret")), 401, `{"code":401,"message":"Unauthorized"}`, ""},
		{"message", &onion.Error{Status: 400, Message: "Problems parsing <JSON>"}, 400, `{"code":400,"message":"Problems parsing <JSON>"}`, ""},
		{"business", onion.BusinessError("demo-student", 1001, 409, "taken"), 409, `{"code":"demo-student:1001","message":"taken"}`, ""},
		{
			"business 500", onion.BusinessError("demo-student", 7, 0, "db down"), 500,
			`{"code":"demo-student:7","message":"Internal Server Error"}`, `{"code":"demo-student:7","message":"db down"}`,
		},
		{"own status of a 5xx", onion.NewError(503, errors.New("secret")), 503, `{"code":503,"message":"Service Unavailable"}`, ""},
		{"any error", errors.New("secret"), 500, `{"code":500,"message":"Internal Server Error"}`, ""},
		{"wrapped", fmt.Errorf("outer: %w", onion.NewError(404, nil)), 404, `{"code":404,"message":"Not Found"}`, ""},
		{"no status of an error", &onion.Error{Status: 200, Message: "fine"}, 500, `{"code":500,"message":"Internal Server Error"}`, ""},
		{
			"validation", onion.ValidationError(fields), 422,
			`{"code":422,"message":"[{\"code\":\"min\",\"path\":[\"items\",0,\"n\"],\"message\":\"must be at least 1\"}]",` +
				`"errors":[{"code":"min","path":["items",0,"n"],"message":"must be at least 1"}]}`, "",
		},
	}
	for _, tt := range tests {
		for _, mode := range []onion.Mode{onion.ModeProd, onion.ModeDev, onion.ModeTest} {
			t.Run(tt.name+" "+string(mode), func(t *testing.T) {
				reply := filtered(t, mode, newCall(http.MethodGet, "/"), tt.err)
				want := tt.prod
				if mode != onion.ModeProd && tt.dev != "" {
					want = tt.dev
				}
				if reply.Status != tt.status || string(reply.Body) != want || reply.ContentType != contentJSON {
					t.Errorf("got %d %s %s\nwant %d %s", reply.Status, reply.ContentType, reply.Body, tt.status, want)
				}
			})
		}
	}
}

// filtered runs the global filters outside any route.
func filtered(t *testing.T, mode onion.Mode, c *onion.Call, err error) *onion.Reply {
	t.Helper()
	a := newApp(t)
	a.mode = mode
	return a.mustBuild().filter(t.Context(), c, err)
}

func (a *testApp) filter(ctx context.Context, c *onion.Call, raised error) *onion.Reply {
	a.t.Helper()
	set, err := a.engine.Set("", false)
	if err != nil {
		a.t.Fatal(err)
	}
	if n := len(set.Filters()); n != 1 {
		a.t.Fatalf("%d filters, want 1", n)
	}
	reply, err := set.Filters()[0](ctx, c, raised)
	if err != nil || reply == nil {
		a.t.Fatalf("reply %v, %v", reply, err)
	}
	return reply
}

func TestErrorHeaders(t *testing.T) {
	for status, cache := range map[int]string{400: "", 401: "", 429: "no-store", 500: "", 503: "no-store"} {
		for _, json := range []bool{true, false} {
			c := newCall(http.MethodGet, "/")
			c.WantsJSON = json
			raised := &onion.Error{Status: status, Header: http.Header{"Retry-After": {"3"}}}
			reply := filtered(t, onion.ModeProd, c, raised)
			want := map[string]string{"Retry-After": "3", "X-Content-Type-Options": "nosniff"}
			if cache != "" {
				want["Cache-Control"] = cache
			}
			wantHeader(t, reply.Header, want)
			if len(raised.Header) != 1 {
				t.Errorf("the error's own header was changed: %v", raised.Header)
			}
		}
	}
}

func TestErrorHTML(t *testing.T) {
	boom := fmt.Errorf("saving <student>: %w", panicError{"the database is on fire"})
	for status, want := range map[int]string{
		429: "<h2>429 Too Many Requests</h2>", 400: "<h2>400 Bad Request</h2>", 503: "<h2>503 Service Unavailable</h2>", 500: "<h2>500 Internal Server Error</h2>",
	} {
		c := newCall(http.MethodGet, "/")
		c.WantsJSON = false
		reply := filtered(t, onion.ModeProd, c, &onion.Error{Status: status, Message: "secret", Cause: boom})
		if reply.Status != status || string(reply.Body) != want || reply.ContentType != contentHTML {
			t.Errorf("%d: %d %s %s, want %s", status, reply.Status, reply.ContentType, reply.Body, want)
		}
	}

	c := newCall(http.MethodPut, "/api/<script>alert(1)</script>", "Authorization", "Bearer tok1", "Cookie", "sid=tok2")
	c.WantsJSON, c.RawQuery, c.Instance = false, "auth_token=tok3", "acme"
	c.Route = &onion.RouteInfo{Raw: "/demo/:id", Bean: "demo-student.controller.student", Action: "save", Where: "student/student.go:12"}
	reply := filtered(t, onion.ModeDev, c, boom)
	page := string(reply.Body)
	if reply.Status != 500 || reply.ContentType != contentHTML {
		t.Errorf("%d %s", reply.Status, reply.ContentType)
	}
	for _, want := range []string{
		"<h1>500 Internal Server Error</h1>", "saving &lt;student&gt;: the database is on fire", "acore.panicError", "PUT",
		"/api/&lt;script&gt;alert(1)&lt;/script&gt;", "acme", "/demo/:id", "demo-student.controller.student:save", "student/student.go:12",
		"main.&lt;fault&gt;()",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, secret := range []string{"<script>alert", "<student>", "tok1", "tok2", "tok3", "auth_token"} {
		if strings.Contains(page, secret) {
			t.Errorf("the page has %q", secret)
		}
	}
	if t.Failed() {
		t.Log(page)
	}

	page = string(filtered(t, onion.ModeDev, c, onion.ValidationError([]onion.FieldError{{Code: "min", Path: []any{"items", 0}, Message: "too few"}})).Body)
	if !strings.Contains(page, "<th>items.0</th><td>too few (min)</td>") || !strings.Contains(page, "none: the error was returned") {
		t.Errorf("validation page:\n%s", page)
	}
}

func TestErrorLog(t *testing.T) {
	boom := panicError{"the database is on fire"}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name  string
		ctx   context.Context
		logs  map[string]any
		err   error
		level string // "" is no line
		stack bool
	}{
		{"5xx", t.Context(), nil, boom, "ERROR", true},
		{"503", t.Context(), nil, onion.NewError(503, nil), "ERROR", false},
		{"4xx", t.Context(), nil, onion.NewError(404, boom), "DEBUG", false},
		{"4xx wanted", t.Context(), map[string]any{"404": true}, onion.NewError(404, nil), "INFO", false},
		{"5xx unwanted", t.Context(), map[string]any{"503": false}, onion.NewError(503, nil), "", false},
		{"5xx wanted", t.Context(), map[string]any{"500": true}, boom, "ERROR", true},
		{"business unwanted", t.Context(), map[string]any{"demo-x:1": false}, onion.BusinessError("demo-x", 1, 500, "no"), "", false},
		{"the client left", gone, nil, fmt.Errorf("query: %w", context.Canceled), "DEBUG", false},
		{"the client left, something else broke", gone, nil, boom, "ERROR", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newApp(t)
			if tt.logs != nil {
				a.onions = map[string]any{"filter": map[string]any{"a-error:error": map[string]any{"logs": tt.logs}}}
			}
			a.mustBuild()
			c := newCall(http.MethodGet, "/api/x", "Authorization", "Bearer tok1")
			c.RawQuery = "auth_token=tok2"
			a.filter(tt.ctx, c, tt.err)
			lines := a.lines()
			if tt.level == "" {
				if len(lines) != 0 {
					t.Errorf("logged %v", lines)
				}
				return
			}
			if len(lines) != 1 || lines[0]["level"] != tt.level {
				t.Fatalf("logged %v, want one line at %s", lines, tt.level)
			}
			line := lines[0]
			if line["error"] != tt.err.Error() || line["path"] != "/api/x" || line["method"] != "GET" {
				t.Errorf("line %v", line)
			}
			if _, ok := line["stack"]; ok != tt.stack {
				t.Errorf("stack %v, want %v", ok, tt.stack)
			}
			if strings.Contains(a.logs.String(), "tok") {
				t.Errorf("a token in %s", a.logs.String())
			}
		})
	}
}

// TestErrorFilterCanBePreceded: an application's own filter sees errors first.
func TestErrorFilterCanBePreceded(t *testing.T) {
	a := newApp(t)
	before := onion.Filter("demo-own:first", onion.NoDefaults, func(onion.NoOptions, onion.Env) (onion.FilterFunc, error) {
		return func(_ context.Context, _ *onion.Call, err error) (*onion.Reply, error) { return nil, err }, nil
	}, onion.Global(), onion.Before("a-error:error"))
	a.more = []onion.Module{onion.Basic{ModuleName: "demo-own", ModuleOnions: []onion.Onion{before}}}
	a.mustBuild()
	if got := a.engine.Order(onion.SceneFilter); len(got) != 2 || got[1] != "a-error:error" {
		t.Errorf("filters %v", got)
	}
}

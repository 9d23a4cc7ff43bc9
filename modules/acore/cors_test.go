package acore

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vonago/vonago/onion"
)

const (
	good     = "https://app.example.com"
	bad      = "https://evil.example"
	exposed  = "RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After"
	standard = "GET, HEAD, PUT, POST, DELETE, PATCH"
)

func list(texts ...any) []any { return texts }

// TestCORS looks at what an answer carries; the inner step fails with a 429, as
// the identity limiter does, which pages of other origins must be able to read.
func TestCORS(t *testing.T) {
	named := map[string]any{"whiteList": list(good, "http://localhost:9000")}
	vary := map[string]string{"Vary": "Origin"}
	tests := []struct {
		name    string
		options map[string]any
		origin  string
		want    map[string]string
	}{
		{"default, no origin", nil, "", vary},
		{"default, other origin", nil, good, vary},
		{"listed", named, good, map[string]string{
			"Vary": "Origin", "Access-Control-Allow-Origin": good, "Access-Control-Expose-Headers": exposed,
		}},
		{"listed, no origin", named, "", vary},
		{"not listed", named, bad, vary},
		{"listed with another port", named, good + ":8443", vary},
		{"begins like a listed one", named, good + ".evil.example", vary},
		{"another scheme", named, "http://app.example.com", vary},
		{"null", named, "null", vary},
		{"any", map[string]any{"whiteList": list("*")}, bad, map[string]string{
			"Vary": "Origin", "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": exposed,
		}},
		{"reflected", map[string]any{"reflect": true}, bad, map[string]string{
			"Vary": "Origin", "Access-Control-Allow-Origin": bad, "Access-Control-Expose-Headers": exposed,
		}},
		{"credentials", map[string]any{"whiteList": list(good), "credentials": true, "exposeHeaders": list("X-A", "X-B")}, good, map[string]string{
			"Vary": "Origin", "Access-Control-Allow-Origin": good, "Access-Control-Allow-Credentials": "true",
			"Access-Control-Expose-Headers": "X-A, X-B",
		}},
		{"credentials, not listed", map[string]any{"whiteList": list(good), "credentials": true}, bad, vary},
		{"nothing exposed", map[string]any{"whiteList": list(good), "exposeHeaders": list()}, good, map[string]string{
			"Vary": "Origin", "Access-Control-Allow-Origin": good,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := newApp(t).system("a-security:cors", tt.options, answer(nil, onion.NewError(429, nil)))
			c := newCall(http.MethodGet, "/")
			if tt.origin != "" {
				c.Header.Set("Origin", tt.origin)
			}
			_, err := run(t.Context(), c)
			wantError(t, err, 429, "")
			wantHeader(t, c.Response.Header, tt.want)
		})
	}
}

func TestCORSPreflight(t *testing.T) {
	named := map[string]any{"whiteList": list(good), "credentials": true, "maxAge": 600}
	fixed := map[string]any{"whiteList": list(good), "allowMethods": list("GET"), "allowHeaders": list("X-A", "X-B"), "maxAge": 0}
	tests := []struct {
		name            string
		options         map[string]any
		origin, headers string
		want            map[string]string
	}{
		{"listed", named, good, "content-type,x-a", map[string]string{
			"Vary": "Origin, Access-Control-Request-Headers", "Access-Control-Allow-Origin": good,
			"Access-Control-Allow-Credentials": "true", "Access-Control-Allow-Methods": standard,
			"Access-Control-Allow-Headers": "content-type,x-a", "Access-Control-Max-Age": "600",
		}},
		{"no headers asked", named, good, "", map[string]string{
			"Vary": "Origin, Access-Control-Request-Headers", "Access-Control-Allow-Origin": good,
			"Access-Control-Allow-Credentials": "true", "Access-Control-Allow-Methods": standard, "Access-Control-Max-Age": "600",
		}},
		{"fixed", fixed, good, "x-z", map[string]string{
			"Vary": "Origin", "Access-Control-Allow-Origin": good, "Access-Control-Allow-Methods": "GET",
			"Access-Control-Allow-Headers": "X-A, X-B", "Access-Control-Max-Age": "0",
		}},
		{"not listed", named, bad, "x-a", map[string]string{"Vary": "Origin"}},
		{"default", nil, good, "x-a", map[string]string{"Vary": "Origin"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := newApp(t).system("a-security:cors", tt.options, func(context.Context, *onion.Call) (any, error) {
				t.Error("a preflight went on")
				return nil, nil
			})
			c := newCall(http.MethodOptions, "/", "Origin", tt.origin, "Access-Control-Request-Method", "PUT")
			if tt.headers != "" {
				c.Header.Set("Access-Control-Request-Headers", tt.headers)
			}
			value, err := run(t.Context(), c)
			reply, ok := value.(*onion.Reply)
			if err != nil || !ok || reply.Status != http.StatusNoContent || len(reply.Body) != 0 {
				t.Fatalf("got %v, %v; want a bare 204", value, err)
			}
			wantHeader(t, c.Response.Header, tt.want)
		})
	}
}

func TestCORSOptionsWithoutPreflight(t *testing.T) {
	run := newApp(t).system("a-security:cors", map[string]any{"whiteList": list(good)}, answer("on", nil))
	for _, c := range []*onion.Call{
		newCall(http.MethodOptions, "/"),
		newCall(http.MethodOptions, "/", "Origin", good),
		newCall(http.MethodOptions, "/", "Access-Control-Request-Method", "PUT"),
		newCall(http.MethodGet, "/", "Origin", good, "Access-Control-Request-Method", "PUT"),
	} {
		if value, err := run(t.Context(), c); value != "on" || err != nil {
			t.Errorf("%s %v: %v, %v; want it to go on", c.Method, c.Header, value, err)
		}
	}
}

func TestCORSRefuses(t *testing.T) {
	for _, tt := range []struct {
		options map[string]any
		want    string
	}{
		{map[string]any{"whiteList": list("*"), "credentials": true}, "credentials: must not be on"},
		{map[string]any{"reflect": true, "credentials": true}, "credentials: must not be on"},
		{map[string]any{"whiteList": list("*", good)}, "must stand alone"},
		{map[string]any{"whiteList": list("app.example.com")}, "no origin"},
		{map[string]any{"whiteList": list("https://app.example.com/")}, "no origin"},
		{map[string]any{"whiteList": list("https://App.example.com")}, "no origin"},
		{map[string]any{"whiteList": list("https://user@app.example.com")}, "no origin"},
		{map[string]any{"whiteList": list("https://app.example.com:443")}, "own port"},
		{map[string]any{"whiteList": list("https://*.example.com")}, "no pattern"},
		{map[string]any{"whiteList": list("null")}, "no origin"},
		{map[string]any{"whiteList": list("")}, "no origin"},
		{map[string]any{"whiteList": "*"}, "want a list"},
		{map[string]any{"maxAge": -1}, "want 0 to 86400"},
		{map[string]any{"origin": list(good)}, "unknown option"},
	} {
		got := newApp(t).refused(onion.SceneMiddlewareSystem, "a-security:cors", tt.options)
		if !strings.Contains(got, tt.want) || !strings.Contains(got, "a-security:cors") || !strings.Contains(got, "application config") {
			t.Errorf("%v: %q, want onion, layer and %q", tt.options, got, tt.want)
		}
	}
}

// wantHeader compares all fields; several lines of one are joined.
func wantHeader(t *testing.T, header http.Header, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(header)) {
		got[key] = strings.Join(header[key], ", ")
	}
	if !maps.Equal(got, want) {
		t.Errorf("header\n%v, want\n%v", got, want)
	}
}

package testapp

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/onion"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s (go test -update writes it anew); got\n%s", path, got)
	}
}

func routeTable(a *app.App) string {
	var b strings.Builder
	for _, r := range a.Routes() {
		fmt.Fprintf(&b, "%-6s %-34s raw %-30s %s:%s (%v) %v\n", r.Method, r.Path, r.Raw, r.Bean, r.Action, r.Handler.In, r.Handler.Out)
	}
	return b.String()
}

func TestRouteTable(t *testing.T) {
	a, _ := Build(t, Setup{Environ: []string{"REDIS_DEFAULT_HOST=127.0.0.1"}})
	golden(t, "routes.golden", routeTable(a))
}

// TestCodeAndTagsAreOne builds the application with its controller declared by
// tags and by code, and compares all that declarations decide: the routes, and
// for every route the onions and what each layer says of their options.
func TestCodeAndTagsAreOne(t *testing.T) {
	environ := []string{"REDIS_DEFAULT_HOST=127.0.0.1"}
	tags, _ := Build(t, Setup{Environ: environ})
	code, _ := Build(t, Setup{Environ: environ, Coded: true})
	if a, b := routeTable(tags), routeTable(code); a != b {
		t.Errorf("by tags\n%s\nby code\n%s", a, b)
	}
	for i, route := range tags.Routes() {
		a, b := policies(t, tags, route), policies(t, code, code.Routes()[i])
		if a != b {
			t.Errorf("%s by tags\n%s\nby code\n%s", route, a, b)
		}
		if strings.HasSuffix(route.Path, "/limited") && !strings.Contains(a, "rateLimit.limit = 3 (action)") {
			t.Errorf("the policies of %s are not compared:\n%s", route, a)
		}
	}
}

// policies is what is in force at a route, without the places in the source.
func policies(t *testing.T, a *app.App, route *onion.RouteInfo) string {
	t.Helper()
	e, err := a.Explain(t.Context(), route, "")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, o := range e.Onions {
		fmt.Fprintf(&b, "%s %s global %v active %v\n", o.Scene, o.Name, o.Global, o.Active)
		for _, opt := range o.Options {
			fmt.Fprintf(&b, "  %s = %v (%v)\n", opt.Path, opt.Value, opt.Layer)
		}
	}
	return b.String()
}

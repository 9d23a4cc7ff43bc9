package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/instance"
)

// TestInspect compares what inspect prints, and that no secret is in it.
func TestInspect(t *testing.T) {
	for _, tc := range []struct {
		golden string
		args   []string
	}{
		{"routes.golden", []string{"routes"}},
		{"routes-json.golden", []string{"routes", "--json"}},
		{"onions.golden", []string{"onions"}},
		{"instances.golden", []string{"instances"}},
		{"instances-json.golden", []string{"--json", "instances"}},
		{"config.golden", []string{"config"}},
		{"config-json.golden", []string{"config", "server", "--json"}},
		{"config-acme.golden", []string{"config", "onions.interceptor", "--instance", "acme"}},
		{"config-one.golden", []string{"config", "server.keys[1]"}},
		{"route.golden", []string{"route", "GET /api/demo/shop/items/:id"}},
		{"route-acme.golden", []string{"route", "get", "/api/demo/shop/items/1?x=y", "--instance", "acme"}},
		{"route-acme-json.golden", []string{"route", "GET /api/demo/shop/items/2", "--instance=acme", "--json"}},
		{"route-code.golden", []string{"route", "GET /api/demo/shop/orders/list", "--instance", "acme"}},
		{"route-closed.golden", []string{"route", "GET /api/demo/shop/orders/list", "--instance", "closed"}},
	} {
		p, _, _ := program(t)
		code, out, log := run(t, p, append([]string{"inspect"}, tc.args...)...)
		if code != 0 || log != "" {
			t.Errorf("%q: exit code %d, %s", tc.args, code, log)
		}
		for _, secret := range []string{"hunter", "the-first-key", "the-second-key"} {
			if strings.Contains(out, secret) {
				t.Errorf("%q prints the secret %s", tc.args, secret)
			}
		}
		if strings.Contains(tc.golden, "json") && !json.Valid([]byte(out)) {
			t.Errorf("%q prints no JSON", tc.args)
		}
		golden(t, tc.golden, out)
	}
}

// TestInspectRefuses says what is wrong with a command line (exit code 2) and what
// is not there (1).
func TestInspectRefuses(t *testing.T) {
	for _, tc := range []struct {
		args string
		code int
		want string
	}{
		{"inspect", 2, "inspect what? One of routes, onions, route, config, instances"},
		{"inspect everything", 2, `cannot inspect "everything"`},
		{"inspect routes x", 2, "too many arguments"},
		{"inspect onions --instance acme", 2, "--instance means nothing"},
		{"inspect route", 2, "wants a method and a path"},
		{"inspect route /api/demo/shop/items/:id", 2, "wants a method and a path"},
		{"inspect route POST /api/demo/shop/items/:id", 1, "no route POST /api/demo/shop/items/:id; the path has GET"},
		{"inspect route GET /api/nowhere", 1, "no route GET /api/nowhere; inspect routes lists them all"},
		{"inspect route GET /api/demo/shop/items/1 --instance nobody", 1, `unknown instance "nobody", known are: "", "acme", "closed"`},
		{"inspect config a..b", 2, "empty step"},
		{"inspect config nothing.here", 1, "the configuration says nothing at nothing.here"},
		{"check --json", 2, "only inspect takes --json and --instance"},
		{"serve --instance acme", 2, "only inspect takes --json and --instance"},
	} {
		p, _, _ := program(t)
		code, out, log := run(t, p, strings.Fields(tc.args)...)
		if code != tc.code || !strings.Contains(log, tc.want) || out != "" {
			t.Errorf("%s: exit code %d, want %d, with %q; got %s%s", tc.args, code, tc.code, tc.want, log, out)
		}
	}
}

// brokenStore is a store that is away.
type brokenStore struct{}

var errAway = errors.New("the store is away")

func (brokenStore) Find(context.Context, string) (*instance.Record, error) { return nil, errAway }

func (brokenStore) Register(context.Context, instance.Record) (*instance.Record, error) {
	return nil, errAway
}

// TestInspectWithoutTheStore says what it can when the store cannot be asked.
func TestInspectWithoutTheStore(t *testing.T) {
	p, _, _ := program(t)
	p.Options = []app.Option{app.WithStore(brokenStore{})}
	code, out, log := run(t, p, "inspect", "route", "GET /api/demo/shop/items/1", "--instance", "acme")
	if code != 0 || !strings.Contains(out, "the store is away") || !strings.Contains(out, "token = ***  (config/instances/acme.yaml:7)") {
		t.Errorf("exit code %d, %s\n%s", code, log, out)
	}
}

// awayEditor is a store of records that can be listed, but is away.
type awayEditor struct{ *instance.MemoryStore }

func (awayEditor) List(context.Context) ([]*instance.Record, error) { return nil, errAway }

// TestInspectStoredInstances lists those that only have a record, and does without a store that cannot be asked.
func TestInspectStoredInstances(t *testing.T) {
	p, _, _ := program(t)
	store := instance.NewMemoryStore()
	for _, rec := range []instance.Record{{Name: "beta", ID: 9, Title: "Beta", Disabled: true}, {Name: "acme", ID: 8, Title: "Stored", Disabled: true}, {Name: "", ID: 1, Title: "First", Isolate: true}} {
		if _, err := store.Put(rec); err != nil {
			t.Fatal(err)
		}
	}
	p.Options = []app.Option{app.WithStore(store)}
	code, out, log := run(t, p, "inspect", "instances")
	if code != 0 || !strings.Contains(out, "\n\"beta\", id 9, Beta, disabled  (a record)\n\"closed\"") || !strings.Contains(out, "\"acme\", id 8, Acme, disabled  (config/instances/acme.yaml)") ||
		!strings.Contains(out, "\"\", id 1, First, isolated  (config/instances/default.yaml)") {
		t.Errorf("exit code %d, %s\n%s", code, log, out)
	}
	p.Options = []app.Option{app.WithStore(awayEditor{store})}
	code, out, log = run(t, p, "inspect", "instances")
	if code != 0 || !strings.Contains(out, "acme.yaml") || strings.Contains(out, "beta") || !strings.Contains(log, "the store is away") {
		t.Errorf("exit code %d, %s\n%s", code, log, out)
	}
}

// TestExplainOutlivesItsRoutes explains a route that was found before a reload.
func TestExplainOutlivesItsRoutes(t *testing.T) {
	program(t)
	cfg, err := config.Load(config.Options{Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(cfg, modules(), app.WithLogOutput(&output{}))
	if err != nil {
		t.Fatal(err)
	}
	route := a.Routes()[1]
	if err := a.Reload(cfg); err != nil {
		t.Fatal(err)
	}
	ex, err := a.Explain(t.Context(), route, "")
	if err != nil || ex.Action != "demo-shop.controller.orders:list" {
		t.Errorf("got %+v, %v", ex, err)
	}
	if _, err := a.Explain(t.Context(), route, "nobody"); !errors.Is(err, instance.ErrUnknown) {
		t.Errorf("an unknown instance: %v", err)
	}
}

package passport

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/vonago/vonago/onion"
)

// harness is a built application whose routes run their guards and answer with the caller's subject. It stands in for
// the executor, which is built on top of this package.
type harness struct {
	t      testing.TB
	engine *onion.Engine
	set    *onion.Set
	tokens *Tokens
	log    *bytes.Buffer
}

type harnessConfig struct {
	clock    onion.Clock
	edit     func(*Config)
	app      map[string]any // onions.guard of application config
	instance map[string]any // onions.guard of instance config
	modules  []onion.Module
	routes   []onion.Route
	uses     []onion.Use // of the controller
}

type routes struct {
	uses []onion.Use
	list []onion.Route
}

func (r routes) Controller() onion.Controller {
	return onion.Controller{Name: "student", Path: "student", Uses: r.uses, Routes: r.list}
}

func subject(ctx context.Context, _ *onion.Empty) (string, error) { return Current(ctx).Subject(), nil }

// route is an action of the same name at that path.
func route(name string, uses ...onion.Use) onion.Route {
	return onion.Get(name, name, subject, uses...)
}

func tryHarness(t testing.TB, cfg harnessConfig) (*harness, error) {
	t.Helper()
	h := &harness{t: t, log: &bytes.Buffer{}}
	if cfg.clock == nil {
		cfg.clock = testNow
	}
	env := testEnv(slog.New(slog.NewJSONHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})), cfg.clock)
	m := Module()
	m.Settings.Stateless = true
	if cfg.edit != nil {
		cfg.edit(&m.Settings)
	}
	if err := onion.Provide(env, Keys{testKey}); err != nil {
		t.Fatal(err)
	}
	demo := onion.Basic{ModuleName: "demo-student", ModuleControllers: []onion.Declaration{onion.Code(routes{cfg.uses, cfg.routes})}}
	modules := append([]onion.Module{m, demo}, cfg.modules...)
	for _, mod := range modules {
		if p, ok := mod.(onion.Provider); ok {
			if err := p.Provide(env); err != nil {
				return nil, err
			}
		}
	}
	var err error
	if h.tokens, err = onion.Service[*Tokens](env); err != nil {
		t.Fatal(err)
	}
	settings := func(kind onion.LayerKind, label string, guard map[string]any) onion.Settings {
		s := onion.Settings{Kind: kind, Label: label}
		if guard != nil {
			s.Onions = map[string]any{"guard": guard}
		}
		return s
	}
	h.engine, err = onion.Build(onion.Input{
		Modules: modules, Env: env, Assemble: assembleGuards,
		App: settings(onion.LayerApp, "application config", cfg.app),
	})
	if err != nil {
		return nil, err
	}
	h.set, err = h.engine.Set("acme", false, settings(onion.LayerInstance, "instance acme", cfg.instance))
	if err != nil {
		return nil, err
	}
	for _, r := range h.engine.Routes() { // builds
		if _, err := h.set.Chain(r); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func newHarness(t testing.TB, cfg harnessConfig) *harness {
	t.Helper()
	h, err := tryHarness(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// assembleGuards runs guards as the executor does.
func assembleGuards(r *onion.RouteInfo, steps *onion.Steps) (onion.Next, error) {
	return func(ctx context.Context, c *onion.Call) (any, error) {
		for _, guard := range steps.Guards {
			verdict, err := guard(ctx, c)
			switch {
			case err != nil:
				return nil, err
			case verdict == onion.Refuse:
				return nil, Forbidden(c, nil)
			}
			if verdict == onion.Enough {
				break
			}
		}
		return r.Handler.Invoke(ctx, r.Handler.New())
	}, nil
}

// call runs a route for a call; the answer is "<subject>", or the status and message of the error.
func (h *harness) call(action string, c *onion.Call) string {
	h.t.Helper()
	answer, err := h.run(action, c)
	if err == nil {
		return answer
	}
	var e *onion.Error
	if !errors.As(err, &e) {
		h.t.Fatalf("%s: %v (%T) is no onion.Error", action, err, err)
	}
	return http.StatusText(e.Status) + suffix(e.Message) + suffix(e.Header.Get("WWW-Authenticate"))
}

func suffix(text string) string {
	if text == "" {
		return ""
	}
	return "; " + text
}

func (h *harness) run(action string, c *onion.Call) (string, error) {
	h.t.Helper()
	for _, r := range h.engine.Routes() {
		if r.Action != action {
			continue
		}
		chain, err := h.set.Chain(r)
		if err != nil {
			h.t.Fatal(err)
		}
		c.Route = r
		if c.Header == nil {
			c.Header = http.Header{}
		}
		v, err := chain.Run(onion.WithCall(h.t.Context(), c), c)
		if err != nil {
			return "", err
		}
		return v.(string), nil
	}
	h.t.Fatalf("no route %q", action)
	return "", nil
}

func bearerCall(token string, headers ...string) *onion.Call {
	c := &onion.Call{Header: http.Header{"Authorization": {"Bearer " + token}}}
	for i := 0; i < len(headers); i += 2 {
		c.Header.Set(headers[i], headers[i+1])
	}
	return c
}

// wantErrors builds and wants each text in the error.
func wantErrors(t *testing.T, cfg harnessConfig, texts ...string) {
	t.Helper()
	_, err := tryHarness(t, cfg)
	if err == nil {
		t.Fatal("it started")
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not in: %v", text, err)
		}
	}
}

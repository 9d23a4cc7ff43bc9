package acore

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/onion"
)

// testApp is an application of this module and the routes of one controller.
type testApp struct {
	t      *testing.T
	mode   onion.Mode
	flavor string
	probe  onion.Probe
	logs   *lockedBuffer
	clock  *stepClock
	onions map[string]any // the section of application config
	routes []onion.Route
	more   []onion.Module

	env    onion.Env
	engine *onion.Engine
	steps  *onion.Steps // of the first route
}

func newApp(t *testing.T) *testApp {
	return &testApp{t: t, mode: onion.ModeProd, probe: &fakeProbe{started: true}, logs: &lockedBuffer{}, clock: &stepClock{step: time.Millisecond}}
}

// build builds the application and returns what is wrong with it.
func (a *testApp) build() error {
	a.t.Helper()
	logger := slog.New(slog.NewJSONHandler(a.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	a.env = onion.NewEnv("test", a.mode, a.flavor, logger, a.clock)
	core := Module()
	if err := core.(onion.Provider).Provide(a.env); err != nil {
		a.t.Fatal(err)
	}
	if a.probe != nil {
		if err := onion.Provide(a.env, a.probe); err != nil {
			a.t.Fatal(err)
		}
	}
	mine := onion.Basic{ModuleName: "demo-test"}
	if a.routes != nil {
		mine.ModuleControllers = []onion.Declaration{onion.Code(a)}
	}
	var err error
	a.engine, err = onion.Build(onion.Input{
		Modules: append(a.more, core, mine), Env: a.env,
		App: onion.Settings{Kind: onion.LayerApp, Label: "application config", Onions: a.section()},
		Assemble: func(_ *onion.RouteInfo, s *onion.Steps) (onion.Next, error) {
			a.steps = s
			return func(context.Context, *onion.Call) (any, error) { return nil, nil }, nil
		},
	})
	if err != nil {
		return err
	}
	set, err := a.engine.Set("", false)
	if err != nil {
		return err
	}
	if a.routes != nil {
		_, err = set.Chain(a.engine.Routes()[0])
	}
	return err
}

func (a *testApp) section() any {
	if a.onions == nil {
		return nil
	}
	return a.onions
}

// Controller makes the test's routes a controller.
func (a *testApp) Controller() onion.Controller {
	return onion.Controller{Name: "test", Routes: a.routes}
}

func (a *testApp) mustBuild() *testApp {
	a.t.Helper()
	if err := a.build(); err != nil {
		a.t.Fatalf("build: %v", err)
	}
	return a
}

// system configures one system middleware and puts it around inner.
func (a *testApp) system(name onion.Name, options map[string]any, inner onion.Next) onion.Next {
	a.t.Helper()
	if options != nil {
		a.onions = map[string]any{"middlewareSystem": map[string]any{string(name): options}}
	}
	a.mustBuild()
	for _, s := range a.engine.System() {
		if s.Name == name {
			return s.Wrap(inner)
		}
	}
	a.t.Fatalf("%s is not in the system chain", name)
	return nil
}

// refused builds with options that must not be accepted, and returns the error.
func (a *testApp) refused(scene onion.Scene, name onion.Name, options map[string]any) string {
	a.t.Helper()
	a.onions = map[string]any{string(scene): map[string]any{string(name): options}}
	err := a.build()
	if err == nil {
		a.t.Fatalf("%v was accepted", options)
	}
	return err.Error()
}

// lines are the log lines so far.
func (a *testApp) lines() []map[string]any {
	a.t.Helper()
	var lines []map[string]any
	for text := range strings.Lines(a.logs.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			a.t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

func newCall(method, path string, header ...string) *onion.Call {
	c := &onion.Call{Method: method, Path: path, Header: http.Header{}, WantsJSON: true}
	for i := 0; i < len(header); i += 2 {
		c.Header.Add(header[i], header[i+1])
	}
	return c
}

// answer is an inner step that always gives the same.
func answer(value any, err error) onion.Next {
	return func(context.Context, *onion.Call) (any, error) { return value, err }
}

// written is an inner step after which a response of that status was sent.
func written(status int) onion.Next {
	return func(_ context.Context, c *onion.Call) (any, error) {
		c.Response.Written = onion.Written{Status: status, Bytes: 7}
		return nil, nil
	}
}

func wantError(t *testing.T, err error, status int, message string) *onion.Error {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %d", status)
	}
	e := onion.AsError(err)
	if e.Status != status || message != "" && e.Text() != message {
		t.Fatalf("got %d %q, want %d %q", e.Status, e.Text(), status, message)
	}
	return e
}

// stepClock goes on by a step each time it is asked.
type stepClock struct {
	mu   sync.Mutex
	at   time.Time
	step time.Duration
}

func (c *stepClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(c.step)
	return c.at
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

type fakeProbe struct {
	started, draining bool
	checks            []onion.ReadyCheck
}

func (p *fakeProbe) Started() bool              { return p.started }
func (p *fakeProbe) Draining() bool             { return p.draining }
func (p *fakeProbe) Checks() []onion.ReadyCheck { return p.checks }

type readyFunc func(ctx context.Context) error

func (f readyFunc) Ready(ctx context.Context) error { return f(ctx) }

package instance_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
)

// files are written below the test's own working directory, so that messages
// name short paths.
type files map[string]string

func load(t *testing.T, f files) *config.Config {
	t.Helper()
	return loadFor(t, f)
}

func loadFor(t testing.TB, f files) *config.Config {
	t.Helper()
	t.Chdir(t.TempDir())
	return reload(t, f)
}

func reload(t testing.TB, f files) *config.Config {
	t.Helper()
	if err := os.RemoveAll("config"); err != nil {
		t.Fatal(err)
	}
	if _, ok := f["config.yaml"]; !ok {
		f["config.yaml"] = ""
	}
	for name, text := range f {
		path := filepath.Join("config", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(config.Options{Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// limitOptions are those of the one onion of the tests' engine: an interceptor
// that answers with its limit.
type limitOptions struct {
	Limit int64 `json:"limit" range:"1..1000"`
}

var limitOnion = onion.Interceptor("test-tenant:limit", func() limitOptions { return limitOptions{Limit: 1} },
	func(o limitOptions, _ onion.Env) (onion.Wrap, error) {
		return func(onion.Next) onion.Next {
			return func(context.Context, *onion.Call) (any, error) { return o.Limit, nil }
		}, nil
	}, onion.Global())

// otherOnion gives configuration of a system middleware something to refuse.
var otherOnion = onion.SystemMiddleware("test-tenant:system", onion.NoDefaults,
	func(onion.NoOptions, onion.Env) (onion.Wrap, error) {
		return func(next onion.Next) onion.Next { return next }, nil
	})

type routes struct{}

func (routes) Controller() onion.Controller {
	action := func(context.Context, *onion.Empty) (string, error) { return "", nil }
	return onion.Controller{Name: "tenant", Path: "tenant", Routes: []onion.Route{onion.Get("one", "one", action)}}
}

func engineOf(t *testing.T, app *config.Tree) (*onion.Engine, *instance.State) {
	t.Helper()
	env := onion.NewEnv("test", onion.ModeTest, "", slog.New(slog.DiscardHandler), nil)
	modules := []onion.Module{instance.Module(), onion.Basic{
		ModuleName: "test-tenant", ModuleOnions: []onion.Onion{limitOnion, otherOnion}, ModuleControllers: []onion.Declaration{onion.Code(routes{})},
	}}
	state := &instance.State{}
	if err := onion.Provide(env, state); err != nil {
		t.Fatal(err)
	}
	onions, _ := app.Get("onions")
	e, err := onion.Build(onion.Input{
		Modules: modules, Env: env, Prefix: "/api",
		App: onion.Settings{Kind: onion.LayerApp, Label: "application config", Onions: onions},
		Assemble: func(_ *onion.RouteInfo, steps *onion.Steps) (onion.Next, error) {
			return onion.Compose(steps.Interceptors, func(context.Context, *onion.Call) (any, error) { return int64(0), nil }), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e, state
}

// fixture is a manager on an engine.
type fixture struct {
	*instance.Manager
	cfg    instance.Config
	engine *onion.Engine
	log    *logBuffer
}

func configOf(t *testing.T, c *config.Config, sections ...string) (instance.Config, *onion.Engine) {
	t.Helper()
	statics, err := instance.Statics(c.Tree, c.Instances(), sections...)
	if err != nil {
		t.Fatal(err)
	}
	e, _ := engineOf(t, c.Tree)
	return instance.Config{App: c.Tree, Statics: statics, Sections: sections, NewSet: e.Set}, e
}

func newFixture(t *testing.T, c *config.Config, opts instance.Options) *fixture {
	t.Helper()
	log := &logBuffer{}
	opts.Logger = slog.New(slog.NewTextHandler(log, nil))
	cfg, e := configOf(t, c, "modules.test-tenant")
	m, err := instance.NewManager(cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{Manager: m, cfg: cfg, engine: e, log: log}
}

func (f *fixture) lookup(t *testing.T, name string) *instance.Instance {
	t.Helper()
	inst, err := f.Lookup(t.Context(), name)
	if err != nil {
		t.Fatalf("Lookup(%q): %v", name, err)
	}
	return inst
}

// limit is the limit in force at the engine's route for an instance.
func (f *fixture) limit(t *testing.T, inst *instance.Instance) int64 {
	t.Helper()
	chain, err := inst.Set.Chain(f.engine.Routes()[0])
	if err != nil {
		t.Fatal(err)
	}
	value, err := chain.Run(t.Context(), &onion.Call{})
	if err != nil {
		t.Fatal(err)
	}
	return value.(int64)
}

// wantLimit looks an instance up and compares the limit in force.
func (f *fixture) wantLimit(t *testing.T, name string, want int64) {
	t.Helper()
	if got := f.limit(t, f.lookup(t, name)); got != want {
		t.Errorf("the limit of %q is %d, want %d", name, got, want)
	}
}

func limitYAML(indent, limit string) string {
	text := "onions:\n  interceptor:\n    \"test-tenant:limit\":\n      limit: " + limit + "\n"
	return indent + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+indent) + "\n"
}

func limitJSON(limit string) []byte {
	return []byte(`{"onions":{"interceptor":{"test-tenant:limit":{"limit":` + limit + `}}}}`)
}

// logBuffer is what was logged so far.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// countingStore counts what a store is asked, can fail, and can hold its answers
// back.
type countingStore struct {
	instance.Store
	mu        sync.Mutex
	finds     int
	registers int
	pending   int
	most      int // the most questions at once
	err       error
	hold      chan struct{} // answers wait for it, and not for their context
}

func (s *countingStore) enter(count *int) (hold chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*count++
	s.pending++
	s.most = max(s.most, s.pending)
	return s.hold, s.err
}

func (s *countingStore) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending--
}

func (s *countingStore) Find(ctx context.Context, name string) (*instance.Record, error) {
	hold, err := s.enter(&s.finds)
	defer s.leave()
	if hold != nil {
		<-hold
	}
	if err != nil {
		return nil, err
	}
	return s.Store.Find(ctx, name)
}

func (s *countingStore) Register(ctx context.Context, rec instance.Record) (*instance.Record, error) {
	_, err := s.enter(&s.registers)
	defer s.leave()
	if err != nil {
		return nil, err
	}
	return s.Store.Register(ctx, rec)
}

func (s *countingStore) set(err error, hold chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.hold = err, hold
}

func (s *countingStore) counts() (finds, registers, pending, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finds, s.registers, s.pending, s.most
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 5 s: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// wantLines compares an error's lines.
func wantLines(t *testing.T, err error, want ...string) {
	t.Helper()
	var got []string
	if err != nil {
		got = strings.Split(err.Error(), "\n")
	}
	if !slices.Equal(got, want) {
		t.Errorf("errors:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// slowReader reads at once and answers late: what it says may be old by then.
type slowReader struct {
	*instance.MemoryStore
	hold chan struct{}
}

func (s slowReader) Find(ctx context.Context, name string) (*instance.Record, error) {
	rec, err := s.MemoryStore.Find(ctx, name)
	<-s.hold
	return rec, err
}

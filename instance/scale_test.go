package instance_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
)

// manyRoutes is a controller with n routes; every tenth says something of the limit.
type manyRoutes int

func (n manyRoutes) Controller() onion.Controller {
	action := func(context.Context, *onion.Empty) (string, error) { return "", nil }
	c := onion.Controller{Name: "many", Path: "many"}
	for i := range int(n) {
		var uses []onion.Use
		if i%10 == 0 {
			uses = append(uses, limitOnion.Use(limitOptions{Limit: int64(1 + i%7)}))
		}
		c.Routes = append(c.Routes, onion.Get(fmt.Sprint("action", i), fmt.Sprint("path", i, "/:id"), action, uses...))
	}
	return c
}

// crowd are the onions that an application has besides: ten interceptors and guards with options of their own.
func crowd() []onion.Onion {
	list := []onion.Onion{limitOnion, otherOnion}
	for i := range 8 {
		list = append(list, onion.Interceptor(fmt.Sprint("test-tenant:crowd", i), func() limitOptions { return limitOptions{Limit: 1} },
			func(limitOptions, onion.Env) (onion.Wrap, error) {
				return func(next onion.Next) onion.Next { return next }, nil
			}, onion.Global()))
	}
	for i := range 4 {
		list = append(list, onion.Guard(fmt.Sprint("test-tenant:guard", i), func() limitOptions { return limitOptions{Limit: 1} },
			func(limitOptions, onion.Env) (onion.CheckFunc, error) {
				return func(context.Context, *onion.Call) (onion.Verdict, error) { return onion.Pass, nil }, nil
			}, onion.Global()))
	}
	return list
}

// scaleYAML states n instances, every tenth of which overrides the limit with a value of its own.
func scaleYAML(n int) string {
	var b strings.Builder
	b.WriteString("instance:\n  instances:\n    \"\": {title: Default}\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "    tenant%d:\n      title: Tenant %d\n", i, i)
		if i%10 == 0 {
			fmt.Fprintf(&b, "      config:\n%s", limitYAML("        ", fmt.Sprint(1+i%1000)))
		}
	}
	return b.String()
}

// startScale is what a start does with configuration, routes and instances.
func startScale(tb testing.TB, c *config.Config, routes int, store instance.Store) (*instance.Manager, *onion.Engine) {
	tb.Helper()
	statics, err := instance.Statics(c.Tree, c.Instances())
	if err != nil {
		tb.Fatal(err)
	}
	env := onion.NewEnv("test", onion.ModeTest, "", slog.New(slog.DiscardHandler), nil)
	if err := onion.Provide(env, &instance.State{}); err != nil {
		tb.Fatal(err)
	}
	modules := []onion.Module{instance.Module(), onion.Basic{
		ModuleName: "test-tenant", ModuleOnions: crowd(), ModuleControllers: []onion.Declaration{onion.Code(manyRoutes(routes))},
	}}
	e, err := onion.Build(onion.Input{
		Modules: modules, Env: env, Prefix: "/api",
		App: onion.Settings{Kind: onion.LayerApp, Label: "application config"},
		Assemble: func(_ *onion.RouteInfo, steps *onion.Steps) (onion.Next, error) {
			return onion.Compose(steps.Interceptors, func(context.Context, *onion.Call) (any, error) { return int64(0), nil }), nil
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	m, err := instance.NewManager(instance.Config{App: c.Tree, Statics: statics, NewSet: e.Set}, instance.Options{Store: store})
	if err != nil {
		tb.Fatal(err)
	}
	return m, e
}

var scales = []struct{ routes, instances int }{{1, 1}, {100, 100}, {1000, 1000}}

func BenchmarkStart(b *testing.B) {
	for _, s := range scales {
		b.Run(fmt.Sprintf("%dx%d", s.routes, s.instances), func(b *testing.B) {
			c := loadScale(b, s.instances)
			b.ReportAllocs()
			for b.Loop() {
				startScale(b, c, s.routes, nil)
			}
		})
	}
}

// BenchmarkLoadConfig is reading the file that states the instances, which a start does first.
func BenchmarkLoadConfig(b *testing.B) {
	for _, s := range scales {
		b.Run(fmt.Sprint(s.instances), func(b *testing.B) {
			loadScale(b, s.instances)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := config.Load(config.Options{Environ: []string{}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFirstRequest is the first lookup of an instance with a record and a
// stored config of its own, and the chain of its first route.
func BenchmarkFirstRequest(b *testing.B) {
	for _, s := range scales {
		b.Run(fmt.Sprintf("%dx%d", s.routes, s.instances), func(b *testing.B) {
			store := instance.NewMemoryStore()
			m, e := startScale(b, loadScale(b, s.instances), s.routes, store)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				b.StopTimer()
				name := fmt.Sprint("fresh", n)
				if _, err := store.Put(instance.Record{Name: name, Config: limitJSON(fmt.Sprint(1 + n%1000))}); err != nil {
					b.Fatal(err)
				}
				n++
				b.StartTimer()
				first(b, m, e, name)
			}
		})
	}
}

func BenchmarkSteadyRequest(b *testing.B) {
	for _, s := range scales {
		b.Run(fmt.Sprintf("%dx%d", s.routes, s.instances), func(b *testing.B) {
			m, e := startScale(b, loadScale(b, s.instances), s.routes, nil)
			names := m.Names()
			for _, name := range names {
				first(b, m, e, name)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				first(b, m, e, names[n%len(names)])
				n++
			}
		})
	}
}

func first(tb testing.TB, m *instance.Manager, e *onion.Engine, name string) {
	inst, err := m.Lookup(context.Background(), name)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := inst.Set.Chain(e.Routes()[len(e.Routes())-1]); err != nil {
		tb.Fatal(err)
	}
}

func loadScale(tb testing.TB, instances int) *config.Config {
	tb.Helper()
	return loadFor(tb, files{"config.yaml": scaleYAML(instances)})
}

// TestMemoryFollowsOptionSets: what instances cost depends on how many different
// options there are, and not on routes x instances; unknown names cost nothing.
func TestMemoryFollowsOptionSets(t *testing.T) {
	const routes, few, many = 1000, 100, 1000
	c := loadFor(t, files{"config.yaml": "instance:\n  instances:\n    \"\": {}\n"})
	store := instance.NewMemoryStore()
	m, e := startScale(t, c, routes, store)
	serve := func(from, to int) (sets int) {
		distinct := map[*onion.Set]bool{}
		for i := from; i < to; i++ {
			rec := instance.Record{Name: fmt.Sprint("tenant", i)}
			if i%2 == 0 {
				rec.Config = limitJSON(fmt.Sprint(1 + i%10)) // five different configs
			}
			put(t, store, rec)
			inst, err := m.Lookup(t.Context(), rec.Name)
			if err != nil {
				t.Fatal(err)
			}
			distinct[inst.Set] = true
			for _, r := range e.Routes() {
				if _, err := inst.Set.Chain(r); err != nil {
					t.Fatal(err)
				}
			}
		}
		return len(distinct)
	}
	sets := serve(0, few)
	before := heap()
	if again := serve(few, many); again != sets {
		t.Errorf("%d option sets, then %d", sets, again)
	}
	perInstance := (heap() - before) / (many - few)
	t.Logf("%d option sets at %d routes; an instance more costs %d B, its record included", sets, routes, perInstance)
	// A pointer for each route would be 8000 B, a chain for each a megabyte.
	if perInstance > 4000 {
		t.Errorf("an instance costs %d B", perInstance)
	}

	before = heap()
	const flood = 20_000
	for i := range flood {
		if _, err := m.Lookup(t.Context(), fmt.Sprint("nobody", i)); !errors.Is(err, instance.ErrUnknown) {
			t.Fatal(err)
		}
	}
	grown := heap() - before
	t.Logf("%d unknown names: %d B", flood, grown)
	if grown > 64<<10 {
		t.Errorf("%d unknown names cost %d B", flood, grown)
	}
	runtime.KeepAlive(m)
	runtime.KeepAlive(e)
	runtime.KeepAlive(store)
}

func heap() int64 {
	for range 3 { // values that are held weakly go with the second collection
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

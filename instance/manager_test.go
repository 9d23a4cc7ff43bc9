package instance_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
)

// twoTenants is an application whose limit is 10, a default instance that leaves
// it there, and acme with 30.
func twoTenants() files {
	return files{
		"config.yaml":            limitYAML("", "10"),
		"instances/default.yaml": "title: Default\n",
		"instances/acme.yaml":    "title: Acme\nid: 2\nisolate: true\nconfig:\n" + limitYAML("  ", "30"),
	}
}

func TestLookupConfigured(t *testing.T) {
	f := newFixture(t, load(t, twoTenants()), instance.Options{})
	def, acme := f.lookup(t, ""), f.lookup(t, "acme")
	if def.Name != "" || def.ID != 1 || def.Title != "Default" || def.Isolate || def.Disabled {
		t.Errorf("the default instance is %+v", def)
	}
	if acme.Name != "acme" || acme.ID != 2 || acme.Title != "Acme" || !acme.Isolate || acme.Disabled {
		t.Errorf("acme is %+v", acme)
	}
	f.wantLimit(t, "", 10)
	f.wantLimit(t, "acme", 30)
	if again := f.lookup(t, "acme"); again != acme {
		t.Error("the second lookup made another instance")
	}
	if got := f.Names(); !slices.Equal(got, []string{"", "acme"}) {
		t.Errorf("Names = %q", got)
	}
	if got := f.Warnings(); got != nil {
		t.Errorf("Warnings = %q, want none", got)
	}
}

// Unknown names, whatever they look like, leave nothing behind.
func TestLookupUnknown(t *testing.T) {
	stores := map[string]instance.Store{"no store": nil, "store": instance.NewMemoryStore()}
	for name, store := range stores {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, load(t, files{"instances/acme.yaml": ""}), instance.Options{Store: store})
			for _, unknown := range []string{
				"", "beta", "Acme", "acme ", "acme\x00", "\xff", "null", "default", "a\nb", strings.Repeat("x", instance.MaxNameLen), strings.Repeat("x", 10<<10),
			} {
				if inst, err := f.Lookup(t.Context(), unknown); !errors.Is(err, instance.ErrUnknown) || inst != nil {
					t.Errorf("Lookup(%.20q) = %v, %v, want ErrUnknown", unknown, inst, err)
				}
			}
			if got := f.Names(); !slices.Equal(got, []string{"acme"}) {
				t.Errorf("Names = %q after unknown ones", got)
			}
		})
	}
}

// No instance can be called so, and some databases fail on such texts: the store
// is not asked.
func TestImpossibleNamesNeverReachTheStore(t *testing.T) {
	store := &countingStore{Store: instance.NewMemoryStore()}
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: store})
	for _, name := range []string{"acme\x00", "\xff", "null", "default", strings.Repeat("x", instance.MaxNameLen+1)} {
		if _, err := f.Lookup(t.Context(), name); !errors.Is(err, instance.ErrUnknown) {
			t.Errorf("Lookup(%.20q): %v", name, err)
		}
	}
	if finds, _, _, _ := store.counts(); finds != 0 {
		t.Errorf("the store was asked %d times", finds)
	}
}

func TestFirstLookupRegistersOnce(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	memory := instance.NewMemoryStore()
	store := &countingStore{Store: memory}
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: store, Clock: fixedClock(now)})
	if finds, registers, _, _ := store.counts(); finds+registers != 0 {
		t.Errorf("the store was asked %d times at start", finds+registers)
	}
	hold := make(chan struct{})
	store.set(nil, hold)
	const callers = 64
	got := make([]*instance.Instance, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { got[i] = f.lookup(t, "acme") })
	}
	eventually(t, "the store is asked", func() bool { _, _, pending, _ := store.counts(); return pending == 1 })
	close(hold)
	wg.Wait()
	for i := range got {
		if got[i] != got[0] {
			t.Errorf("caller %d got another instance", i)
		}
	}
	if finds, registers, _, _ := store.counts(); finds != 1 || registers != 1 {
		t.Errorf("%d finds and %d registrations, want 1 and 1", finds, registers)
	}
	rec, err := memory.Find(t.Context(), "acme")
	if err != nil || rec.ID != 2 || rec.Title != "Acme" || !rec.Isolate || rec.Config != nil || !rec.CreatedAt.Equal(now) || !rec.UpdatedAt.Equal(now) {
		t.Errorf("registered is %+v, %v", rec, err)
	}
}

func TestTwoProcessesRegisterOnce(t *testing.T) {
	memory := instance.NewMemoryStore()
	c := load(t, files{"instances/acme.yaml": ""})
	processes := []*fixture{newFixture(t, c, instance.Options{Store: memory}), newFixture(t, c, instance.Options{Store: memory})}
	ids := make([]int64, 64)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() { ids[i] = processes[i%2].lookup(t, "acme").ID })
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("ids %v", ids)
		}
	}
}

// The record of an instance that the configuration does not state is enough, and
// its config the top layer.
func TestLookupRecorded(t *testing.T) {
	memory := instance.NewMemoryStore()
	put(t, memory, instance.Record{ID: 9, Name: "beta", Title: "Beta", Isolate: true, Config: limitJSON("40")})
	put(t, memory, instance.Record{ID: 10, Name: "gamma", Disabled: true})
	put(t, memory, instance.Record{ID: 2, Name: "acme", Title: "stored title", Config: limitJSON("50.0")})
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: memory})
	if beta := f.lookup(t, "beta"); beta.ID != 9 || beta.Title != "Beta" || !beta.Isolate || beta.Disabled || beta.Fault() != nil {
		t.Errorf("beta is %+v", beta)
	}
	f.wantLimit(t, "beta", 40)
	if gamma := f.lookup(t, "gamma"); !gamma.Disabled {
		t.Errorf("gamma is %+v", gamma)
	}
	f.wantLimit(t, "gamma", 10)
	f.wantLimit(t, "acme", 50)
	if acme := f.lookup(t, "acme"); acme.Title != "Acme" || !acme.Isolate {
		t.Errorf("what the file states of acme does not win: %+v", acme)
	}
	if got := f.Names(); !slices.Equal(got, []string{"", "acme", "beta", "gamma"}) {
		t.Errorf("Names = %q", got)
	}
}

func TestRecordedIDWins(t *testing.T) {
	memory := instance.NewMemoryStore()
	put(t, memory, instance.Record{ID: 77, Name: "acme"})
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: memory})
	if acme := f.lookup(t, "acme"); acme.ID != 77 {
		t.Errorf("acme has the id %d, its data is stored under 77", acme.ID)
	}
	if text := f.log.String(); !strings.Contains(text, "recordID=77 configuredID=2 configured=config/instances/acme.yaml") {
		t.Errorf("the log says nothing of the two ids:\n%s", text)
	}
}

func TestDisabledByConfiguration(t *testing.T) {
	store := &countingStore{Store: instance.NewMemoryStore()}
	f := newFixture(t, load(t, files{"instances/acme.yaml": "id: 2\ntitle: Acme\ndisabled: true\n"}), instance.Options{Store: store})
	for range 2 {
		if acme := f.lookup(t, "acme"); !acme.Disabled || acme.ID != 2 || acme.Title != "Acme" || acme.Set == nil || acme.Config() == nil {
			t.Errorf("acme is %+v", acme)
		}
	}
	if finds, registers, _, _ := store.counts(); finds+registers != 0 {
		t.Error("a locked instance asked the store")
	}
}

func TestStoreFails(t *testing.T) {
	broken := errors.New("connection refused")
	store := &countingStore{Store: instance.NewMemoryStore(), err: broken}
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: store})
	for _, name := range []string{"", "acme", "beta"} {
		inst, err := f.Lookup(t.Context(), name)
		want503(t, name, err)
		if inst != nil || !errors.Is(err, broken) {
			t.Errorf("Lookup(%q) = %v, %v", name, inst, err)
		}
	}
	store.set(nil, nil)
	f.wantLimit(t, "acme", 30)
	store.set(broken, nil)
	f.wantLimit(t, "acme", 30) // it is in memory
}

func TestStorePanicsOrLies(t *testing.T) {
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: oddStore{}})
	for _, name := range []string{"panic", "nothing", "other name", "no id"} {
		_, err := f.Lookup(t.Context(), name)
		want503(t, name, err)
	}
}

// A store that never answers costs each caller a bounded wait.
func TestStoreHangs(t *testing.T) {
	hold := make(chan struct{})
	store := &countingStore{Store: instance.NewMemoryStore(), hold: hold}
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: store, LoadTimeout: 20 * time.Millisecond})
	for i := range 20 { // more than may be asked for at once
		_, err := f.Lookup(context.Background(), fmt.Sprint("unknown", i))
		want503(t, "unknown", err)
	}
	_, err := f.Lookup(context.Background(), "acme")
	want503(t, "acme", err)
	close(hold)
	eventually(t, "acme is found after all", func() bool { _, err := f.Lookup(context.Background(), "acme"); return err == nil })
	eventually(t, "no question is left", func() bool { _, _, pending, _ := store.counts(); return pending == 0 })
	if _, err := f.Lookup(t.Context(), "unknown"); !errors.Is(err, instance.ErrUnknown) {
		t.Errorf("after the store answers again: %v", err)
	}
}

// A caller that leaves disturbs neither the lookup nor those who wait for it.
func TestCallerLeaves(t *testing.T) {
	hold := make(chan struct{})
	store := &countingStore{Store: instance.NewMemoryStore(), hold: hold}
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: store})
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := f.Lookup(ctx, "acme")
		left <- err
	}()
	eventually(t, "the store is asked", func() bool { _, _, pending, _ := store.counts(); return pending == 1 })
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that left got %v", err)
	}
	stays := make(chan error)
	go func() {
		_, err := f.Lookup(t.Context(), "acme")
		stays <- err
	}()
	close(hold)
	if err := <-stays; err != nil {
		t.Errorf("the caller that stayed got %v", err)
	}
	if finds, registers, _, _ := store.counts(); finds != 1 || registers != 1 {
		t.Errorf("%d finds and %d registrations, want 1 and 1", finds, registers)
	}
}

// A flood of unknown names asks the store a few questions at a time, leaves the
// way to configured instances free, and leaves nothing in memory.
func TestFloodOfUnknownNames(t *testing.T) {
	hold := make(chan struct{})
	store := &countingStore{Store: instance.NewMemoryStore(), hold: hold}
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: store})
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			if _, err := f.Lookup(t.Context(), fmt.Sprint("unknown", i)); !errors.Is(err, instance.ErrUnknown) {
				t.Errorf("unknown%d: %v", i, err)
			}
		})
	}
	eventually(t, "the store is busy", func() bool { _, _, pending, _ := store.counts(); return pending == 8 })
	store.set(nil, nil)
	f.wantLimit(t, "acme", 30)
	close(hold)
	wg.Wait()
	if _, _, pending, most := store.counts(); pending != 0 || most > 9 {
		t.Errorf("%d questions are open, %d were at once; want 0 and at most 8 and acme's", pending, most)
	}
	if got := f.Names(); !slices.Equal(got, []string{"", "acme"}) {
		t.Errorf("Names = %q", got)
	}
}

func TestStartNamesEveryFault(t *testing.T) {
	c := load(t, files{
		"instances/acme.yaml": "config:\n" + limitYAML("  ", "many"),
		"instances/beta.yaml": "config:\n  onions:\n    interceptor:\n      \"test-tenant:limt\": {}\n    middlewareSystem:\n      \"test-tenant:system\":\n        enable: false\n",
		"instances/off.yaml":  "disabled: true\nconfig:\n  onions: [1]\n",
	})
	cfg, _ := configOf(t, c)
	_, err := instance.NewManager(cfg, instance.Options{})
	if err == nil {
		t.Fatal("the manager started")
	}
	for _, want := range []string{
		"config/instances/acme.yaml:5", "limit: want a whole number",
		"config/instances/beta.yaml:4", "unknown onion",
		"config/instances/beta.yaml:6", "system middleware takes its options from application config only",
		"config/instances/off.yaml:3",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the errors do not say %q:\n%v", want, err)
		}
	}
}

// What is wrong with the application is said once, not once per instance.
func TestStartNamesAFaultOnce(t *testing.T) {
	cfg, _ := configOf(t, load(t, twoTenants()))
	cfg.NewSet = func(string, bool, ...onion.Settings) (*onion.Set, error) {
		return nil, onion.Errors{errors.New("controller: bad limit"), errors.New("action: bad limit")}
	}
	_, err := instance.NewManager(cfg, instance.Options{})
	wantLines(t, err, "controller: bad limit", "action: bad limit")
}

func TestWarnsWithoutInstances(t *testing.T) {
	f := newFixture(t, load(t, files{}), instance.Options{})
	if got := f.Warnings(); len(got) != 1 || !strings.Contains(got[0], "423") {
		t.Errorf("Warnings = %q", got)
	}
}

func TestFallbackSet(t *testing.T) {
	f := newFixture(t, load(t, twoTenants()), instance.Options{})
	if f.Fallback() == nil || len(f.Fallback().Filters()) != 0 {
		t.Errorf("Fallback = %v", f.Fallback())
	}
}

// Instances that say nothing share the set of the application.
func TestSetsAreShared(t *testing.T) {
	memory := instance.NewMemoryStore()
	put(t, memory, instance.Record{Name: "beta"})
	put(t, memory, instance.Record{Name: "gamma", Config: []byte(" {} ")})
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: memory})
	shared := f.lookup(t, "").Set
	if f.lookup(t, "beta").Set != shared || f.lookup(t, "gamma").Set != shared {
		t.Error("instances without options of their own have sets of their own")
	}
	if f.lookup(t, "acme").Set == shared {
		t.Error("acme has no set of its own")
	}
}

func TestEffectiveConfig(t *testing.T) {
	memory := instance.NewMemoryStore()
	put(t, memory, instance.Record{Name: "acme", ID: 2, Config: []byte(`{"modules":{"test-tenant":{"size":7,"big":9007199254740993}}}`)})
	all := twoTenants()
	all["config.yaml"] += "modules:\n  test-tenant:\n    colour: blue\n    size: 1\n    shape: round\n"
	all["instances/acme.yaml"] += "  modules:\n    test-tenant:\n      colour: red\n"
	f := newFixture(t, load(t, all), instance.Options{Store: memory})
	options := struct {
		Colour string `koanf:"colour"`
		Shape  string `koanf:"shape"`
		Size   int    `koanf:"size"`
		Big    int64  `koanf:"big"`
	}{}
	tree := f.lookup(t, "acme").Config()
	if err := tree.Decode(&options, "modules", "test-tenant"); err != nil {
		t.Fatal(err)
	}
	if options.Colour != "red" || options.Shape != "round" || options.Size != 7 || options.Big != 9007199254740993 {
		t.Errorf("the effective config is %+v", options)
	}
	for key, want := range map[string]string{
		"colour": "config/instances/acme.yaml:11", "shape": "config/config.yaml:9", "size": `stored config of instance "acme"`,
	} {
		if got := tree.Source("modules", "test-tenant", key).String(); got != want {
			t.Errorf("%s is set in %s, want %s", key, got, want)
		}
	}
	if got, _ := f.lookup(t, "").Config().Get("modules", "test-tenant", "colour"); got != "blue" {
		t.Errorf("the default instance's colour is %v", got)
	}
}

func TestCurrent(t *testing.T) {
	f := newFixture(t, load(t, twoTenants()), instance.Options{})
	acme := f.lookup(t, "acme")
	c := &onion.Call{Instance: "ac" + "me"}
	ctx := onion.WithCall(t.Context(), c)
	if instance.Current(t.Context()) != nil || instance.Current(ctx) != nil || instance.Of(c) != nil {
		t.Error("there is an instance before one is attached")
	}
	instance.Attach(c, acme)
	if instance.Current(ctx) != acme || instance.Of(c) != acme || c.Instance != "acme" {
		t.Error("the instance attached is not the current one")
	}
}

// Tests of other packages make instances by hand.
func TestInstanceMadeByHand(t *testing.T) {
	inst := &instance.Instance{Name: "acme"}
	if err := inst.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if inst.Config().Has("onions") || inst.Fault() != nil {
		t.Error("an instance made by hand has a configuration or a fault")
	}
}

func TestLookupAllocs(t *testing.T) {
	f := newFixture(t, load(t, twoTenants()), instance.Options{})
	ctx := t.Context()
	f.lookup(t, "acme")
	if n := testing.AllocsPerRun(100, func() {
		if _, err := f.Lookup(ctx, "acme"); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a lookup from memory makes %v allocations, want 0", n)
	}
}

// BenchmarkLookup is the lookup of every request after the first.
func BenchmarkLookup(b *testing.B) {
	m, err := instance.NewManager(instance.Config{
		App: config.FromMap("application", nil), Statics: []instance.Static{{Name: "acme", Config: config.FromMap("acme", nil)}},
		NewSet: func(string, bool, ...onion.Settings) (*onion.Set, error) { return &onion.Set{}, nil },
	}, instance.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := m.Lookup(context.Background(), "acme"); err != nil {
				b.Error(err)
			}
		}
	})
}

type fixedClock time.Time

func (c fixedClock) Now() time.Time { return time.Time(c) }

// oddStore breaks the contract of Store in ways that must not break a server.
type oddStore struct{}

func (oddStore) Find(_ context.Context, name string) (*instance.Record, error) {
	switch name {
	case "panic":
		panic("out of order")
	case "nothing":
		return nil, nil
	case "other name":
		return &instance.Record{ID: 1, Name: "OTHER NAME"}, nil
	}
	return &instance.Record{Name: name}, nil
}

func (oddStore) Register(context.Context, instance.Record) (*instance.Record, error) {
	return nil, errors.New("never reached")
}

func put(t *testing.T, s *instance.MemoryStore, rec instance.Record) {
	t.Helper()
	if _, err := s.Put(rec); err != nil {
		t.Fatal(err)
	}
}

func want503(t *testing.T, what string, err error) {
	t.Helper()
	var e *onion.Error
	if !errors.As(err, &e) || e.Status != http.StatusServiceUnavailable || e.Header.Get("Retry-After") != "1" {
		t.Errorf("%s: %v, want a 503 with Retry-After: 1", what, err)
	}
}

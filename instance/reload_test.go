package instance_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/vonago/vonago/instance"
)

// next reloads the configuration.
func (f *fixture) next(t *testing.T, all files) *fixture {
	t.Helper()
	cfg, e := configOf(t, reload(t, all), "modules.test-tenant")
	m, err := f.Next(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{Manager: m, cfg: cfg, engine: e, log: f.log}
}

func TestReloadRecord(t *testing.T) {
	memory := instance.NewMemoryStore()
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: memory})
	before, other := f.lookup(t, "acme"), f.lookup(t, "")
	put(t, memory, instance.Record{Name: "acme", Title: "New", Config: limitJSON("40")})
	f.wantLimit(t, "acme", 30) // nobody said anything yet
	if err := f.Reload(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	f.wantLimit(t, "acme", 40)
	if got := f.limit(t, before); got != 30 {
		t.Errorf("a request under way sees the limit %d, want 30", got)
	}
	if f.lookup(t, "") != other {
		t.Error("the reload of acme disturbed the default instance")
	}
	put(t, memory, instance.Record{Name: "acme", Disabled: true})
	if err := f.Reload(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	if acme := f.lookup(t, "acme"); !acme.Disabled {
		t.Error("acme is not disabled")
	}
	f.wantLimit(t, "acme", 30)
}

func TestReloadWithoutChangeKeepsTheInstance(t *testing.T) {
	memory := instance.NewMemoryStore()
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: memory})
	acme := f.lookup(t, "acme")
	if err := f.ReloadAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.lookup(t, "acme") != acme {
		t.Error("a reload without a change made another instance")
	}
}

// A name that no request asked for is read by its first request anyway.
func TestReloadOfUnseenNames(t *testing.T) {
	store := &countingStore{Store: instance.NewMemoryStore()}
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: store})
	for _, name := range []string{"acme", "unknown"} {
		if err := f.Reload(t.Context(), name); err != nil {
			t.Errorf("Reload(%q): %v", name, err)
		}
	}
	if finds, registers, _, _ := store.counts(); finds+registers != 0 {
		t.Errorf("the store was asked %d times", finds+registers)
	}
}

// A stored config that cannot be used changes nothing; it is said once, and
// again to who asks.
func TestStoredConfigIsRefused(t *testing.T) {
	tests := []struct {
		name   string
		stored string
		want   string
	}{
		{"malformed", `{"onions":`, "malformed JSON"},
		{"key twice", `{"onions":{"interceptor":{"a-ratelimit:rateLimit":{"rateLimit":{"limit":5,"limit":9000}}}}}`,
			"onions.interceptor.a-ratelimit:rateLimit.rateLimit.limit: is given twice"},
		{"section twice", `{"onions":{},"onions":{}}`, "onions: is given twice"},
		{"key twice in a list", `{"onions":{},"x":[1,{},{"a":1,"a":2}]}`, "x.2.a: is given twice"},
		{"no text", "{\"onions\":{\"a\xff\":1}}", "not UTF-8"},
		{"no object", `[1]`, "must be a JSON object"},
		{"two values", `{} {}`, "something follows"},
		{"wrong type", string(limitJSON(`"many"`)), "want a whole number"},
		{"fraction", string(limitJSON(`1.5`)), "want a whole number"},
		{"out of range", string(limitJSON(`1001`)), "1 to 1000"},
		{"too large for any integer", string(limitJSON(`1e999`)), "want a whole number"},
		{"null", string(limitJSON(`null`)), "null"},
		{"unknown onion", `{"onions":{"interceptor":{"test-tenant:limt":{}}}}`, "unknown onion"},
		{"system middleware", `{"onions":{"middlewareSystem":{"test-tenant:system":{}}}}`, "application config only"},
		{"section of the application", `{"server":{}}`, "server: unknown key"},
	}
	c := load(t, twoTenants())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			memory := instance.NewMemoryStore()
			bad := []byte(tt.stored)
			put(t, memory, instance.Record{Name: "acme", Config: bad})
			put(t, memory, instance.Record{Name: "beta", Config: limitJSON("40")})
			f := newFixture(t, c, instance.Options{Store: memory})

			// Nothing good was ever seen of acme: its static config stands.
			f.wantLimit(t, "acme", 30)
			if fault := f.lookup(t, "acme").Fault(); fault == nil || !strings.Contains(fault.Error(), tt.want) {
				t.Errorf("Fault = %v, want %q in it", fault, tt.want)
			}
			if n := strings.Count(f.log.String(), "level=ERROR"); n != 1 {
				t.Errorf("%d errors were logged, want 1:\n%s", n, f.log)
			}

			if !strings.Contains(f.log.String(), "refused; nothing stored is in force") {
				t.Errorf("the log does not say what holds:\n%s", f.log)
			}

			f.wantLimit(t, "beta", 40)
			put(t, memory, instance.Record{Name: "beta", Title: "Beta", Config: bad})
			if err := f.Reload(t.Context(), "beta"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Reload: %v, want %q in it", err, tt.want)
			}
			f.wantLimit(t, "beta", 40)
			if beta := f.lookup(t, "beta"); beta.Title != "Beta" {
				t.Error("the rest of the record is not in force")
			}

			put(t, memory, instance.Record{Name: "beta", Config: limitJSON("41")})
			if err := f.Reload(t.Context(), "beta"); err != nil {
				t.Errorf("Reload of a repaired record: %v", err)
			}
			f.wantLimit(t, "beta", 41)
			if fault := f.lookup(t, "beta").Fault(); fault != nil {
				t.Errorf("Fault of a repaired record: %v", fault)
			}
		})
	}
}

func TestReloadWhileTheStoreFails(t *testing.T) {
	broken := errors.New("connection refused")
	store := &countingStore{Store: instance.NewMemoryStore()}
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: store})
	f.lookup(t, "acme")
	f.lookup(t, "")
	store.set(broken, nil)
	err := f.ReloadAll(t.Context())
	if !errors.Is(err, broken) || !errors.Is(err, instance.ErrStoreFailed) || !strings.Contains(err.Error(), "default instance") {
		t.Errorf("ReloadAll: %v, want that the store failed", err)
	}
	if finds, _, _, _ := store.counts(); finds != 3 {
		t.Errorf("the store was asked %d times, want 3: one failure ends a round", finds)
	}
	f.wantLimit(t, "acme", 30)
}

func TestRecordDeleted(t *testing.T) {
	memory := instance.NewMemoryStore()
	put(t, memory, instance.Record{Name: "beta"})
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: memory})
	f.lookup(t, "beta")
	f.lookup(t, "acme")
	memory.Delete("beta")
	memory.Delete("acme")
	if err := f.ReloadAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if inst, err := f.Lookup(t.Context(), "beta"); !errors.Is(err, instance.ErrUnknown) {
		t.Errorf("Lookup of a deleted record: %v, %v", inst, err)
	}
	if _, err := memory.Find(t.Context(), "acme"); err != nil {
		t.Errorf("the configured instance was not registered again: %v", err)
	}
	put(t, memory, instance.Record{Name: "beta", Config: limitJSON("7")})
	f.wantLimit(t, "beta", 7)
}

// The news of a change that comes while the first lookup reads is not lost.
func TestReloadDuringFirstLookup(t *testing.T) {
	hold := make(chan struct{})
	memory := instance.NewMemoryStore()
	put(t, memory, instance.Record{Name: "beta", Config: limitJSON("1")})
	store := &countingStore{Store: slowReader{memory, hold}}
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: store})
	var wg sync.WaitGroup
	wg.Go(func() { f.lookup(t, "beta") })
	eventually(t, "the store is asked", func() bool { _, _, pending, _ := store.counts(); return pending == 1 })
	put(t, memory, instance.Record{Name: "beta", Config: limitJSON("2")})
	wg.Go(func() {
		if err := f.Reload(t.Context(), "beta"); err != nil {
			t.Error(err)
		}
	})
	close(hold)
	wg.Wait()
	f.wantLimit(t, "beta", 2)
}

func TestNext(t *testing.T) {
	memory := instance.NewMemoryStore()
	put(t, memory, instance.Record{Name: "beta", Config: limitJSON("40")})
	store := &countingStore{Store: memory}
	all := twoTenants()
	f := newFixture(t, load(t, all), instance.Options{Store: store})
	old := f.lookup(t, "acme")
	for _, name := range []string{"", "beta"} {
		f.lookup(t, name)
	}
	finds, registers, _, _ := store.counts()

	all["config.yaml"] = limitYAML("", "11")
	all["instances/acme.yaml"] = "title: Acme 2\nid: 2\nconfig:\n" + limitYAML("  ", "31")
	all["instances/gamma.yaml"] = ""
	g := f.next(t, all)
	f.wantLimit(t, "acme", 30) // the old manager serves on
	g.wantLimit(t, "acme", 31)
	g.wantLimit(t, "", 11)
	g.wantLimit(t, "beta", 40)
	if acme := g.lookup(t, "acme"); acme.Title != "Acme 2" || acme.ID != 2 {
		t.Errorf("acme is %+v", acme)
	}
	if again, registered, _, _ := store.counts(); again != finds || registered != registers {
		t.Error("a reload of the configuration asked the store for known records")
	}
	g.wantLimit(t, "gamma", 11)
	if got := f.limit(t, old); got != 30 {
		t.Errorf("a request under way sees the limit %d", got)
	}

	// News of records reach both, however far the swap has come.
	put(t, memory, instance.Record{Name: "beta", Config: limitJSON("50")})
	if err := f.Reload(t.Context(), "beta"); err != nil {
		t.Fatal(err)
	}
	f.wantLimit(t, "beta", 50)
	g.wantLimit(t, "beta", 50)
}

func TestNextIsRefused(t *testing.T) {
	all := twoTenants()
	f := newFixture(t, load(t, all), instance.Options{})
	f.lookup(t, "acme")
	all["instances/acme.yaml"] = "config:\n" + limitYAML("  ", "many")
	cfg, _ := configOf(t, reload(t, all))
	if _, err := f.Next(cfg); err == nil || !strings.Contains(err.Error(), "config/instances/acme.yaml:5") {
		t.Errorf("Next: %v", err)
	}
	f.wantLimit(t, "acme", 30)
}

// Without a store an instance lives and dies with the configuration.
func TestNextWithoutStoreDropsInstances(t *testing.T) {
	all := twoTenants()
	f := newFixture(t, load(t, all), instance.Options{})
	id := f.lookup(t, "").ID
	f.lookup(t, "acme")
	acme := all["instances/acme.yaml"]
	delete(all, "instances/acme.yaml")
	g := f.next(t, all)
	if _, err := g.Lookup(t.Context(), "acme"); !errors.Is(err, instance.ErrUnknown) {
		t.Errorf("Lookup of an instance that was removed: %v", err)
	}
	if got := fmt.Sprintf("%q", g.Names()); got != `[""]` {
		t.Errorf("Names = %s", got)
	}
	all["instances/acme.yaml"] = "disabled: true\n" + acme
	if inst := g.next(t, all).lookup(t, "acme"); !inst.Disabled {
		t.Error("acme came back enabled")
	}
	all["instances/acme.yaml"] = acme
	h := g.next(t, all)
	h.wantLimit(t, "acme", 30)
	if got := h.lookup(t, "").ID; got != id {
		t.Errorf("the default instance's id was %d and is %d", id, got)
	}
}

// Interleaved requests of many tenants see their own policy while one of them is
// reloaded again and again.
func TestReloadDisturbsNobody(t *testing.T) {
	const tenants, rounds = 20, 200
	memory := instance.NewMemoryStore()
	for i := range tenants {
		put(t, memory, instance.Record{Name: fmt.Sprint("tenant", i), Config: limitJSON(fmt.Sprint(i + 1))})
	}
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: memory})
	var wg sync.WaitGroup
	for i := 1; i < tenants; i++ {
		wg.Go(func() {
			for range rounds {
				f.wantLimit(t, fmt.Sprint("tenant", i), int64(i+1))
			}
		})
	}
	wg.Go(func() {
		for round := range rounds {
			put(t, memory, instance.Record{Name: "tenant0", Config: limitJSON(fmt.Sprint(100 + round))})
			if err := f.Reload(t.Context(), "tenant0"); err != nil {
				t.Error(err)
			}
			f.wantLimit(t, "tenant0", int64(100+round))
		}
	})
	wg.Wait()
}

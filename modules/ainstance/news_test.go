package ainstance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/internal/redistest"
	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
)

// process is the part of a process that this package is about: a manager, a module's services, a Redis.
type process struct {
	*Records
	manager *instance.Manager
	store   *instance.MemoryStore
}

type limitOptions struct {
	Limit int64 `json:"limit" range:"1..1000"`
}

var limitOnion = onion.Interceptor("test-tenant:limit", func() limitOptions { return limitOptions{Limit: 1} },
	func(limitOptions, onion.Env) (onion.Wrap, error) {
		return func(next onion.Next) onion.Next { return next }, nil
	}, onion.Global())

// startProcess starts one on a store that the processes share; addr is of a Redis, "" for none.
func startProcess(t *testing.T, store *instance.MemoryStore, addr string) *process {
	t.Helper()
	env := onion.NewEnv("test", onion.ModeTest, "", slog.New(slog.NewTextHandler(t.Output(), nil)), nil)
	if err := onion.Provide(env, &instance.State{}); err != nil {
		t.Fatal(err)
	}
	modules := []onion.Module{instance.Module(), onion.Basic{ModuleName: "test-tenant", ModuleOnions: []onion.Onion{limitOnion}}}
	engine, err := onion.Build(onion.Input{Modules: modules, Env: env, App: onion.Settings{Kind: onion.LayerApp}})
	if err != nil {
		t.Fatal(err)
	}
	tree := config.FromMap("test", map[string]any{"instance": map[string]any{"instances": map[string]any{"": map[string]any{"title": "Default"}}}})
	statics, err := instance.Statics(tree, nil)
	if err != nil {
		t.Fatal(err)
	}
	manager, err := instance.NewManager(instance.Config{App: tree, Statics: statics, NewSet: engine.Set}, instance.Options{Store: store, Logger: env.Logger})
	if err != nil {
		t.Fatal(err)
	}
	live := &instance.Live{}
	live.Set(manager)
	var client *aredis.Client
	if addr != "" {
		client = redisClient(t, env, addr)
	}
	n := newNews(client, live, env.Logger)
	n.start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = n.stop(ctx) // Redis may be away
		if err := manager.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return &process{newRecords(store, live, n, env.Clock), manager, store}
}

func redisClient(t *testing.T, env onion.Env, addr string) *aredis.Client {
	t.Helper()
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	clients, err := aredis.NewClients(env, aredis.Config{Base: aredis.Connection{Host: &host, Port: &port}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := clients.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	client, err := clients.Client(aredis.Broadcast)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func stored(limit int) []byte {
	return fmt.Appendf(nil, `{"onions":{"interceptor":{"test-tenant:limit":{"limit":%d}}}}`, limit)
}

// shows waits until the title of an instance in memory is the wanted one.
func (p *process) shows(t *testing.T, within time.Duration, name, title string) {
	t.Helper()
	began := time.Now()
	for {
		inst, err := p.manager.Lookup(t.Context(), name)
		if err == nil && inst.Title == title {
			return
		}
		if time.Since(began) > within {
			t.Fatalf("after %v %q is %+v, %v, want the title %q", within, name, inst, err, title)
		}
		time.Sleep(time.Millisecond)
	}
}

// keeps fails if an instance's title becomes another one within the time.
func (p *process) keeps(t *testing.T, within time.Duration, name, title string) {
	t.Helper()
	for began := time.Now(); time.Since(began) < within; time.Sleep(time.Millisecond) {
		if inst, err := p.manager.Lookup(t.Context(), name); err != nil || inst.Title != title {
			t.Fatalf("%q is %+v, %v, want that it keeps the title %q", name, inst, err, title)
		}
	}
}

func retitle(t *testing.T, p *process, name, title string) {
	t.Helper()
	if _, err := p.Update(t.Context(), name, instance.Patch{Title: &title}); err != nil {
		t.Fatal(err)
	}
}

func TestNews(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("processes", func(t *testing.T) {
		server := redistest.Start(t)
		proxy := redistest.NewProxy(t, server.Addr())
		store := instance.NewMemoryStore()
		one, two, far := startProcess(t, store, server.Addr()), startProcess(t, store, server.Addr()), startProcess(t, store, proxy.Addr())
		if _, err := one.Create(t.Context(), instance.Record{Name: "acme", Title: "first"}); err != nil {
			t.Fatal(err)
		}
		for _, p := range []*process{one, two, far} {
			p.shows(t, time.Second, "acme", "first")
		}
		retitle(t, one, "acme", "second")
		if inst, _ := one.manager.Lookup(t.Context(), "acme"); inst.Title != "second" {
			t.Errorf("after Update returned the title is %q here", inst.Title)
		}
		for _, p := range []*process{two, far} {
			p.shows(t, time.Second, "acme", "second")
		}

		// Cut off while something changes: read again when the way is back.
		proxy.Set(redistest.Refuse())
		retitle(t, one, "acme", "third")
		two.shows(t, time.Second, "acme", "third")
		if inst, _ := far.manager.Lookup(t.Context(), "acme"); inst.Title != "second" {
			t.Errorf("a process that is cut off knows %q", inst.Title)
		}
		proxy.Set(redistest.Forward())
		far.shows(t, 5*time.Second, "acme", "third")

		// Nobody can be told while Redis is away, and all are when it is back.
		server.Kill()
		retitle(t, two, "acme", "fourth")
		server.Restart()
		one.shows(t, 5*time.Second, "acme", "fourth")
		retitle(t, one, "acme", "fifth")
		two.shows(t, 5*time.Second, "acme", "fifth")
	})
}

func TestNewsOverABrokenWay(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	store := instance.NewMemoryStore()
	near, far := startProcess(t, store, server.Addr()), startProcess(t, store, proxy.Addr())
	witness := startProcess(t, store, server.Addr())
	if _, err := near.Create(t.Context(), instance.Record{Name: "acme", Title: "first"}); err != nil {
		t.Fatal(err)
	}
	far.shows(t, time.Second, "acme", "first")
	for _, tt := range []struct {
		title  string
		cut    func()
		back   time.Duration
		silent bool
	}{
		{"reset", proxy.Cut, 5 * time.Second, false},
		{"refused", func() { proxy.Set(redistest.Refuse()) }, 5 * time.Second, false},
		{"gone without a word", func() { proxy.Set(redistest.Blackhole(0)) }, 3 * pulse, true},
	} {
		tt.cut()
		retitle(t, near, "acme", tt.title)
		witness.shows(t, time.Second, "acme", tt.title)
		if tt.silent {
			far.keeps(t, 100*time.Millisecond, "acme", "refused")
		}
		proxy.Set(redistest.Forward())
		began := time.Now()
		far.shows(t, tt.back, "acme", tt.title)
		t.Logf("a way that was %s: caught up %v after it was whole again", tt.title, time.Since(began).Round(time.Millisecond))
	}
}

func TestWithoutRedis(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("alone", func(t *testing.T) {
		p := startProcess(t, instance.NewMemoryStore(), "")
		retitle(t, p, "", "changed") // it has no record before
		p.shows(t, 0, "", "Default") // the configuration's title wins over the record's
		if rec, err := p.Get(t.Context(), ""); err != nil || rec.Title != "changed" || rec.UpdatedAt.IsZero() {
			t.Errorf("Get = %+v, %v", rec, err)
		}
		if err := p.Reload(t.Context(), ""); err != nil {
			t.Error(err)
		}
	})
}

func TestRecords(t *testing.T) {
	p := startProcess(t, instance.NewMemoryStore(), "")
	ctx := t.Context()
	good, bad := stored(5), stored(0)
	if rec, err := p.Create(ctx, instance.Record{Name: "acme", Config: good}); err != nil || rec.CreatedAt.IsZero() || rec.ID == 0 {
		t.Errorf("Create = %+v, %v", rec, err)
	}
	tests := []struct {
		what string
		do   func() error
		want error
		text string
	}{
		{"create what is there", func() error { _, err := p.Create(ctx, instance.Record{Name: "acme"}); return err }, ErrExists, `"acme"`},
		{"create a name that none can have", func() error { _, err := p.Create(ctx, instance.Record{Name: "null"}); return err }, ErrRefused, "null"},
		{"create with a refused config", func() error { _, err := p.Create(ctx, instance.Record{Name: "b", Config: bad}); return err }, ErrRefused, "limit: want 1 to 1000, got 0"},
		{"update to a refused config", func() error { _, err := p.Update(ctx, "acme", instance.Patch{Config: &bad}); return err }, ErrRefused, "limit: want 1 to 1000, got 0"},
		{"update of nobody", func() error { _, err := p.Update(ctx, "nobody", instance.Patch{}); return err }, instance.ErrNotFound, "nobody"},
		{"get nobody", func() error { _, err := p.Get(ctx, "nobody"); return err }, instance.ErrNotFound, "nobody"},
	}
	for _, tt := range tests {
		if err := tt.do(); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want %v with %q", tt.what, err, tt.want, tt.text)
		}
	}
	if list, err := p.List(ctx); err != nil || len(list) != 1 || string(list[0].Config) != string(good) {
		t.Errorf("List = %v, %v: what is refused must not be written", list, err)
	}
	if _, err := p.Update(ctx, "acme", instance.Patch{Disabled: new(true)}); err != nil {
		t.Fatal(err)
	}
	if inst, err := p.manager.Lookup(ctx, "acme"); err != nil || !inst.Disabled {
		t.Errorf("after it was disabled acme is %+v, %v", inst, err)
	}
}

func TestPendingIsBounded(t *testing.T) {
	p := newPending()
	for i := range maxPending + 1 {
		p.add(fmt.Sprint(i))
	}
	if _, all := p.take(); !all {
		t.Errorf("%d names are not all", maxPending+1)
	}
	if names, all := p.take(); all || len(names) > 0 {
		t.Errorf("what was taken is still there: %v, %v", names, all)
	}
}

//go:build unix

package aratelimit

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vonago/vonago/internal/redistest"
	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
)

// running is a started application of a-redis, a-ratelimit and one route.
type running struct {
	engine  *onion.Engine
	set     *onion.Set
	modules []onion.Module
	log     *logBuffer
}

type runConfig struct {
	redis     aredis.Config
	clock     onion.Clock
	app       map[string]any // section of onions
	maxEvents int
	change    func(*Config)
	meters    *meters
}

// start goes through a start as the application does.
func start(t *testing.T, cfg runConfig) *running {
	t.Helper()
	r := &running{log: &logBuffer{}}
	env := onion.NewEnv("test", onion.ModeProd, "normal", slog.New(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: slog.LevelInfo})), cfg.clock)
	controllers := onion.Code(declared{onion.Controller{Name: "student", Path: "student", Routes: []onion.Route{onion.Get("get", ":id", index)}}})
	var opts []Option
	if cfg.meters != nil {
		opts = append(opts, WithMeterProvider(cfg.meters))
	}
	r.modules = []onion.Module{aredis.Module(), Module(opts...), onion.Basic{ModuleName: "demo-student", ModuleControllers: []onion.Declaration{controllers}}}
	for _, m := range r.modules {
		if c, ok := m.(onion.Configurable); ok {
			for _, section := range c.Config() {
				switch s := section.(type) {
				case *aredis.Config:
					*s = cfg.redis
				case *Config:
					s.MaxEventsPerSecond = cfg.maxEvents
					if cfg.change != nil {
						cfg.change(s)
					}
				}
			}
		}
		if p, ok := m.(onion.Provider); ok {
			if err := p.Provide(env); err != nil {
				t.Fatal(err)
			}
		}
	}
	var err error
	r.engine, err = onion.Build(onion.Input{
		Modules: r.modules, Env: env, App: onion.Settings{Kind: onion.LayerApp, Label: "app", Onions: cfg.app},
		Assemble: func(_ *onion.RouteInfo, s *onion.Steps) (onion.Next, error) {
			return onion.Compose(s.Interceptors, pass), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.set, err = r.engine.Set("acme", false); err != nil {
		t.Fatal(err)
	}
	for _, m := range r.modules {
		if s, ok := m.(onion.Starter); ok {
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Cleanup(func() { r.stop(t) })
	return r
}

func (r *running) stop(t *testing.T) {
	t.Helper()
	for i := range r.modules {
		if s, ok := r.modules[len(r.modules)-1-i].(onion.Stopper); ok {
			if err := s.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}
}

// identity runs a call of the secret caller through the route's chain.
func (r *running) identity(ctx context.Context, t *testing.T) (*onion.Call, error) {
	t.Helper()
	route := r.engine.Routes()[0]
	chain, err := r.set.Chain(route)
	if err != nil {
		t.Fatal(err)
	}
	c := testCall()
	c.Route = route
	_, err = chain.Run(ctx, c)
	return c, err
}

// aggregate runs a call through the system chain.
func (r *running) aggregate(ctx context.Context, t *testing.T) int {
	t.Helper()
	run := onion.Next(pass)
	for _, s := range r.engine.System() {
		run = s.Wrap(run)
	}
	v, err := run(ctx, testCall())
	if err != nil {
		t.Fatal(err)
	}
	if reply, ok := v.(*onion.Reply); ok {
		return reply.Status
	}
	return http.StatusOK
}

func both(mode Mode, limit int) map[string]any {
	return map[string]any{
		"interceptor": map[string]any{"a-ratelimit:rateLimit": map[string]any{
			"enable": true, "rateLimit": map[string]any{"mode": string(mode), "limit": limit, "windowMs": 86_400_000}}},
		"middlewareSystem": map[string]any{"a-ratelimit:aggregate": map[string]any{
			"enable": true, "rateLimit": map[string]any{"mode": string(mode), "limit": limit}}},
	}
}

// secrets checks that nothing in keys and log lines tells who called (A6, E2).
func secrets(t *testing.T, s *redistest.Server, r *running) {
	t.Helper()
	keys := s.Keys("*")
	if len(keys) == 0 {
		t.Error("no keys")
	}
	for _, key := range keys {
		if ttl := s.Do("PTTL", key).(int64); ttl < 1 {
			t.Errorf("the key %s has the TTL %d", key, ttl)
		}
		if !strings.HasPrefix(key, "limiter_test:rate-limit:v1:") {
			t.Errorf("the key %s", key)
		}
	}
	text := strings.Join(keys, "\n") + r.log.text()
	for _, secret := range []string{secretAddr, secretUser, "/api/demo", "student/9"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in a key or a log line:\n%s", secret, text)
		}
	}
	if strings.Contains(r.log.text(), "rate-limit:v1") {
		t.Errorf("a key is in a log line:\n%s", r.log.text())
	}
}

// Of 200 callers at once exactly the limit is admitted, by either control.
func TestExactAdmission(t *testing.T) {
	const callers, limit = 200, 70
	s := redistest.Start(t)
	together := func(admit func() bool) int64 {
		var admitted atomic.Int64
		var wg sync.WaitGroup
		gate := make(chan struct{})
		for range callers {
			wg.Go(func() {
				<-gate
				if admit() {
					admitted.Add(1)
				}
			})
		}
		close(gate)
		wg.Wait()
		return admitted.Load()
	}

	t.Run("identity", func(t *testing.T) {
		r := start(t, runConfig{redis: redisConfig(t, s.Addr(), longMs), app: both(Enforce, limit)})
		for {
			s.FlushAll()
			day := windowAt(time.Now().UnixMilli(), 86_400_000)
			n := together(func() bool { _, err := r.identity(t.Context(), t); return err == nil })
			if windowAt(time.Now().UnixMilli(), 86_400_000) != day {
				continue // midnight passed: another bucket began
			}
			if n != limit {
				t.Errorf("%d of %d admitted, want %d", n, callers, limit)
			}
			break
		}
		if lines := r.log.lines(t); len(lines) < callers-limit {
			t.Errorf("%d lines for %d rejections", len(lines), callers-limit)
		}
		if keys := s.Keys("*"); len(keys) != 1 || s.Do("GET", keys[0]) != "200" {
			t.Errorf("keys %v", keys)
		}
		secrets(t, s, r)
	})
	t.Run("aggregate", func(t *testing.T) {
		s.FlushAll()
		r := start(t, runConfig{redis: redisConfig(t, s.Addr(), longMs), app: both(Enforce, limit), clock: clockAt(atMs)})
		if n := together(func() bool { return r.aggregate(t.Context(), t) == http.StatusOK }); n != limit {
			t.Errorf("%d of %d admitted, want %d", n, callers, limit)
		}
		if n := len(r.log.lines(t)); n != callers-limit {
			t.Errorf("%d lines for %d rejections", n, callers-limit)
		}
		secrets(t, s, r)
	})
}

// Redis stands still: enforce is closed, observe open, either tells once (A11, B5).
func TestPausedRedis(t *testing.T) {
	for _, mode := range []Mode{Enforce, Observe} {
		t.Run(string(mode), func(t *testing.T) {
			s := redistest.Start(t)
			p := redistest.NewProxy(t, s.Addr())
			r := start(t, runConfig{redis: redisConfig(t, p.Addr(), 50), app: both(mode, 1000), clock: clockAt(atMs)})
			r.log.reset() // registering the script may take longer on a busy machine
			p.Set(redistest.Hang())
			c, err := r.identity(t.Context(), t)
			status := r.aggregate(t.Context(), t)
			if mode == Observe {
				if err != nil || status != http.StatusOK || len(c.Response.Header) != 0 {
					t.Errorf("observe: %v, %d, %v", err, status, c.Response.Header)
				}
			} else if onion.AsError(err).Status != 503 || status != 503 || fields(c.Response.Header) != "Cache-Control: no-store\nRetry-After: 1" {
				t.Errorf("enforce: %v, %d, %v", err, status, c.Response.Header)
			}
			lines := r.log.lines(t)
			if len(lines) != 2 {
				t.Fatalf("logged %v, want two lines", lines)
			}
			for _, l := range lines {
				if l["event"] != eventRedisError || l["errorClass"] != "timeout" {
					t.Errorf("logged %v", l)
				}
			}

			p.Set(redistest.Forward()) // and it is back at once
			for range 100 {
				if _, err = r.identity(t.Context(), t); err == nil {
					break
				}
			}
			if err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// A caller that goes away while Redis stands still is nobody's failure (A11).
func TestCallerLeavesPausedRedis(t *testing.T) {
	s := redistest.Start(t)
	p := redistest.NewProxy(t, s.Addr())
	r := start(t, runConfig{redis: redisConfig(t, p.Addr(), 50), app: both(Enforce, 1000), clock: clockAt(atMs)})
	r.log.reset() // registering the script may take longer on a busy machine
	p.Set(redistest.Hang())
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, err := r.identity(ctx, t); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	r.aggregate(ctx, t)
	if text := r.log.text(); text != "" {
		t.Errorf("logged %s", text)
	}
}

// Start needs no Redis; that the script is not registered is said (A7).
func TestStartWithoutRedis(t *testing.T) {
	s := redistest.Start(t)
	s.Kill()
	r := start(t, runConfig{redis: redisConfig(t, s.Addr(), longMs), app: both(Enforce, 1000), clock: clockAt(atMs)})
	lines := r.log.lines(t)
	if len(lines) != 1 || lines[0]["errorClass"] != "refused" || strings.Contains(r.log.text(), s.Addr()) {
		t.Errorf("logged %s", r.log.text())
	}
	s.Restart()
	if _, err := r.identity(t.Context(), t); err != nil {
		t.Errorf("with Redis: %v", err)
	}
}

// After the limiter's stop nothing is counted, and the class says why (E2).
func TestStop(t *testing.T) {
	s := redistest.Start(t)
	s.Client() // made before, so that it is no leak
	before := goleak.IgnoreCurrent()
	r := start(t, runConfig{redis: redisConfig(t, s.Addr(), longMs), app: both(Observe, 1), clock: clockAt(atMs), maxEvents: 1})
	for range 3 {
		if _, err := r.identity(t.Context(), t); err != nil {
			t.Fatal(err)
		}
	}
	r.stop(t)
	if _, err := r.identity(t.Context(), t); err != nil {
		t.Fatal(err)
	}
	lines := r.log.lines(t)
	if len(lines) != 3 {
		t.Fatalf("logged %v", lines)
	}
	if l := lines[1]; l["event"] != eventSuppressed || l["suppressed"] != 1.0 {
		t.Errorf("logged %v, want the report of the cap", l)
	}
	if l := lines[2]; l["event"] != eventRedisError || l["errorClass"] != "canceled" {
		t.Errorf("logged %v, want canceled", l)
	}
	goleak.VerifyNone(t, before)
}

// Without a-redis before it the module says what to do.
func TestModuleOrder(t *testing.T) {
	err := Module().(onion.Provider).Provide(onion.NewEnv("test", onion.ModeTest, "normal", nil, nil))
	if err == nil || !strings.Contains(err.Error(), "list the module a-redis before it") {
		t.Error(err)
	}
}

package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/vonago/vonago/onion"
)

// bucket is a budget of a window.
type bucket struct {
	app, instance, policy, client string
	window                        int64
}

// spent is what of a budget was admitted.
type spent struct {
	admitted int
	kills    int // when the first was
	last     time.Time
}

// ledger knows what was admitted and what went wrong.
type ledger struct {
	mu       sync.Mutex
	kills    int
	budgets  map[bucket]*spent
	statuses map[int]int
	events   map[string]int
	fullest  int // how many budgets were spent to the last
	wrong    []string
	faults   int
	panics   int
	left     int // callers that went away
	admitted chan struct{}
}

func newLedger() *ledger {
	return &ledger{budgets: map[bucket]*spent{}, statuses: map[int]int{}, events: map[string]int{}, admitted: make(chan struct{}, 1)}
}

// fail notes what did not hold.
func (l *ledger) fail(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults++
	if len(l.wrong) < 20 {
		l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
	}
}

// admit enters an admission, and looks whether the budget was exceeded.
func (l *ledger) admit(b bucket, limit int) {
	l.mu.Lock()
	s := l.budgets[b]
	if s == nil {
		s = &spent{kills: l.kills}
		l.budgets[b] = s
	}
	s.admitted++
	s.last = time.Now()
	admitted, kills := s.admitted, l.kills-s.kills
	if admitted == limit {
		l.fullest++
	}
	l.mu.Unlock()
	if admitted > limit*(1+kills) {
		l.fail("%+v: %d admitted, the limit is %d, and Redis was killed %d times", b, admitted, limit, kills)
	}
	select {
	case l.admitted <- struct{}{}:
	default:
	}
}

// killed notes that Redis is about to lose its counts.
func (l *ledger) killed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kills++
}

// forget drops the budgets of windows that are over.
func (l *ledger) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for b, s := range l.budgets {
		if time.Since(s.last) > 30*time.Second && b.window%day != 0 {
			delete(l.budgets, b)
		}
	}
}

const day = 86_400_000

type visitKey struct{}

// visit is a request as the onions around the limiter see it.
type visit struct {
	at     int64 // when it came in, in milliseconds
	events []string
}

// policy is a budget as the configuration of the run gives it.
type policy struct {
	limit    int
	windowMs int64
}

// recorder is a module with an onion on each side of both controls, and the logger of its application.
type recorder struct {
	onion.Basic

	app      string
	enforces bool
	ledger   *ledger
	policies map[string]policy // by instance and policy
}

func newRecorder(app string, enforces bool, l *ledger, policies map[string]policy) *recorder {
	r := &recorder{app: app, enforces: enforces, ledger: l, policies: policies}
	build := func(w onion.Wrap) func(onion.NoOptions, onion.Env) (onion.Wrap, error) {
		return func(onion.NoOptions, onion.Env) (onion.Wrap, error) { return w, nil }
	}
	r.Basic = onion.Basic{ModuleName: "soak-ledger", ModuleOnions: []onion.Onion{
		onion.SystemMiddleware("soak-ledger:before", onion.NoDefaults, build(r.before), onion.After("a-logger:httpLog"), onion.Before("a-ratelimit:aggregate")),
		onion.SystemMiddleware("soak-ledger:behind", onion.NoDefaults, build(r.behind), onion.After("a-ratelimit:aggregate"), onion.Before("a-core:health")),
		onion.Interceptor("soak-ledger:inside", onion.NoDefaults, build(r.inside), onion.Global(),
			onion.After("a-ratelimit:rateLimit"), onion.Before("a-body:bodyReq")),
	}}
	return r
}

// before is where a request comes in. On its way out the events are compared with the status.
func (r *recorder) before(next onion.Next) onion.Next {
	return func(ctx context.Context, c *onion.Call) (any, error) {
		v := &visit{at: time.Now().UnixMilli()}
		c.Set(visitKey{}, v)
		value, err := next(ctx, c)
		status := c.Response.Written.Status
		if err != nil {
			status = onion.AsError(err).Status
		}
		refused := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
		switch {
		case ctx.Err() != nil: // the caller has left, and gets no event
		case !r.enforces && refused:
			r.ledger.fail("%s %s: %d while observing", c.Method, c.Path, status)
		case refused && len(v.events) != 1, len(v.events) > 2, r.enforces && !refused && len(v.events) != 0:
			r.ledger.fail("%s %s: %d with the events %q", c.Method, c.Path, status, v.events)
		}
		return value, err
	}
}

// behind is where the aggregate has let a request pass.
func (r *recorder) behind(next onion.Next) onion.Next {
	return func(ctx context.Context, c *onion.Call) (any, error) {
		r.enter(c, bucket{app: r.app, policy: "aggregate"}, r.policies["aggregate"])
		return next(ctx, c)
	}
}

// inside is where the identity control has let a request pass.
func (r *recorder) inside(next onion.Next) onion.Next {
	return func(ctx context.Context, c *onion.Call) (any, error) {
		name := "other"
		if c.Route.Action == "limited" {
			name = "limited"
		}
		r.enter(c, bucket{app: r.app, instance: c.Instance, policy: c.Route.Raw, client: c.IP()}, r.policies[c.Instance+"/"+name])
		return next(ctx, c)
	}
}

// enter enters an admission, if it is certain to which window it belongs: the limiter has looked at the clock since the request
// came in.
func (r *recorder) enter(c *onion.Call, b bucket, p policy) {
	v, ok := c.Value(visitKey{}).(*visit)
	if !ok || !r.enforces || p.limit == 0 {
		return
	}
	b.window = v.at / p.windowMs * p.windowMs
	if time.Now().UnixMilli()/p.windowMs*p.windowMs != b.window {
		return
	}
	r.ledger.admit(b, p.limit)
}

// Enabled, Handle, WithAttrs and WithGroup are slog's.
func (r *recorder) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle gives an event to its request, and notes panics.
func (r *recorder) Handle(ctx context.Context, record slog.Record) error {
	text, event := record.Message, ""
	record.Attrs(func(a slog.Attr) bool {
		if a.Key == "event" {
			event = a.Value.String()
		}
		text += " " + a.Key + "=" + a.Value.String()
		return true
	})
	r.ledger.mu.Lock()
	if event != "" {
		r.ledger.events[event]++
	}
	if strings.Contains(text, "panic") {
		r.ledger.panics++
	}
	r.ledger.mu.Unlock()
	if c := onion.CallFrom(ctx); c != nil && strings.HasPrefix(event, "rate_limit.") {
		if v, ok := c.Value(visitKey{}).(*visit); ok {
			v.events = append(v.events, event)
		}
	}
	return nil
}

// WithAttrs keeps nothing: only events are looked at.
func (r *recorder) WithAttrs([]slog.Attr) slog.Handler { return r }

// WithGroup keeps nothing either.
func (r *recorder) WithGroup(string) slog.Handler { return r }

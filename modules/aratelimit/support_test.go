package aratelimit

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// manualClock shows the time it was set to.
type manualClock struct {
	mu  sync.Mutex
	now time.Time
}

func clockAt(ms int64) *manualClock { return &manualClock{now: time.UnixMilli(ms)} }

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) set(ms int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = time.UnixMilli(ms)
}

// counterFunc is a Counter made of a function.
type counterFunc func(ctx context.Context, key string, windowMs int64) (Count, error)

func (f counterFunc) Incr(ctx context.Context, key string, windowMs int64) (Count, error) {
	return f(ctx, key, windowMs)
}

// answers is a Counter that always says the same.
func answers(n int64, err error) Counter {
	return counterFunc(func(context.Context, string, int64) (Count, error) { return Count{N: n, TTL: 1}, err })
}

// logBuffer collects JSON log lines.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// reset forgets what was logged so far.
func (l *logBuffer) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Reset()
}

// lines are the log lines so far, without time and level.
func (l *logBuffer) lines(t *testing.T) []map[string]any {
	t.Helper()
	var list []map[string]any
	for line := range strings.Lines(l.text()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("log line %q: %v", line, err)
		}
		if m["level"] != "WARN" {
			t.Errorf("log line %q: want level WARN", line)
		}
		delete(m, "time")
		delete(m, "level")
		list = append(list, m)
	}
	return list
}

// bench is an environment whose limiter is in the hands of the test.
type bench struct {
	env     onion.Env
	limiter *limiter
	log     *logBuffer
}

func newBench(t testing.TB, counter Counter, clock onion.Clock, maxEvents int) *bench {
	t.Helper()
	log := &logBuffer{}
	env := onion.NewEnv("test", onion.ModeTest, "normal", slog.New(slog.NewJSONHandler(log, nil)), clock)
	m, err := newMetrics(noop.NewMeterProvider())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{env: env, log: log, limiter: &limiter{
		counter: counter, joint: counter, clock: env.Clock, metrics: m, prefix: "limiter_test_local:", ipv6: 128,
		events: newEvents(env.Logger, maxEvents, env.Clock),
	}}
	if err := onion.Provide(env, b.limiter); err != nil {
		t.Fatal(err)
	}
	return b
}

// interceptor builds RateLimit around next.
func (b *bench) interceptor(t testing.TB, p Policy, next onion.Next) onion.Next {
	t.Helper()
	w, err := buildRateLimit(Options{RateLimit: p}, b.env)
	if err != nil {
		t.Fatal(err)
	}
	return w(next)
}

// aggregate builds Aggregate around next.
func (b *bench) aggregate(t testing.TB, p AggregatePolicy, next onion.Next) onion.Next {
	t.Helper()
	w, err := buildAggregate(AggregateOptions{RateLimit: p}, b.env)
	if err != nil {
		t.Fatal(err)
	}
	return w(next)
}

// policy is the default policy with a change.
func policy(change func(*Policy)) Policy {
	p := defaultOptions().RateLimit
	if change != nil {
		change(&p)
	}
	return p
}

func pass(context.Context, *onion.Call) (any, error) { return "passed", nil }

var testRoute = &onion.RouteInfo{
	Bean: "demo-student.controller.student", Action: "get", Method: http.MethodGet, Raw: "/demo/student/:id",
}

// secretAddr and secretUser must show up in no key and no log line.
const (
	secretAddr = "203.0.113.77"
	secretUser = "user-4711"
)

func testCall() *onion.Call {
	c := &onion.Call{Instance: "acme", Addr: netip.MustParseAddr(secretAddr), Route: testRoute, Path: "/api/demo/student/9?q"}
	passport.Set(c, &passport.Passport{User: passport.User{ID: passport.StringID(secretUser)}})
	return c
}

// readVectors decodes a file of recorded cases.
func readVectors[T any](t *testing.T, name string) []T {
	t.Helper()
	data, err := os.ReadFile("../../testdata/vectors/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []T `json:"cases"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(file.Cases) == 0 {
		t.Fatalf("%s holds no cases", name)
	}
	return file.Cases
}

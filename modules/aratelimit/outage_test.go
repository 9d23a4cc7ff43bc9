//go:build unix

package aratelimit

import (
	"context"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/vonago/vonago/internal/redistest"
	"github.com/vonago/vonago/onion"
)

// until repeats what may not be so yet.
func until(t *testing.T, limit time.Duration, what string, is func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !is() {
		if time.Since(began) > limit {
			t.Fatalf("not within %v: %s", limit, what)
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(began)
}

// detail is what the module says in /health/ready; it never objects.
func (r *running) detail(t *testing.T) string {
	t.Helper()
	m := r.modules[1]
	if err := m.(onion.ReadyChecker).Ready(t.Context()); err != nil {
		t.Errorf("not ready: %v", err)
	}
	return m.(onion.ReadyDetailer).ReadyDetail()
}

// An outage from its begin to its end (contract A11): repeated failures open the
// breaker, then nothing is sent and every attempt fails at once and is told; when
// Redis is back requests are admitted within a second, and nothing was sent late.
func TestOutage(t *testing.T) {
	for name, fault := range map[string]redistest.Fault{"hangs": redistest.Hang(), "refuses": redistest.Refuse(), "drops": redistest.Blackhole(0)} {
		t.Run(name, func(t *testing.T) {
			s := redistest.Start(t)
			p := redistest.NewProxy(t, s.Addr())
			m := &meters{counts: map[string]int64{}}
			r := start(t, runConfig{redis: redisConfig(t, p.Addr(), 300), app: both(Enforce, 1_000_000), clock: clockAt(atMs), meters: m})
			until(t, 10*time.Second, "the first request is admitted", func() bool { _, err := r.identity(t.Context(), t); return err == nil })
			if got := r.detail(t); got != "breaker closed" {
				t.Errorf("before: %s", got)
			}

			p.Set(fault)
			until(t, 10*time.Second, "the breaker opens", func() bool { _, _ = r.identity(t.Context(), t); return r.detail(t) == "breaker open" })
			if got := m.collect(t); !maps.Equal(got, map[string]int64{"state=closed": 0, "state=half-open": 0, "state=open": 1}) {
				t.Errorf("metric %v", got)
			}
			r.log.reset()
			quickest := time.Hour
			for range 20 {
				began := time.Now()
				c, err := r.identity(t.Context(), t)
				quickest = min(quickest, time.Since(began))
				if onion.AsError(err).Status != http.StatusServiceUnavailable || c.Response.Header.Get("Retry-After") != "1" {
					t.Fatalf("open: %v, %v", err, c.Response.Header)
				}
			}
			if quickest > time.Millisecond {
				t.Errorf("an attempt takes %v while the breaker is open", quickest)
			}
			lines := r.log.lines(t)
			if len(lines) != 20 {
				t.Errorf("%d lines for 20 decisions", len(lines))
			}
			if l := lines[0]; l["event"] != eventRedisError || l["errorClass"] != "breaker" {
				t.Errorf("logged %v", l)
			}

			p.Set(redistest.Forward())
			p.Cut() // what the fault holds back is not let through
			before := s.Calls("incr")
			attempts := int64(0)
			back := until(t, 10*time.Second, "Redis is found again", func() bool {
				attempts++
				_, err := r.identity(t.Context(), t)
				return err == nil
			})
			if back > time.Second {
				t.Errorf("found again after %v", back)
			}
			if got := s.Calls("incr") - before; got > attempts {
				t.Errorf("%d increments for %d attempts", got, attempts)
			}
			if got := r.detail(t); got != "breaker closed" {
				t.Errorf("afterwards: %s", got)
			}
		})
	}
}

// Callers that go away while Redis hangs do not open the breaker.
func TestLeavingOpensNothing(t *testing.T) {
	s := redistest.Start(t)
	p := redistest.NewProxy(t, s.Addr())
	r := start(t, runConfig{redis: redisConfig(t, p.Addr(), 30), app: both(Enforce, 1_000_000), clock: clockAt(atMs)})
	r.log.reset()
	p.Set(redistest.Hang())
	ctx, leave := context.WithCancel(t.Context())
	leave()
	for range 10 {
		_, _ = r.identity(ctx, t)
		r.aggregate(ctx, t)
	}
	if got := r.detail(t); got != "breaker closed" || r.log.text() != "" {
		t.Errorf("%s, logged %s", got, r.log.text())
	}
}

// A key that holds something else is the matter of this key alone.
func TestWrongTypeOpensNothing(t *testing.T) {
	s := redistest.Start(t)
	c := newCounter(t, redisConfig(t, s.Addr(), longMs))
	s.Do("RPUSH", "list", "x")
	s.Do("SET", "text", "x")
	s.Do("SET", "full", "9223372036854775807")
	for range 10 {
		for _, key := range []string{"list", "text", "full"} {
			if _, err := c.Incr(t.Context(), key, 60_000); classOf(err) != classOther {
				t.Fatalf("%s: %v", key, err)
			}
		}
	}
	if n := incr(t, c, "k"); n.N != 1 {
		t.Errorf("%+v", n)
	}
}

// The breaker's metric ends with the module.
func TestBreakerMetricEnds(t *testing.T) {
	s := redistest.Start(t)
	m := &meters{counts: map[string]int64{}}
	r := start(t, runConfig{redis: redisConfig(t, s.Addr(), longMs), app: both(Enforce, 1), meters: m})
	if len(m.collect(t)) != 3 {
		t.Errorf("observed %v", m.collect(t))
	}
	r.stop(t)
	if got := m.collect(t); len(got) != 0 {
		t.Errorf("afterwards %v", got)
	}
}

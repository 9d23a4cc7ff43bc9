package testapp

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/internal/redistest"
)

// hands is a clock that shows what it was set to, or the system's time with an offset.
type hands struct {
	mu     sync.Mutex
	at     time.Time
	offset time.Duration
	goes   bool
}

func (h *hands) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.goes {
		return time.Now().Add(h.offset)
	}
	return h.at
}

func (h *hands) set(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = at
}

func (h *hands) add(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = h.at.Add(d)
}

// timed is an application with a clock of its own and one policy for all.
func timed(t *testing.T, redis *redistest.Server, clock *hands, limit int64, windowMs int) *Server {
	t.Helper()
	return Start(t, Setup{
		Redis: redis, Options: []app.Option{app.WithClock(clock), app.WithoutWatch()},
		Local: fmt.Sprintf("onions: {interceptor: {a-ratelimit:rateLimit: {enable: true, rateLimit: {mode: enforce, limit: %d, windowMs: %d}}}}\n", limit, windowMs),
	})
}

func (s *Server) hello(t *testing.T) *http.Response {
	t.Helper()
	res, body := s.Do(t, http.MethodGet, "/api/test/vona/probe/hello", "")
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	return res
}

func number(t *testing.T, res *http.Response, field string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(res.Header.Get(field), 10, 64)
	if err != nil {
		t.Errorf("%s is %q", field, res.Header.Get(field))
	}
	return n
}

// TestWindows is contract A9 at windows of a second, one and a half and a day: budgets begin anew exactly at the boundary, and
// who waits as long as Retry-After says is admitted, always, wherever in the window.
func TestWindows(t *testing.T) {
	redis := redistest.Start(t)
	epoch := time.Date(2026, 6, 15, 0, 0, 0, 0, time.UTC)
	for _, windowMs := range []int{1000, 1500, 86_400_000} {
		t.Run(fmt.Sprint(windowMs), func(t *testing.T) {
			redis.FlushAll()
			window := time.Duration(windowMs) * time.Millisecond
			clock := &hands{}
			s := timed(t, redis, clock, 2, windowMs)
			start := time.UnixMilli(epoch.UnixMilli() / int64(windowMs) * int64(windowMs))
			for i, offset := range []time.Duration{0, 1, window / 3, window/2 - 1, window / 2, window - time.Second, window - 999*time.Millisecond, window - 2*time.Millisecond, window - time.Millisecond, window - 1} {
				if offset < 0 {
					continue
				}
				// Every round has two windows of its own.
				begin := start.Add(time.Duration(3*i) * window)
				patiently(t, func() []string {
					redis.FlushAll()
					return roundTheWindow(t, s, clock, begin, window, offset)
				})
			}
		})
	}
}

// patiently plays a round again that took longer than Redis keeps the counter of a second: its clock cannot be set.
func patiently(t *testing.T, round func() (wrong []string)) {
	t.Helper()
	for range 20 {
		began := time.Now()
		wrong := round()
		if time.Since(began) > 900*time.Millisecond {
			continue
		}
		for _, w := range wrong {
			t.Error(w)
		}
		return
	}
	t.Error("this machine does not get a round done within a second")
}

// roundTheWindow spends a budget of two at some time of a window, and looks when there is another.
func roundTheWindow(t *testing.T, s *Server, clock *hands, begin time.Time, window, offset time.Duration) (wrong []string) {
	t.Helper()
	fail := func(format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf("at %v of %v: ", offset, window)+fmt.Sprintf(format, args...))
	}
	clock.set(begin.Add(offset))
	left := begin.Add(window).Sub(clock.Now().Truncate(time.Millisecond))
	want := max(1, (left.Milliseconds()+999)/1000)
	for n := range 2 {
		res := s.hello(t)
		if res.StatusCode != http.StatusOK || number(t, res, "RateLimit-Remaining") != int64(1-n) || number(t, res, "RateLimit-Reset") != want {
			fail("request %d: %d %v, want a reset in %d", n, res.StatusCode, res.Header, want)
		}
	}
	res := s.hello(t)
	if res.StatusCode != http.StatusTooManyRequests || number(t, res, "RateLimit-Reset") != want || res.Header.Get("Retry-After") != fmt.Sprint(want) {
		fail("%d %v, want 429 and %d", res.StatusCode, res.Header, want)
	}
	clock.set(begin.Add(window - time.Millisecond))
	if res := s.hello(t); res.StatusCode != http.StatusTooManyRequests {
		fail("a millisecond before the end of the window: %d", res.StatusCode)
	}
	clock.set(begin.Add(window))
	if res := s.hello(t); res.StatusCode != http.StatusOK {
		fail("at the end of the window: %d", res.StatusCode)
	}
	clock.set(begin.Add(offset + time.Duration(want)*time.Second))
	if res := s.hello(t); res.StatusCode != http.StatusOK {
		fail("who has waited for %d s is answered %d", want, res.StatusCode)
	}
	return wrong
}

// TestExtremeLimits: the least and the greatest limit.
func TestExtremeLimits(t *testing.T) {
	redis := redistest.Start(t)
	clock := &hands{at: time.Now()}
	s := timed(t, redis, clock, 1, 86_400_000)
	if res := s.hello(t); res.StatusCode != http.StatusOK || number(t, res, "RateLimit-Limit") != 1 || number(t, res, "RateLimit-Remaining") != 0 {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	if res := s.hello(t); res.StatusCode != http.StatusTooManyRequests || number(t, res, "RateLimit-Remaining") != 0 {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	redis.FlushAll()
	const most = 1<<53 - 1
	s = timed(t, redis, clock, most, 86_400_000)
	if res := s.hello(t); res.StatusCode != http.StatusOK || number(t, res, "RateLimit-Limit") != most || number(t, res, "RateLimit-Remaining") != most-1 {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	key := redis.Keys("*")[0]
	for at, want := range map[int64]int{most - 1: http.StatusOK, most: http.StatusTooManyRequests} {
		redis.Do("SET", key, at, "KEEPTTL")
		if res := s.hello(t); res.StatusCode != want {
			t.Errorf("number %d: %d", at+1, res.StatusCode)
		}
	}
}

// TestClockSteps: a clock that is set forward or back finds the budget of the window it shows, spent or not; going back and
// forth makes none.
func TestClockSteps(t *testing.T) {
	redis := redistest.Start(t)
	now := time.Now().Truncate(24 * time.Hour)
	clock := &hands{at: now}
	s := timed(t, redis, clock, 3, 86_400_000)
	admitted := 0
	for range 20 {
		for _, step := range []time.Duration{0, 24 * time.Hour, -24 * time.Hour, time.Hour, -time.Hour} {
			clock.add(step)
			if s.hello(t).StatusCode == http.StatusOK {
				admitted++
			}
		}
	}
	// It showed two days: the one it began with, and the one after it.
	if admitted != 6 {
		t.Errorf("%d admitted in two windows of 3", admitted)
	}
	clock.set(time.UnixMilli(-1)) // a clock that was never set
	for n := range 4 {
		if got := s.hello(t).StatusCode; (got == http.StatusOK) != (n < 3) {
			t.Errorf("before 1970, request %d: %d", n, got)
		}
	}
}

// TestSkewedHosts lets two hosts, whose clocks are seven tenths of a window apart, spend what they can for some windows of real
// time: none of the windows that either of them knows has more than two budgets, its own and one extra.
func TestSkewedHosts(t *testing.T) {
	const limit, windows = 5, 4
	redis := redistest.Start(t)
	ahead := &hands{goes: true, offset: 700 * time.Millisecond}
	hosts := []*Server{timed(t, redis, &hands{goes: true}, limit, 1000), timed(t, redis, ahead, limit, 1000)}
	var mu sync.Mutex
	admitted := 0
	begin := time.Now()
	end := begin.Truncate(time.Second).Add((windows + 1) * time.Second)
	var all sync.WaitGroup
	for _, s := range hosts {
		all.Go(func() {
			for time.Now().Before(end) {
				if s.hello(t).StatusCode == http.StatusOK {
					mu.Lock()
					admitted++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	// The windows that begin, are under way or end meanwhile, by either clock.
	seen := int(ahead.Now().Unix()-begin.Unix()) + 1
	if admitted > 2*limit*seen {
		t.Errorf("%d admitted in %d windows of %d", admitted, seen, limit)
	}
	if admitted < limit*windows {
		t.Errorf("%d admitted in %d windows of %d: too few", admitted, seen, limit)
	}
	t.Logf("%d admitted in %d windows of %d", admitted, seen, limit)
}

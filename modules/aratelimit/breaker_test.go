package aratelimit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

func testBreaker(change func(*BreakerConfig)) *breaker {
	cfg := DefaultConfig().Breaker
	if change != nil {
		change(&cfg)
	}
	return newBreaker(cfg)
}

// trip makes a round trip with a known end and tells whether it was made.
func trip(b *breaker, end error) bool {
	made := false
	err := b.try(func() (struct{}, error) { made = true; return struct{}{}, end })
	return made && err == nil
}

func trips(b *breaker, n int, end error) {
	for range n {
		trip(b, end)
	}
}

// When the breaker opens, and when it does not.
func TestBreakerOpens(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  func(*BreakerConfig)
		do   func(*breaker)
		want state
	}{
		{"four failures in a row", nil, func(b *breaker) { trips(b, 4, errFailed) }, stateClosed},
		{"five failures in a row", nil, func(b *breaker) { trips(b, 5, errFailed) }, stateOpen},
		{"a success between them", nil, func(b *breaker) { trips(b, 4, errFailed); trip(b, nil); trips(b, 4, errFailed) }, stateClosed},
		{"a result between them that proves nothing", nil, func(b *breaker) {
			trips(b, 4, errFailed)
			trips(b, 1, errNoSign)
			trip(b, errFailed)
		}, stateOpen},
		{"nothing but results that prove nothing", nil, func(b *breaker) { trips(b, 1000, errNoSign) }, stateClosed},
		{"half of 20, spread", nil, func(b *breaker) {
			for range 10 {
				trip(b, nil)
				trip(b, errFailed)
			}
		}, stateOpen},
		{"half of 19, spread", nil, func(b *breaker) {
			for range 9 {
				trip(b, errFailed)
				trip(b, nil)
			}
			trip(b, errFailed)
		}, stateClosed},
		{"half of 20, over more than the window", nil, func(b *breaker) {
			for range 10 {
				trip(b, nil)
				trip(b, errFailed)
				time.Sleep(1300 * time.Millisecond)
			}
		}, stateClosed},
		{"a lower bar", func(c *BreakerConfig) { c.ErrorRate, c.MinRequests = 0.1, 10 }, func(b *breaker) { trips(b, 9, nil); trip(b, errFailed) }, stateOpen},
		{"fewer failures", func(c *BreakerConfig) { c.Failures = 1 }, func(b *breaker) { trip(b, errFailed) }, stateOpen},
		{"off", func(c *BreakerConfig) { c.Enable = false }, func(b *breaker) { trips(b, 1000, errFailed) }, stateClosed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := testBreaker(tc.cfg)
				tc.do(b)
				if got := b.state(); got != tc.want {
					t.Errorf("%s, want %s", got, tc.want)
				}
				if got := trip(b, nil); got != (tc.want == stateClosed) {
					t.Errorf("%s, and a round trip was made: %v", tc.want, got)
				}
			})
		})
	}
}

// Half-open, so many probes are under way as configured and no more; their
// successes close, one failure opens again.
func TestBreakerProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := testBreaker(func(c *BreakerConfig) { c.Probes = 2 })
		trips(b, 5, errFailed)
		time.Sleep(250 * time.Millisecond)
		if trip(b, nil) {
			t.Fatal("a round trip before the time was over")
		}
		time.Sleep(time.Millisecond)
		ends := make(chan error)
		probe := func() {
			go func() { _ = b.try(func() (struct{}, error) { return struct{}{}, <-ends }) }()
			synctest.Wait()
		}
		probe()
		if b.state() != stateHalfOpen {
			t.Fatalf("state %s", b.state())
		}
		probe()
		if trip(b, nil) {
			t.Fatal("a third probe")
		}
		ends <- nil
		ends <- errFailed
		synctest.Wait()
		if b.state() != stateOpen || trip(b, nil) {
			t.Fatalf("after a failed probe: %s", b.state())
		}
		time.Sleep(251 * time.Millisecond)
		for range 50 { // a probe that proves nothing does not use up a place
			if !trip(b, errNoSign) {
				t.Fatal("probing is starved")
			}
		}
		if !trip(b, nil) || b.state() != stateHalfOpen || !trip(b, nil) || b.state() != stateClosed {
			t.Fatalf("after two successes: %s", b.state())
		}
	})
}

// A failure that began before the breaker opened says nothing of the time after.
func TestBreakerIgnoresLateResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := testBreaker(nil)
		late := make(chan error)
		go func() { _ = b.try(func() (struct{}, error) { return struct{}{}, <-late }) }()
		synctest.Wait()
		trips(b, 5, errFailed)
		time.Sleep(251 * time.Millisecond)
		if !trip(b, nil) {
			t.Fatal("no probe")
		}
		late <- errFailed
		synctest.Wait()
		trips(b, 4, errFailed)
		if b.state() != stateClosed {
			t.Errorf("state %s", b.state())
		}
	})
}

type replyError string

func (e replyError) Error() string { return string(e) }
func (replyError) RedisError()     {}

// What counts as a failure of Redis.
func TestSign(t *testing.T) {
	for _, tc := range []struct {
		err  error
		left bool
		want error
	}{
		{nil, false, nil},
		{nil, true, nil},
		{context.DeadlineExceeded, false, errFailed},
		{context.DeadlineExceeded, true, errNoSign},
		{errors.New("something else"), false, errFailed},
		{errReply, false, errFailed},
		{redis.Nil, false, errFailed},
		{errStopped, false, errNoSign},
		{redis.ErrClosed, false, errNoSign},
		{replyError("WRONGTYPE Operation against a key holding the wrong kind of value"), false, nil},
		{replyError("OOM command not allowed when used memory > 'maxmemory'."), false, errFailed},
		{replyError("READONLY You can't write against a read only replica."), false, errFailed},
		{replyError("NOAUTH Authentication required."), false, errFailed},
		{replyError("CLUSTERDOWN The cluster is down"), false, errFailed},
		{replyError("LOADING Redis is loading the dataset in memory"), false, errFailed},
	} {
		if got := sign(tc.err, tc.left); !errors.Is(got, tc.want) || (got == nil) != (tc.want == nil) {
			t.Errorf("%v, left %v: %v, want %v", tc.err, tc.left, got, tc.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	for _, tc := range []struct {
		states map[state]int
		want   string
	}{
		{nil, "breaker closed"},
		{map[state]int{stateClosed: 1}, "breaker closed"},
		{map[state]int{stateOpen: 1}, "breaker open"},
		{map[state]int{stateHalfOpen: 1}, "breaker half-open"},
		{map[state]int{stateClosed: 3}, "breaker closed"},
		{map[state]int{stateClosed: 2, stateOpen: 1}, "breaker open (1 of 3)"},
		{map[state]int{stateClosed: 1, stateHalfOpen: 1, stateOpen: 1}, "breaker open (2 of 3)"},
	} {
		if got := describe(tc.states); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.states, got, tc.want)
		}
	}
}

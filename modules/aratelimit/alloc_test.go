//go:build !race

// The race detector drops pooled values at random, so allocations can only be
// counted without it.

package aratelimit

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vonago/vonago/onion"
)

// What a decision allocates, Redis aside: the key; with headers, the list of
// their values and the numbers from 100 on.
func TestAllocs(t *testing.T) {
	b := newBench(t, answers(1, nil), clockAt(atMs), 0)
	c := testCall()
	c.Response.Header = http.Header{}
	for _, tc := range []struct {
		name string
		run  onion.Next
		want float64
	}{
		{"observe", b.interceptor(t, policy(func(p *Policy) { p.Mode = Observe }), pass), 1},
		{"no headers", b.interceptor(t, policy(func(p *Policy) { p.Headers = onion.Off }), pass), 1},
		{"headers", b.interceptor(t, policy(func(p *Policy) { p.Limit = 100 }), pass), 2},
		{"headers, large numbers", b.interceptor(t, policy(func(p *Policy) { p.WindowMs = 3_600_000 }), pass), 4},
		{"aggregate", b.aggregate(t, AggregatePolicy{Mode: Enforce, Limit: 1}, pass), 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx := t.Context()
			got := testing.AllocsPerRun(200, func() {
				if _, err := tc.run(ctx, c); err != nil {
					t.Fatal(err)
				}
			})
			if got != tc.want {
				t.Errorf("%v allocations, want %v", got, tc.want)
			}
		})
	}
}

// stub answers in the place of a server, so that what is left is go-redis and us.
type stub struct{ reply []any }

func (*stub) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *stub) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		cmd.(*redis.Cmd).SetVal(s.reply)
		return nil
	}
}

func (s *stub) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			cmd.(*redis.Cmd).SetVal(s.reply)
		}
		return nil
	}
}

// stubbed is a counter without a server, in which any count is right.
func stubbed(t *testing.T) *redisCounter {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = client.Close() })
	client.AddHook(&stub{reply: []any{int64(1 << 20), int64(60_000)}})
	c := newRedisCounter(client, time.Minute, DefaultConfig().Breaker, slog.New(slog.DiscardHandler))
	t.Cleanup(c.stop)
	return c
}

// Breaker, lane, deadline and verdict of an attempt allocate nothing: what counting
// costs is go-redis' own, the command and its arguments. Those who travel together
// share the list of arguments and the window's length, which saves two for each.
func TestAllocCounter(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := stubbed(t)
	lane := c.lanes.anyNode
	hash, key, windowMs := single.hash, strings.Repeat("key", 20), policy(nil).WindowMs // in variables, as in earnest

	bare := testing.AllocsPerRun(1000, func() {
		cmd := redis.NewCmd(ctx, "evalsha", hash, 1, key, windowMs)
		if err := c.client.Process(ctx, cmd); err != nil {
			t.Fatal(err)
		}
	})
	one := func(counter Counter) float64 {
		return testing.AllocsPerRun(1000, func() {
			if _, err := counter.Incr(ctx, key, 60_000); err != nil {
				t.Fatal(err)
			}
		})
	}
	if got := one(c); got != bare {
		t.Errorf("an attempt alone: %v allocations, of which %v are go-redis'", got, bare)
	}

	const n = 64
	barePipe := testing.AllocsPerRun(1000, func() {
		pipe := c.client.Pipeline()
		for range n {
			_ = pipe.Process(ctx, redis.NewCmd(ctx, "evalsha", hash, 1, key, windowMs))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			t.Fatal(err)
		}
	})
	together := func(s *script) float64 {
		return testing.AllocsPerRun(1000, func() {
			f := newFlight()
			for range n {
				f.add(newAttempt(ctx, key, 60_000, s, time.Now().Add(time.Minute)))
			}
			lane.carry(ctx, f)
			for _, a := range f.all {
				a.answer()
				if _, err := a.wait(ctx); err != nil {
					t.Fatal(err)
				}
			}
			f.done()
		})
	}
	if got, want := together(single), barePipe-2*(n-1); got != want {
		t.Errorf("%d attempts together: %v allocations, want %v: %v are go-redis'", n, got, want, barePipe)
	}
	if got, want := together(joint), bare; got != want { // n is below 256, for which Go has a place ready
		t.Errorf("%d attempts in one command: %v allocations, want those of one, %v", n, got, want)
	}
}

// An open breaker costs nothing.
func TestAllocOpenBreaker(t *testing.T) {
	c := stubbed(t)
	trips(c.lanes.anyNode.breaker, 5, errFailed)
	got := testing.AllocsPerRun(1000, func() {
		if _, err := c.Incr(t.Context(), "k", 60_000); !errors.Is(err, errOpen) {
			t.Fatal(err)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkInterceptor(b *testing.B) {
	bench := newBench(b, answers(1, nil), nil, 0)
	run := bench.interceptor(b, policy(nil), pass)
	c := testCall()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := run(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

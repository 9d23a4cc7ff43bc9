//go:build unix

package aratelimit

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vonago/vonago/internal/redistest"
)

// contender counts one attempt somehow.
type contender struct {
	name string
	open func(b *testing.B, addr string) func(ctx context.Context, key string) error
}

// plain is what one writes without thinking of it: EVALSHA by go-redis as it is.
var plain = contender{"plain", func(b *testing.B, addr string) func(context.Context, string) error {
	client := redis.NewClient(&redis.Options{Addr: addr})
	b.Cleanup(func() { _ = client.Close() })
	hash := client.ScriptLoad(b.Context(), singleText).Val()
	return func(ctx context.Context, key string) error {
		return client.EvalSha(ctx, hash, []string{key}, 60_000).Err()
	}
}}

// auto is go-redis' own batching, in the form for callers that wait.
var auto = contender{"autopipeline", func(b *testing.B, addr string) func(context.Context, string) error {
	client := redis.NewClient(&redis.Options{Addr: addr})
	b.Cleanup(func() { _ = client.Close() })
	hash := client.ScriptLoad(b.Context(), singleText).Val()
	pipe, err := client.AutoPipeline()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = pipe.Close() })
	return func(ctx context.Context, key string) error {
		return pipe.EvalSha(ctx, hash, []string{key}, 60_000).Err()
	}
}}

var lanesContender = contender{"ours", func(b *testing.B, addr string) func(context.Context, string) error {
	c := newCounter(b, redisConfig(b, addr, longMs))
	b.Cleanup(c.stop)
	return func(ctx context.Context, key string) error {
		_, err := c.Incr(ctx, key, 60_000)
		return err
	}
}}

var jointContender = contender{"joint", func(b *testing.B, addr string) func(context.Context, string) error {
	c := jointCounter{newCounter(b, redisConfig(b, addr, longMs))}
	b.Cleanup(c.stop)
	return func(ctx context.Context, key string) error {
		_, err := c.Incr(ctx, key, 60_000)
		return err
	}
}}

// BenchmarkDecisions measures decisions per second and the 99th percentile of
// their time with so many callers that wait for one each. "trips/op" are the round
// trips per decision that the server has read.
func BenchmarkDecisions(b *testing.B) {
	for _, waiters := range []int{1, 64, 256} {
		for _, hot := range []bool{false, true} {
			list := []contender{plain, auto, lanesContender}
			if hot {
				list = []contender{plain, jointContender}
			}
			for _, c := range list {
				b.Run(fmt.Sprintf("waiters=%d/hot=%v/%s", waiters, hot, c.name), func(b *testing.B) {
					s := redistest.Start(b)
					decide(b, s, waiters, hot, c.open(b, s.Addr()))
				})
			}
		}
	}
}

func decide(b *testing.B, s *redistest.Server, waiters int, hot bool, count func(context.Context, string) error) {
	keys := make([]string, 1024)
	for i := range keys {
		keys[i] = "limiter_bench:rate-limit:v1::demo-student.controller.student%3Aget:get%3A%2Fdemo%2Fstudent%2F%3Aid:" + strconv.Itoa(i)
		if hot {
			keys[i] = "limiter_bench:rate-limit:v1:aggregate:1796072074000"
		}
	}
	if err := count(b.Context(), keys[0]); err != nil {
		b.Fatal(err)
	}
	reads := func() int64 {
		text := s.Client().Info(b.Context(), "stats").Val()
		_, rest, _ := strings.Cut(text, "total_reads_processed:")
		digits, _, _ := strings.Cut(rest, "\r")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	before := reads()
	var next atomic.Int64
	var wg sync.WaitGroup
	times := make([][]time.Duration, waiters)
	b.ReportAllocs()
	b.ResetTimer()
	for w := range waiters {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(b.Context()) // each has its own, as requests have
			defer cancel()
			for {
				i := next.Add(1)
				if i > int64(b.N) {
					return
				}
				began := time.Now()
				if err := count(ctx, keys[i%int64(len(keys))]); err != nil {
					b.Error(err)
					return
				}
				times[w] = append(times[w], time.Since(began))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	all := slices.Concat(times...)
	slices.Sort(all)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
	b.ReportMetric(float64(all[len(all)*50/100].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(reads()-before)/float64(b.N), "trips/op")
}

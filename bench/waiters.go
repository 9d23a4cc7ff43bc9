package bench

import (
	"context"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/internal/redistest"
)

// outcome is what one slice of decisions came to.
type outcome struct {
	perSecond       float64
	p50, p99        float64 // microseconds
	trips, commands float64 // per decision
	allocations     float64 // per decision, of all goroutines
	clientCPU       float64 // microseconds per decision, of this process
}

// crowd is so many callers that each wait for a decision before they ask for the
// next.
type crowd struct {
	waiters int
	keys    []string
	redis   *redistest.Server
}

// newCrowd asks about 1024 keys in turn, or about a single one.
func newCrowd(waiters int, hot bool, redis *redistest.Server) *crowd {
	c := &crowd{waiters: waiters, redis: redis, keys: []string{"bench:rate-limit:v1:aggregate:1796072074000"}}
	if hot {
		return c
	}
	c.keys = make([]string, 1024)
	for i := range c.keys {
		c.keys[i] = "bench:rate-limit:v1::demo-student.controller.student%3Aview:get%3A%2Fdemo%2Fstudent%2F%3Aid:" + strconv.Itoa(i)
	}
	return c
}

// run asks for the length of a slice.
func (c *crowd) run(tb testing.TB, slice time.Duration, decide decider) outcome {
	tb.Helper()
	times := make([][]time.Duration, c.waiters)
	for i := range times {
		times[i] = make([]time.Duration, 0, 1<<14)
	}
	runtime.GC()
	before := c.look(tb)
	began := time.Now()
	var wg sync.WaitGroup
	for w := range c.waiters {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(context.Background()) // like a request's: its own, and it can end
			defer cancel()
			for i, start := w, time.Now(); start.Sub(began) <= slice; i += c.waiters {
				if err := decide(ctx, c.keys[i%len(c.keys)]); err != nil {
					tb.Errorf("a decision failed: %v", err)
					return
				}
				end := time.Now() // one look at the clock for each: it is not free either
				times[w] = append(times[w], end.Sub(start))
				start = end
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	after := c.look(tb)
	all := slices.Concat(times...)
	slices.Sort(all)
	n := float64(len(all))
	if n == 0 {
		tb.Fatal("no decision was made")
	}
	micro := func(share int) float64 { return float64(all[(len(all)-1)*share/100].Nanoseconds()) / 1e3 }
	return outcome{
		perSecond: n / took.Seconds(), p50: micro(50), p99: micro(99),
		trips: float64(after.reads-before.reads) / n, commands: float64(after.scripts-before.scripts) / n,
		allocations: float64(after.mallocs-before.mallocs) / n,
		clientCPU:   float64((after.cpu - before.cpu).Microseconds()) / n,
	}
}

// sight is what the counters of the server and of this process say.
type sight struct {
	reads, scripts int64 // read events, each a round trip that brought commands; script commands
	mallocs        uint64
	cpu            time.Duration
}

func (c *crowd) look(tb testing.TB) sight {
	tb.Helper()
	s := sight{cpu: cpuTime()}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	s.mallocs = memory.Mallocs
	info := c.redis.Client().Info(context.Background(), "stats", "commandstats").Val()
	s.reads = field(tb, info, "total_reads_processed:")
	for _, command := range []string{"eval", "evalsha"} {
		if head := "cmdstat_" + command + ":calls="; strings.Contains(info, head) {
			s.scripts += field(tb, info, head)
		}
	}
	return s
}

// field reads a number out of INFO.
func field(tb testing.TB, info, head string) int64 {
	tb.Helper()
	_, rest, _ := strings.Cut(info, head)
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	n, err := strconv.ParseInt(rest[:max(0, end)], 10, 64)
	if err != nil {
		tb.Fatalf("INFO has no %s", head)
	}
	return n
}

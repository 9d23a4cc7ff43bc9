//go:build unix

package aratelimit

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vonago/vonago/internal/redistest"
)

// ordinals collects who was given which ordinal of which window.
type ordinals struct {
	mu    sync.Mutex
	given map[string]map[int64]bool
	twice []string
}

func (o *ordinals) take(window string, n int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.given[window] == nil {
		o.given[window] = map[int64]bool{}
	}
	if o.given[window][n] {
		o.twice = append(o.twice, fmt.Sprintf("%s:%d", window, n))
	}
	o.given[window][n] = true
}

// 256 goroutines draw 100,000 ordinals over four counters, as of four processes,
// while connections break, hang and lose replies. Each ordinal of a window is given
// at most once; what Redis counted beyond those given are attempts that failed;
// and without failures every ordinal is given. (Contract A7, B4.)
func TestOrdinals(t *testing.T) {
	const callers, total, perWindow = 256, 100_000, 20_000
	for _, faults := range []bool{false, true} {
		t.Run("faults="+strconv.FormatBool(faults), func(t *testing.T) {
			s := redistest.Start(t)
			counters, proxies := make([]Counter, 4), make([]*redistest.Proxy, 4)
			for i := range counters {
				proxies[i] = redistest.NewProxy(t, s.Addr())
				c := newCounter(t, redisConfig(t, proxies[i].Addr(), map[bool]int{false: longMs, true: 200}[faults]))
				c.lanes = newLanes(c.client, c.timeout, BreakerConfig{}, slog.New(slog.DiscardHandler))
				t.Cleanup(c.stop)
				counters[i] = jointCounter{c}
			}
			all := ordinals{given: map[string]map[int64]bool{}}
			var drawn, tries atomic.Int64
			var failed sync.Map // by window, *atomic.Int64
			var wg, chaos sync.WaitGroup
			done := make(chan struct{})
			if faults {
				chaos.Go(func() { disturb(proxies, done) })
			}
			for w := range callers {
				wg.Go(func() {
					for {
						n := drawn.Add(1)
						if n > total {
							return
						}
						window := "window:" + strconv.FormatInt(n/perWindow, 10)
						for { // a failed attempt is lost; another one draws in its place
							i := tries.Add(1)
							count, err := counters[(int64(w)+i)%4].Incr(t.Context(), window, 86_400_000)
							if err == nil {
								all.take(window, count.N)
								break
							}
							lost, _ := failed.LoadOrStore(window, &atomic.Int64{})
							lost.(*atomic.Int64).Add(1)
						}
					}
				})
			}
			wg.Wait()
			close(done)
			chaos.Wait()

			if len(all.twice) > 0 {
				t.Errorf("%d ordinals were given twice: %v", len(all.twice), all.twice[:min(10, len(all.twice))])
			}
			given, failures := 0, int64(0)
			for window, numbers := range all.given {
				given += len(numbers)
				lost := int64(0)
				if n, ok := failed.Load(window); ok {
					lost = n.(*atomic.Int64).Load()
				}
				failures += lost
				counted, err := strconv.ParseInt(s.Do("GET", window).(string), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				for n := range numbers {
					if n < 1 || n > counted {
						t.Errorf("%s: the ordinal %d of %d", window, n, counted)
					}
				}
				if missing := counted - int64(len(numbers)); missing < 0 || missing > lost {
					t.Errorf("%s: %d counted, %d given, %d failed", window, counted, len(numbers), lost)
				}
			}
			if given != total {
				t.Errorf("%d ordinals were given, want %d", given, total)
			}
			if faults == (failures == 0) {
				t.Errorf("%d attempts failed", failures)
			}
			t.Logf("%d attempts, %d failed, %d commands", tries.Load(), failures, s.Calls("incrby"))
		})
	}
}

// disturb breaks one connection after the other in every way.
func disturb(proxies []*redistest.Proxy, done <-chan struct{}) {
	faults := []redistest.Fault{
		redistest.LoseReply().On("evalsha").Times(1), redistest.Swallow().On("evalsha").Times(1),
		redistest.Garbage("*2\r\n:1\r\n").On("evalsha").Times(1), redistest.Blackhole(500), redistest.Hang(), redistest.Refuse(),
	}
	for {
		p := proxies[rand.IntN(len(proxies))]
		p.Set(faults[rand.IntN(len(faults))])
		select {
		case <-done:
			p.Set(redistest.Forward())
			return
		case <-time.After(5 * time.Millisecond): // how long the fault lasts
			p.Set(redistest.Forward())
			p.Cut()
		}
	}
}

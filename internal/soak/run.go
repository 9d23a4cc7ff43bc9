package main

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/internal/redistest"
	"github.com/vonago/vonago/internal/testapp"
	"github.com/vonago/vonago/onion"
)

// config says how a run is made.
type config struct {
	duration, killEvery time.Duration
	callers             int
	seed                uint64
}

// The budgets of a run. What acme says of itself, and the route limited, are the test application's own.
var policies = map[string]policy{
	"aggregate":    {600, 1000},
	"/other":       {5, 2000},
	"/limited":     {3, day},
	"acme/other":   {30, day},
	"acme/limited": {3, day},
}

const local = `app: {name: %s}
redis: {clients: {limiter: {timeoutMs: 100, dialTimeoutMs: 500}}} # as by default
proxy: {enabled: true, trusted: [127.0.0.0/8]}
onions:
  interceptor: {a-ratelimit:rateLimit: {enable: true, rateLimit: {mode: %[2]s, limit: 5, windowMs: 2000}}}
  middlewareSystem: {a-ratelimit:aggregate: {enable: true, rateLimit: {mode: %[2]s, limit: 600}}}
`

// soak is a run.
type soak struct {
	t      testing.TB
	cfg    config
	ledger *ledger
	redis  *redistest.Server
	proxy  *redistest.Proxy
	urls   []string
	client *http.Client

	over     <-chan struct{} // closed when the time is over
	requests atomic.Int64
	faults   map[string]int
	slowest  time.Duration // from the return of Redis after a kill to the first admission
	samples  []sample
}

// sample is what the process is like at a moment.
type sample struct {
	heap       uint64
	goroutines int
}

// run makes a run, until its time is over or it is interrupted, prints the summary and tells how much did not hold.
func run(t testing.TB, interrupted <-chan struct{}, cfg config, w io.Writer) (wrong int) {
	t.Helper()
	s := &soak{t: t, cfg: cfg, ledger: newLedger(), redis: redistest.Start(t), faults: map[string]int{}}
	s.proxy = redistest.NewProxy(t, s.redis.Addr())
	s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: cfg.callers}, Timeout: time.Minute}
	t.Cleanup(s.client.CloseIdleConnections)
	// Two that count together, and one that only looks.
	for _, a := range []struct {
		name, mode string
	}{{"enforcing", "enforce"}, {"enforcing", "enforce"}, {"observing", "observe"}} {
		r := newRecorder(a.name, a.mode == "enforce", s.ledger, policies)
		server := testapp.Start(t, testapp.Setup{
			Redis: s.redis, Via: s.proxy, Modules: []onion.Module{r}, Local: fmt.Sprintf(local, a.name, a.mode),
			Options: []app.Option{app.WithLogger(slog.New(r)), app.WithoutWatch()},
		})
		s.urls = append(s.urls, server.URL)
	}

	over := make(chan struct{})
	s.over = over
	go func() {
		defer close(over)
		select {
		case <-interrupted:
		case <-time.After(cfg.duration):
		}
	}()
	began := time.Now()
	var callers sync.WaitGroup
	for n := range cfg.callers {
		callers.Go(func() { s.call(rand.New(rand.NewPCG(cfg.seed, uint64(n)))) }) //nolint:gosec // chance, no secret
	}
	s.direct(rand.New(rand.NewPCG(cfg.seed, 1<<32))) //nolint:gosec // chance, no secret
	callers.Wait()
	s.judgeMemory()
	s.summary(w, time.Since(began))
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	return s.ledger.faults + s.ledger.panics
}

// direct brings faults about, one after the other, until the time is over, and looks at the process in between.
func (s *soak) direct(random *rand.Rand) {
	nextKill := time.Now().Add(s.cfg.killEvery)
	for !s.isOver() {
		if time.Now().After(nextKill) {
			nextKill = nextKill.Add(s.cfg.killEvery)
			s.kill(random)
			continue
		}
		names := slices.Sorted(maps.Keys(faults))
		name := names[random.IntN(len(names))]
		s.faults[name]++
		faults[name](s, func(most time.Duration) { s.sleep(time.Duration(random.Int64N(int64(most)))) })
		s.proxy.Set(redistest.Forward())
		s.sleep(time.Duration(random.Int64N(int64(time.Second))))
		s.look()
	}
}

// faults are those besides the kill. Each lasts as long as hold lets it.
var faults = map[string]func(s *soak, hold func(most time.Duration)){
	"stopped":          func(s *soak, hold func(time.Duration)) { s.redis.Pause(); hold(time.Second); s.redis.Resume() },
	"hanging":          func(s *soak, hold func(time.Duration)) { s.proxy.Set(redistest.Hang()); hold(time.Second) },
	"refusing":         func(s *soak, hold func(time.Duration)) { s.proxy.Set(redistest.Refuse()); hold(time.Second) },
	"dropping packets": func(s *soak, hold func(time.Duration)) { s.proxy.Set(redistest.Blackhole(5000)); hold(time.Second) },
	"connections cut":  func(s *soak, hold func(time.Duration)) { s.proxy.Cut(); hold(10 * time.Millisecond); s.proxy.Cut() },
	"slow": func(s *soak, hold func(time.Duration)) {
		s.proxy.Set(redistest.Delay(60 * time.Millisecond))
		hold(time.Second)
	},
	"replies lost": func(s *soak, hold func(time.Duration)) {
		s.proxy.Set(redistest.LoseReply().On("eval").Times(4))
		hold(time.Second)
	},
	"replies swallowed": func(s *soak, hold func(time.Duration)) {
		s.proxy.Set(redistest.Swallow().On("eval").Times(4))
		hold(time.Second)
	},
	"garbage": func(s *soak, hold func(time.Duration)) {
		s.proxy.Set(redistest.Garbage("$-7\r\n?").On("eval").Times(4))
		hold(time.Second)
	},
	"scripts flushed": func(s *soak, hold func(time.Duration)) {
		s.redis.FlushScripts()
		hold(100 * time.Millisecond)
		s.redis.FlushScripts()
	},
	"memory full": func(s *soak, hold func(time.Duration)) {
		s.redis.Do("CONFIG", "SET", "maxmemory", 1)
		hold(time.Second)
		s.redis.Do("CONFIG", "SET", "maxmemory", 0)
	},
	"nothing": func(_ *soak, hold func(time.Duration)) { hold(2 * time.Second) },
}

// kill kills Redis, starts it again after a while, and takes the time until something is admitted again.
func (s *soak) kill(random *rand.Rand) {
	s.faults["killed"]++
	s.ledger.killed()
	s.redis.Kill()
	s.sleep(time.Duration(random.Int64N(int64(2 * time.Second))))
	s.redis.Restart()
	back := time.Now()
	select { // what was admitted before
	case <-s.ledger.admitted:
	default:
	}
	select {
	case <-s.ledger.admitted:
		s.slowest = max(s.slowest, time.Since(back))
	case <-time.After(10 * time.Second):
		s.ledger.fail("nothing was admitted within 10 s of the return of Redis")
	case <-s.over:
	}
}

// look looks at the process.
func (s *soak) look() {
	s.ledger.forget()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.samples = append(s.samples, sample{m.HeapAlloc, runtime.NumGoroutine()})
}

// judgeMemory compares the second half of a run with what came before: the medians, for a moment says little.
func (s *soak) judgeMemory() {
	if len(s.samples) < 8 {
		return
	}
	early, late := s.medians()
	if late.heap > early.heap+early.heap/4+(4<<20) {
		s.ledger.fail("the heap has grown from %d kB to %d kB", early.heap>>10, late.heap>>10)
	}
	if late.goroutines > early.goroutines+10 {
		s.ledger.fail("goroutines have grown from %d to %d", early.goroutines, late.goroutines)
	}
}

// medians are those of the second and the last quarter of the run.
func (s *soak) medians() (early, late sample) {
	n := len(s.samples)
	return median(s.samples[n/4 : n/2]), median(s.samples[n-n/4:])
}

func median(all []sample) sample {
	if len(all) == 0 {
		return sample{}
	}
	heap, goroutines := make([]uint64, len(all)), make([]int, len(all))
	for i, one := range all {
		heap[i], goroutines[i] = one.heap, one.goroutines
	}
	slices.Sort(heap)
	slices.Sort(goroutines)
	return sample{heap[len(all)/2], goroutines[len(all)/2]}
}

func (s *soak) summary(w io.Writer, took time.Duration) {
	l := s.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	early, late := s.medians()
	fmt.Fprintf(w, "soak: %v, %d callers, seed %d: %d requests, %.0f per second\n", took.Round(time.Millisecond), s.cfg.callers, s.cfg.seed,
		s.requests.Load(), float64(s.requests.Load())/took.Seconds())
	fmt.Fprintf(w, "answers:       %s, %d callers left before theirs\n", list(l.statuses), l.left)
	fmt.Fprintf(w, "events:        %s\n", list(l.events))
	fmt.Fprintf(w, "faults:        %s\n", list(s.faults))
	fmt.Fprintf(w, "recovery:      at most %v after a kill\n", s.slowest.Round(time.Millisecond))
	fmt.Fprintf(w, "budgets:       %d were spent to the last\n", l.fullest)
	fmt.Fprintf(w, "heap:          %d kB early, %d kB late; goroutines %d early, %d late\n", early.heap>>10, late.heap>>10, early.goroutines, late.goroutines)
	fmt.Fprintf(w, "panics:        %d\n", l.panics)
	fmt.Fprintf(w, "did not hold:  %d\n", l.faults)
	for _, text := range l.wrong {
		fmt.Fprintf(w, "  %s\n", text)
	}
}

func list[K int | string](counts map[K]int) string {
	text := ""
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%v: %d", k, counts[k])
	}
	return text
}

func (s *soak) isOver() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// sleep sleeps, but not beyond the end of the run.
func (s *soak) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.over:
	case <-timer.C:
	}
}

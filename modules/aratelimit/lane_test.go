//go:build unix

package aratelimit

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/vonago/vonago/internal/redistest"
)

// tap is a go-redis hook that counts round trips, holds them back and breaks them.
type tap struct {
	gate   chan struct{} // each round trip takes a token; nil lets all through
	trips  atomic.Int64
	widest atomic.Int64
	before func(cmds []redis.Cmder) // nil for nothing
}

func (*tap) DialHook(next redis.DialHook) redis.DialHook { return next }

func (p *tap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		p.pass([]redis.Cmder{cmd})
		return next(ctx, cmd)
	}
}

func (p *tap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		p.pass(cmds)
		return next(ctx, cmds)
	}
}

func (p *tap) pass(cmds []redis.Cmder) {
	if !strings.HasPrefix(cmds[0].Name(), "eval") {
		return
	}
	p.trips.Add(1)
	p.widest.Store(max(p.widest.Load(), int64(len(cmds))))
	if p.gate != nil {
		<-p.gate
	}
	if p.before != nil {
		p.before(cmds)
	}
}

// held is a counter whose round trips wait for tokens.
func held(t *testing.T, addr string, timeoutMs int) (*redisCounter, *tap) {
	t.Helper()
	c := newCounter(t, redisConfig(t, addr, timeoutMs))
	t.Cleanup(c.stop)
	if err := c.register(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := &tap{gate: make(chan struct{}, 1000)}
	c.client.AddHook(p)
	return c, p
}

// verdict is what an attempt came to.
type verdict struct {
	count Count
	err   error
	took  time.Duration
}

// attemptAsync makes attempts at once and gives the place where verdicts come in.
func attemptAsync(ctx context.Context, c Counter, keys ...string) <-chan verdict {
	out := make(chan verdict, len(keys))
	for _, key := range keys {
		go func() {
			began := time.Now()
			n, err := c.Incr(ctx, key, 60_000)
			out <- verdict{n, err, time.Since(began)}
		}()
	}
	return out
}

func queued(t *testing.T, c *redisCounter, n int) {
	t.Helper()
	lane := c.lanes.anyNode
	until(t, 10*time.Second, "attempts wait", func() bool {
		lane.mu.Lock()
		defer lane.mu.Unlock()
		return len(lane.queue) == n
	})
}

func same(key string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = key
	}
	return keys
}

// under makes one attempt and waits until its round trip is under way.
func under(t *testing.T, c Counter, p *tap, key string) <-chan verdict {
	t.Helper()
	before := p.trips.Load()
	out := attemptAsync(t.Context(), c, key)
	until(t, 10*time.Second, "a round trip is under way", func() bool { return p.trips.Load() > before })
	return out
}

// Pending attempts travel together, each with its own command and verdict (A7).
func TestLaneShares(t *testing.T) {
	s := redistest.Start(t)
	c, p := held(t, s.Addr(), longMs)
	first := under(t, c, p, "a")
	rest := attemptAsync(t.Context(), c, append(same("a", 15), same("b", 15)...)...)
	queued(t, c, 30)
	s.ResetCalls()
	p.gate <- struct{}{}
	p.gate <- struct{}{}
	if v := <-first; v.err != nil || v.count.N != 1 {
		t.Errorf("%+v", v)
	}
	seen := map[int64]int{}
	for range 30 {
		v := <-rest
		if v.err != nil || v.count.TTL < 1 || v.count.TTL > 60_000 {
			t.Errorf("%+v", v)
		}
		seen[v.count.N]++
	}
	for n := int64(1); n <= 16; n++ {
		if want := map[bool]int{true: 1, false: 2}[n == 1 || n == 16]; seen[n] != want {
			t.Errorf("%d attempts were number %d, want %d", seen[n], n, want)
		}
	}
	if p.trips.Load() != 2 || p.widest.Load() != 30 {
		t.Errorf("%d round trips, the widest of %d", p.trips.Load(), p.widest.Load())
	}
	if n := s.Calls("evalsha"); n != 31 {
		t.Errorf("%d commands for 31 attempts", n)
	}
}

// Another round trip starts beside those under way when enough commands wait for each of them, and never a fifth. Attempts that
// share a command are no reason to.
func TestLaneCompany(t *testing.T) {
	s := redistest.Start(t)
	c, p := held(t, s.Addr(), longMs)
	first := under(t, c, p, "first")
	hot := attemptAsync(t.Context(), jointCounter{c}, same("hot", 2*company)...)
	waiting := 2 * company
	queued(t, c, waiting)
	var all []<-chan verdict
	total := 0
	for flights := int64(1); flights <= maxFlights; flights++ {
		n := company * int(flights)
		all = append(all, attemptAsync(t.Context(), c, same("k", n-1)...))
		waiting += n - 1
		queued(t, c, waiting)
		if p.trips.Load() != flights {
			t.Errorf("%d round trips are under way, want %d", p.trips.Load(), flights)
		}
		all = append(all, attemptAsync(t.Context(), c, "k"))
		total += n
		if flights < maxFlights {
			until(t, 10*time.Second, "another round trip is under way", func() bool { return p.trips.Load() == flights+1 })
			waiting = 0
		} else {
			waiting++
		}
		queued(t, c, waiting)
	}
	if p.trips.Load() != maxFlights {
		t.Errorf("%d round trips are under way, want %d", p.trips.Load(), maxFlights)
	}
	close(p.gate)
	seen := map[int64]bool{}
	for _, from := range all {
		for _, v := range drain(from, cap(from)) {
			if v.err != nil || seen[v.count.N] || v.count.N < 1 || v.count.N > int64(total) {
				t.Errorf("%+v", v)
			}
			seen[v.count.N] = true
		}
	}
	for _, v := range append(drain(hot, cap(hot)), <-first) {
		if v.err != nil {
			t.Errorf("%+v", v)
		}
	}
	lane := c.lanes.anyNode
	until(t, 10*time.Second, "the lane is idle", func() bool { return !lane.usedSince(time.Now()) })
	if lane.singles != 0 {
		t.Errorf("%d commands are said to wait", lane.singles)
	}
}

// Attempts for one hot key share one command, each with an ordinal of its own (B4).
func TestLaneJoins(t *testing.T) {
	s := redistest.Start(t)
	c, p := held(t, s.Addr(), longMs)
	first := under(t, c, p, "other")
	joint, single := attemptAsync(t.Context(), jointCounter{c}, same("hot", 40)...), attemptAsync(t.Context(), c, "cold", "cold")
	next := attemptAsync(t.Context(), jointCounter{c}, "hot2")
	queued(t, c, 43)
	s.ResetCalls()
	p.gate <- struct{}{}
	p.gate <- struct{}{}
	<-first
	seen := map[int64]bool{}
	for range 40 {
		v := <-joint
		if v.err != nil || seen[v.count.N] || v.count.N < 1 || v.count.N > 40 || v.count.TTL < 1 || v.count.TTL > 60_000 {
			t.Errorf("%+v", v)
		}
		seen[v.count.N] = true
	}
	if v := <-next; v.err != nil || v.count.N != 1 {
		t.Errorf("another window: %+v", v)
	}
	if a, b := <-single, <-single; a.err != nil || b.err != nil || a.count.N+b.count.N != 3 {
		t.Errorf("%+v, %+v", a, b)
	}
	if n := s.Calls("incrby"); n > 4 { // two at best; arrivals may have interleaved with hot2
		t.Errorf("%d commands for the hot keys", n)
	}
	if p.trips.Load() != 2 {
		t.Errorf("%d round trips", p.trips.Load())
	}
}

// What is said of a key without expiry holds for many attempts too.
func TestJointScript(t *testing.T) {
	s := redistest.Start(t)
	c := newCounter(t, redisConfig(t, s.Addr(), longMs))
	s.Do("SET", "forever", 41)
	if n := incr(t, jointCounter{c}, "forever"); n.N != 42 || n.TTL != 60_000 {
		t.Errorf("%+v", n)
	}
	s.Do("PEXPIRE", "forever", 5000)
	if n := incr(t, jointCounter{c}, "forever"); n.N != 43 || n.TTL > 5000 || n.TTL < 1 {
		t.Errorf("a later attempt prolongs: %+v", n)
	}
	if n := incr(t, jointCounter{c}, "new"); n.N != 1 || n.TTL != 60_000 {
		t.Errorf("%+v", n)
	}
}

// A waiter that leaves does so at once, cancels nobody else's command, and its own
// attempt stands (A11).
func TestLaneLeaving(t *testing.T) {
	s := redistest.Start(t)
	c, p := held(t, s.Addr(), longMs)
	first := under(t, c, p, "k")
	ctx, leave := context.WithCancel(t.Context())
	leaving, staying := attemptAsync(ctx, c, same("k", 10)...), attemptAsync(t.Context(), c, same("k", 10)...)
	queued(t, c, 20)
	leave()
	for range 10 {
		if v := <-leaving; !errors.Is(v.err, context.Canceled) {
			t.Errorf("%+v", v)
		}
	}
	p.gate <- struct{}{}
	p.gate <- struct{}{}
	for _, v := range append([]verdict{<-first}, drain(staying, 10)...) {
		if v.err != nil {
			t.Errorf("%+v", v)
		}
	}
	if n := s.Do("GET", "k"); n != "21" {
		t.Errorf("21 attempts count %v", n)
	}
}

func drain(from <-chan verdict, n int) []verdict {
	var all []verdict
	for range n {
		all = append(all, <-from)
	}
	return all
}

// Each waiter's deadline counts from its own arrival, also behind a round trip
// that is stuck; and what was not sent by then never is (A11).
func TestLaneDeadlines(t *testing.T) {
	// The promise is 20 ms more, which a busy machine does not keep for a test.
	const timeout, slack = 2 * time.Second, time.Second
	s := redistest.Start(t)
	c, p := held(t, s.Addr(), int(timeout.Milliseconds()))
	stuck := under(t, c, p, "stuck")
	waiting := attemptAsync(t.Context(), c, same("late", 20)...)
	queued(t, c, 20)
	for _, v := range drain(waiting, 20) {
		if classOf(v.err) != classTimeout || v.took < timeout || v.took > timeout+slack {
			t.Errorf("%v after %v", v.err, v.took)
		}
	}
	close(p.gate)
	<-stuck
	until(t, 10*time.Second, "the lane is idle", func() bool { return !c.lanes.anyNode.usedSince(time.Now()) })
	if n := s.Do("EXISTS", "late"); n != int64(0) {
		t.Error("an attempt was sent after its deadline")
	}
}

// Nor does an attempt wait for the deadline of a later one with which it shares a round trip.
func TestLaneDeadlinesShared(t *testing.T) {
	const timeout, slack = 2 * time.Second, 800 * time.Millisecond
	s := redistest.Start(t)
	c, p := held(t, s.Addr(), int(timeout.Milliseconds()))
	first := under(t, c, p, "k")
	early := attemptAsync(t.Context(), c, "k")
	queued(t, c, 1)
	time.Sleep(timeout / 2) // so much later; it does not wait for the first round trip any more
	late := under(t, c, p, "k")
	queued(t, c, 0)
	for _, v := range []verdict{<-early, <-late} {
		if classOf(v.err) != classTimeout || v.took < timeout || v.took > timeout+slack {
			t.Errorf("%v after %v", v.err, v.took)
		}
	}
	close(p.gate)
	<-first
	lane := c.lanes.anyNode
	until(t, 10*time.Second, "the lane is idle", func() bool { return !lane.usedSince(time.Now()) })
	until(t, 10*time.Second, "nobody looks for deadlines", func() bool {
		lane.mu.Lock()
		defer lane.mu.Unlock()
		return lane.watch.at.IsZero() && len(lane.air) == 0
	})
}

// Callers that leave, and would then be late too, block nobody.
func TestLaneLeavingThenLate(t *testing.T) {
	s := redistest.Start(t)
	c, p := held(t, s.Addr(), 150)
	first := under(t, c, p, "k")
	ctx, leave := context.WithCancel(t.Context())
	leaving := attemptAsync(ctx, c, same("k", company+8)...)
	until(t, 10*time.Second, "a second round trip is under way", func() bool { return p.trips.Load() >= 2 })
	leave()
	drain(leaving, company+8)
	lane := c.lanes.anyNode
	until(t, 10*time.Second, "all are late", func() bool {
		lane.mu.Lock()
		defer lane.mu.Unlock()
		return lane.watch.at.IsZero()
	})
	close(p.gate)
	<-first
	until(t, 10*time.Second, "the lane is idle", func() bool { return !lane.usedSince(time.Now()) })
}

// A connection that is stuck does not take along those who come later.
func TestLaneGoesRound(t *testing.T) {
	s := redistest.Start(t)
	c, p := held(t, s.Addr(), 2000)
	first := under(t, c, p, "k")
	time.Sleep(c.timeout/patience + time.Millisecond) // the very time that is promised
	second := under(t, c, p, "k")
	p.gate <- struct{}{}
	p.gate <- struct{}{}
	if a, b := <-first, <-second; a.err != nil || b.err != nil {
		t.Errorf("%+v, %+v", a, b)
	}
}

// While a probe is under way others do not wait for it.
func TestLaneHalfOpen(t *testing.T) {
	s := redistest.Start(t)
	c, p := held(t, s.Addr(), longMs)
	lane := c.lanes.anyNode
	trips(lane.breaker, 5, errFailed)
	until(t, 10*time.Second, "the breaker is half-open", func() bool { return lane.breaker.state() == stateHalfOpen })
	probe := under(t, c, p, "k")
	for range 20 {
		if _, err := c.Incr(t.Context(), "k", 60_000); !errors.Is(err, errOpen) { // or it would wait for the probe
			t.Fatal(err)
		}
	}
	p.gate <- struct{}{}
	if v := <-probe; v.err != nil || v.count.N != 1 {
		t.Errorf("%+v", v)
	}
	p.gate <- struct{}{}
	if n := incr(t, c, "k"); n.N != 2 {
		t.Errorf("%+v", n)
	}
}

// A panic fails its round trip and nothing else.
func TestLanePanic(t *testing.T) {
	s := redistest.Start(t)
	c, p := held(t, s.Addr(), longMs)
	log := &logBuffer{}
	c.lanes.anyNode.logger = slog.New(slog.NewJSONHandler(log, nil))
	p.before = func(cmds []redis.Cmder) {
		if len(cmds) > 1 || cmds[0].Args()[3] == "bad" {
			panic("secret: " + secretAddr)
		}
	}
	first := under(t, c, p, "k")
	batch := attemptAsync(t.Context(), c, same("k", 10)...)
	queued(t, c, 10)
	close(p.gate)
	if v := <-first; v.err != nil || v.count.N != 1 {
		t.Errorf("before: %+v", v)
	}
	for _, v := range drain(batch, 10) {
		if classOf(v.err) != classOther || v.count != (Count{}) {
			t.Errorf("in the batch: %+v", v)
		}
	}
	if _, err := c.Incr(t.Context(), "bad", 60_000); classOf(err) != classOther {
		t.Errorf("alone: %v", err)
	}
	if n := incr(t, c, "k"); n.N != 2 {
		t.Errorf("afterwards: %+v", n)
	}
	if text := log.text(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "lane_test.go") || strings.Contains(text, secretAddr) {
		t.Errorf("logged %s", text)
	}
}

// NOSCRIPT concerns single commands: what was executed is not sent again.
func TestLaneNoScript(t *testing.T) {
	for _, have := range []string{"none", "single", "joint"} {
		t.Run(have, func(t *testing.T) {
			s := redistest.Start(t)
			c, p := held(t, s.Addr(), longMs)
			first := under(t, c, p, "first")
			singles, joints := attemptAsync(t.Context(), c, same("single", 5)...), attemptAsync(t.Context(), jointCounter{c}, same("joint", 5)...)
			queued(t, c, 10)
			p.gate <- struct{}{}
			if v := <-first; v.err != nil {
				t.Fatal(v.err)
			}
			until(t, 10*time.Second, "the batch is under way", func() bool { return p.trips.Load() == 2 })
			s.FlushScripts()
			if text := map[string]string{"single": singleText, "joint": jointText}[have]; text != "" {
				s.Do("SCRIPT", "LOAD", text)
			}
			s.ResetCalls()
			close(p.gate)
			var sums [2]int64
			for i, from := range []<-chan verdict{singles, joints} {
				for _, v := range drain(from, 5) {
					if v.err != nil {
						t.Fatal(v.err)
					}
					sums[i] += v.count.N
				}
			}
			if sums != [2]int64{15, 15} || s.Do("GET", "single") != "5" || s.Do("GET", "joint") != "5" {
				t.Errorf("ordinals add up to %v, counters are at %v and %v", sums, s.Do("GET", "single"), s.Do("GET", "joint"))
			}
			if n, want := s.Calls("eval"), map[string]int64{"none": 6, "single": 1, "joint": 5}[have]; n != want {
				t.Errorf("%d commands were sent again, want %d", n, want)
			}
		})
	}
}

// Shutdown fails those who wait, with the class canceled, and leaves no goroutine.
func TestLaneStop(t *testing.T) {
	s := redistest.Start(t)
	s.Client() // made before, so that it is no leak
	c, p := held(t, s.Addr(), longMs)
	ignore := goleak.IgnoreCurrent()
	first := under(t, c, p, "k")
	p.gate <- struct{}{} // the goroutine for the queue shall be under way
	batch := attemptAsync(t.Context(), c, same("k", 10)...)
	<-first
	until(t, 10*time.Second, "the batch is under way", func() bool { return p.trips.Load() >= 2 })
	waiting := attemptAsync(t.Context(), c, same("k", 10)...)
	lane := c.lanes.anyNode
	until(t, 10*time.Second, "attempts wait", func() bool {
		lane.mu.Lock()
		defer lane.mu.Unlock()
		return len(lane.queue) >= 10
	})
	stopped := make(chan struct{})
	go func() { c.stop(); close(stopped) }()
	for _, v := range drain(waiting, 10) {
		if classOf(v.err) != classCanceled {
			t.Errorf("waiting: %+v", v)
		}
	}
	close(p.gate)
	<-stopped
	for _, v := range drain(batch, 10) {
		if v.err != nil && classOf(v.err) != classCanceled {
			t.Errorf("under way: %+v", v)
		}
	}
	if _, err := c.Incr(t.Context(), "k", 60_000); classOf(err) != classCanceled {
		t.Errorf("afterwards: %v", err)
	}
	goleak.VerifyNone(t, ignore)
}

// Of a pipeline that breaks off, those whose reply came keep their verdict.
func TestLaneBrokenOff(t *testing.T) {
	server := listen(t)
	c, p := held(t, server.addr, longMs)
	first := under(t, c, p, "k")
	batch := attemptAsync(t.Context(), c, same("k", 10)...)
	queued(t, c, 10)
	server.replies.Store(3) // and then it hangs up
	p.gate <- struct{}{}
	p.gate <- struct{}{}
	<-first
	good := 0
	for _, v := range drain(batch, 10) {
		if v.err == nil {
			good++
		} else if classOf(v.err) != classRefused {
			t.Errorf("%+v", v)
		}
	}
	if good != 2 { // the first of the three was for the attempt before
		t.Errorf("%d verdicts, want 2", good)
	}
	if p.trips.Load() != 2 {
		t.Errorf("%d round trips: something was sent again", p.trips.Load())
	}
}

// Many come, leave and are answered at once, while connections break.
func TestLaneStress(t *testing.T) {
	s := redistest.Start(t)
	proxy := redistest.NewProxy(t, s.Addr())
	c := newCounter(t, redisConfig(t, proxy.Addr(), 200))
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for i := range 50 {
				ctx, leave := context.WithCancel(t.Context())
				if (w+i)%7 == 0 {
					go leave()
				}
				counter := Counter(c)
				if w%2 == 0 {
					counter = jointCounter{c}
				}
				n, err := counter.Incr(ctx, "k", 60_000)
				if (n.N > 0) == (err != nil) {
					t.Errorf("%+v, %v", n, err)
				}
				leave()
				if w == 0 && i%10 == 0 {
					proxy.Cut()
				}
			}
		})
	}
	wg.Wait()
	c.stop()
	if c.lanes.anyNode.usedSince(time.Now()) {
		t.Error("a round trip is under way after the stop")
	}
}

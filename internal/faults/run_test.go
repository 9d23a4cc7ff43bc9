package faults

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"
)

// plan is how a run is made.
type plan struct {
	settings
	callers int
	each    int           // requests of each caller while the fault is there, or
	during  time.Duration // how long they go on
	pause   time.Duration
	leaks   bool // count goroutines, which makes sense if nothing else runs
}

// outcome is what a run came to.
type outcome struct {
	under      []decision    // while the fault was there
	after      []decision    // since then
	counted    int64         // increments while the fault was there
	late       int64         // increments after it that belong to no request after it
	recovery   time.Duration // from the return of Redis to the first request that was counted
	goroutines int           // how many more there are than before
	open       int           // connections of the application at the end
}

// run lets a fault come and go.
func run(t testing.TB, f fault, m mode, p plan) (*bench, outcome) {
	t.Helper()
	if f.pool > 0 {
		p.pool = f.pool
	}
	b := newBench(t, m, p.settings)
	b.untilAdmitted()
	b.load(p.callers, 3, 0, 0) // connections are made, and whatever is made once
	b.untilAdmitted()
	var o outcome
	var before int
	if p.leaks {
		before = b.goroutines()
	}

	counted := b.heard.count()
	f.inject(b)
	o.under = b.loadUnder(f, p)
	if f.holds != nil {
		o.under = append(o.under, b.one())
		if err := f.holds(b); err != nil {
			t.Error(err)
		}
	}
	switch {
	case f.counted == once: // a server that has to do with another fault may not answer now
		o.counted = b.heard.count() - counted
		counted += o.counted
	case f.private:
		counted = b.heard.count()
	}
	f.heal(b)

	o.after, o.recovery = b.untilAdmitted()
	for range 20 {
		o.after = append(o.after, b.one())
	}
	o.late = b.heard.count() - counted - sent(o.after)
	o.open = b.connections(p.pool)
	if p.leaks {
		o.goroutines = b.goroutines() - before
	}
	return b, o
}

// loadUnder is the load while the fault is there.
func (b *bench) loadUnder(f fault, p plan) []decision {
	done := make(chan []decision)
	go func() { done <- b.load(p.callers, p.each, p.during, p.pause) }()
	for {
		select {
		case all := <-done:
			return all
		case <-time.After(time.Millisecond):
			if f.keep != nil {
				f.keep(b)
			}
		}
	}
}

// sent is how many of the attempts were not refused by the breaker, and may be counted.
func sent(all []decision) int64 {
	n := int64(0)
	for _, d := range all {
		if !d.open() {
			n++
		}
	}
	return n
}

// judge compares an outcome with what is promised whatever the time it took.
func judge(f fault, m mode, p plan, o outcome) []string {
	var wrong []string
	fail := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	stalled := int64(0) // their commands may have been under way for longer than they themselves
	for _, d := range o.under {
		if d.stalled(f, p) {
			stalled++
			continue
		}
		if err := f.judge(m, d); err != nil {
			fail("%v", err)
			break
		}
	}
	for _, d := range o.after {
		// Until the breaker closes attempts fail as they did before.
		if d.status != http.StatusOK && d.status != http.StatusServiceUnavailable || len(d.events) > 1 {
			fail("after the fault: %d, events %v", d.status, d.events)
		}
	}
	n := sent(o.under)
	switch {
	case f.counted == never && o.counted != 0, f.counted == once && o.counted > n:
		fail("%d attempts were counted %d times", n, o.counted)
	case f.verdict == admitted && (o.counted > n || o.counted < n-stalled):
		fail("%d attempts were admitted and %d counted", n, o.counted)
	case f.counted != later && o.late > stalled, o.late > n:
		fail("%d increments came late, for %d attempts", o.late, n)
	}
	if pool := cmp.Or(f.pool, p.pool); o.open > pool {
		fail("%d connections, for a pool of %d", o.open, pool)
	}
	return wrong
}

// stalled tells a decision whose verdict says that the machine did something else meanwhile, and nothing of the limiter: it took
// up the whole timeout under a fault that takes no time, or it waited beyond the timeout and so for the reply that came too late.
// What that says of the time is judged with the time.
func (d decision) stalled(f fault, p plan) bool {
	if f.class == "timeout" {
		return len(d.events) == 0 && d.took > p.timeout*5/4
	}
	return d.class == "timeout" && d.took >= p.timeout
}

// judge looks at one decision made while the fault was there.
func (f fault) judge(m mode, d decision) error {
	if f.verdict == mixed && d.status == http.StatusOK && len(d.events) == 0 {
		return nil
	}
	want := f
	if f.verdict == mixed {
		want.verdict = fails
	}
	event := want.event(m)
	switch {
	case d.status != want.status(m):
		return fmt.Errorf("status %d, want %d; events %v, class %q", d.status, want.status(m), d.events, d.class)
	case event == "" && len(d.events) > 0, event != "" && !slices.Equal(d.events, []string{event}):
		return fmt.Errorf("events %q, want %q once; it took %v", d.events, event, d.took)
	case want.verdict == fails && d.class != f.class && (f.private || !d.open()):
		return fmt.Errorf("class %q, want %q", d.class, f.class)
	}
	return nil
}

// TestFaults is the matrix without a look at the time: verdicts, events, counts, connections; goroutines are looked at when all
// is over.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, f := range all() {
		for _, m := range modes {
			t.Run(f.name+"/"+m.String(), func(t *testing.T) {
				t.Parallel()
				p := plan{settings: settings{timeout: 300 * time.Millisecond, pool: 8, breaker: true, limit: 1_000_000}, callers: 8, each: 4}
				if f.class != "timeout" {
					p.timeout = 20 * time.Second // this machine may be busy
				}
				b, o := run(t, f, m, p)
				for _, wrong := range judge(f, m, p, o) {
					t.Error(wrong)
				}
				b.strays()
			})
		}
	}
}

// TestEveryAttemptCountsOnce makes attempts one after the other, so that each is sent: those whose reply is lost or late, or no
// reply at all, are counted once, not twice and not never.
func TestEveryAttemptCountsOnce(t *testing.T) {
	t.Parallel()
	for _, f := range all() {
		if f.counted != once || f.verdict == mixed {
			continue
		}
		for _, m := range modes {
			t.Run(f.name+"/"+m.String(), func(t *testing.T) {
				t.Parallel()
				p := plan{settings: settings{timeout: time.Second, pool: 8, limit: 1_000_000}, callers: 1, each: 4}
				if f.class != "timeout" {
					p.timeout = 20 * time.Second
				}
				_, o := run(t, f, m, p)
				if o.counted != int64(len(o.under)) || len(o.under) < p.each {
					t.Errorf("%d attempts were counted %d times", len(o.under), o.counted)
				}
				for _, wrong := range judge(f, m, p, o) {
					t.Error(wrong)
				}
			})
		}
	}
}

// strays fails the test if an event belongs to no request.
func (b *bench) strays() {
	b.t.Helper()
	b.watch.mu.Lock()
	defer b.watch.mu.Unlock()
	if len(b.watch.stray) > 0 {
		b.t.Errorf("events of no request: %q", b.watch.stray)
	}
}

package aratelimit

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// maxBatch bounds the attempts of one round trip.
	maxBatch = 512
	// maxFlights bounds the round trips of a lane that are under way at once.
	maxFlights = 4
	// company is how many commands have to wait, for each round trip that is under
	// way, before another one starts beside them. Redis then works on one while we
	// write and read another. With fewer it is better to wait: the longer a round
	// trip takes, the more attempts the next one carries.
	company = 32
	// patience is the part of the timeout after which a round trip is no longer
	// waited for before another one starts, so that a connection that is stuck
	// does not take along all who come after it.
	patience = 4
)

// lane takes attempts to one Redis server: a group commit. An attempt that finds
// no round trip under way makes one at once, on its caller's goroutine. All others
// queue, and the next round trip, which begins when one ends or when enough of
// them wait (see company), takes the whole queue along.
//
// While the breaker is not closed nobody queues: each attempt is a probe, or is
// refused at once and does not wait for the probe of another.
//
// Round trips for the queue are made on goroutines that end when the queue is
// empty. Each attempt waits until its own deadline, which counts from its arrival
// (see watch); one that is not sent by then never is. The lock is held for moving
// pointers only.
type lane struct {
	client  redis.UniversalClient
	timeout time.Duration
	breaker *breaker
	logger  *slog.Logger
	stopped atomic.Bool

	mu      sync.Mutex
	queue   []*attempt // empty unless there are flights
	singles int        // of the queue: those that take a command of their own
	flights int
	latest  time.Time // when the latest flight began
	air     []*flight // those under way that others wait for
	watch   watch
	flyers  sync.WaitGroup
}

func (l *lane) incr(ctx context.Context, key string, windowMs int64, s *script) (Count, error) {
	now := time.Now()
	a := newAttempt(ctx, key, windowMs, s, now.Add(l.timeout))
	l.mu.Lock()
	switch {
	case l.stopped.Load():
		l.mu.Unlock()
		a.err = errStopped
		return a.result()
	case l.flights == 0, l.breaker.tripped.Load():
		l.flights++
		l.latest = now
		l.mu.Unlock()
		l.alone(ctx, a)
		return a.result()
	}
	l.queue = append(l.queue, a)
	l.watch.by(l, a.deadline)
	if s == single {
		l.singles++
	}
	if l.flights < maxFlights && (l.singles >= company*l.flights || now.Sub(l.latest) > l.timeout/patience) {
		l.flights++
		l.depart() //nolint:contextcheck // a flight for many ends with none of them
	}
	l.mu.Unlock()
	return a.wait(ctx)
}

// depart starts the goroutine of a flight. The lock is held, and the queue is not
// empty, so stop does not wait yet.
func (l *lane) depart() {
	l.latest = time.Now()
	l.flyers.Add(1)
	go l.fly()
}

// alone makes a round trip for one attempt. Its caller's end does not shorten it:
// the attempt was made, and its reply belongs to the connection.
func (l *lane) alone(ctx context.Context, a *attempt) {
	f := newFlight()
	f.add(a)
	l.carry(ctx, f)
	f.done()

	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.flights--
		return
	}
	l.depart() //nolint:contextcheck // as above
}

// fly makes round trips until the queue is empty.
func (l *lane) fly() {
	defer l.flyers.Done()
	f := newFlight()
	for l.board(f) {
		l.carry(context.Background(), f)
		l.land(f)
		for _, a := range f.all {
			a.answer()
		}
		// Those who have just been answered may have something to send again. They
		// are let go first, which takes no time if there is nobody.
		runtime.Gosched()
	}
	f.done()
}

// board takes the queue, or as much as one round trip holds. If it is empty the
// flight is over.
func (l *lane) board(f *flight) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.queue), maxBatch)
	if n == 0 {
		l.flights--
		return false
	}
	l.latest = time.Now()
	f.reset()
	f.all = append(f.all, l.queue[:n]...)
	l.air = append(l.air, f)
	left := copy(l.queue, l.queue[n:])
	clear(l.queue[left:])
	l.queue = l.queue[:left]
	for _, a := range f.all {
		if a.script == single {
			l.singles--
		}
	}
	return true
}

// land takes a flight from the air: what came of its attempts is there, and no
// deadline ends their wait any more.
func (l *lane) land(f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.air, f)
	l.air = slices.Delete(l.air, i, i+1)
}

// carry makes the round trip of a flight, if the breaker lets it, and leaves in
// each attempt what came of it.
func (l *lane) carry(ctx context.Context, f *flight) {
	deadline := f.sort(time.Now())
	if err := l.breaker.try(func() (struct{}, error) {
		return struct{}{}, l.send(ctx, deadline, f)
	}); err != nil {
		f.fail(err)
	}
	if l.stopped.Load() {
		for _, a := range f.all {
			if a.err != nil {
				a.err = errStopped
			}
		}
	}
}

// usedSince tells that something is under way, or was begun after a moment.
func (l *lane) usedSince(t time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flights > 0 || l.latest.After(t)
}

// stop fails what waits, and returns when the goroutines have ended.
func (l *lane) stop() {
	l.mu.Lock()
	l.stopped.Store(true)
	queue := l.queue
	l.queue, l.singles = nil, 0
	l.mu.Unlock()
	for _, a := range queue {
		a.err = errStopped
		a.answer()
	}
	l.flyers.Wait()
}

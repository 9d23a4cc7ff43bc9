package aratelimit

import (
	"context"
	"sync"
	"time"
)

// attempt is one attempt to be counted, and the place of whoever waits for it.
type attempt struct {
	key      string
	windowMs int64
	script   *script
	deadline time.Time       // from its arrival on, wherever it waits
	gone     <-chan struct{} // closed when the caller has left

	count Count
	err   error

	late     bool          // its deadline went by while the lane had it; under the lane's lock
	answered chan struct{} // gets one token when count and err are there, or it is late; holds it, so that answering waits for nobody
}

var (
	errLate    = &failure{class: classTimeout, text: "the rate limit counter did not answer in time"}
	errStopped = &failure{class: classCanceled, text: "the rate limiter is stopped"}
)

var attempts = sync.Pool{New: func() any { return &attempt{answered: make(chan struct{}, 1)} }}

func newAttempt(ctx context.Context, key string, windowMs int64, s *script, deadline time.Time) *attempt {
	a := attempts.Get().(*attempt) //nolint:forcetypeassert // nothing else is put there
	a.key, a.windowMs, a.script, a.gone = key, windowMs, s, ctx.Done()
	a.deadline = deadline
	a.count, a.err = Count{}, nil
	return a
}

// result gives what came of the attempt, and the attempt back to the pool. Nobody
// else may hold it any more.
func (a *attempt) result() (Count, error) {
	count, err := a.count, a.err
	a.key, a.gone, a.err = "", nil, nil
	attempts.Put(a)
	return count, err
}

// answer ends the wait of an attempt that is the lane's no more, unless it was
// late. The attempt is not touched afterwards.
func (a *attempt) answer() {
	if !a.late {
		a.answered <- struct{}{}
	}
}

// expire ends the wait of an attempt whose deadline is over. The lane's lock is
// held.
func (a *attempt) expire() {
	a.late = true
	a.answered <- struct{}{}
}

// wait waits for the answer, the deadline or the caller's end. In the latter two
// cases a flight may still hold the attempt, so it does not go back to the pool.
func (a *attempt) wait(ctx context.Context) (Count, error) {
	select {
	case <-a.answered:
		if a.late {
			return Count{}, errLate
		}
		return a.result()
	case <-ctx.Done():
		return Count{}, ctx.Err() //nolint:wrapcheck // the caller's own
	}
}

// left tells whether the caller has gone.
func (a *attempt) left() bool {
	select {
	case <-a.gone:
		return true
	default:
		return false
	}
}

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

	answered chan struct{} // gets one token when count and err are there; holds it, so that answering waits for nobody
	timer    *time.Timer
}

var (
	errLate    = &failure{class: classTimeout, text: "the rate limit counter did not answer in time"}
	errStopped = &failure{class: classCanceled, text: "the rate limiter is stopped"}
)

var attempts = sync.Pool{New: func() any {
	a := &attempt{answered: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	a.timer.Stop()
	return a
}}

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

// answer ends the wait. The attempt is not touched afterwards.
func (a *attempt) answer() { a.answered <- struct{}{} }

// wait waits for the answer, the deadline, which is so far away, or the caller's
// end. In the latter two cases a flight may still hold the attempt, so it does not
// go back to the pool.
func (a *attempt) wait(ctx context.Context, timeout time.Duration) (Count, error) {
	a.timer.Reset(timeout)
	defer a.timer.Stop()
	select {
	case <-a.answered:
		return a.result()
	case <-a.timer.C:
		return Count{}, errLate
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

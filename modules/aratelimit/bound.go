package aratelimit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// bound is the context of a flight: it ends at a deadline, and with nobody's
// request. It is context.WithDeadline, save that it is used again: a flight costs
// no allocation for it. It must not be held beyond the flight.
type bound struct {
	values   context.Context //nolint:containedctx // that of a caller, for its values alone
	deadline time.Time
	done     chan struct{}
	timer    *time.Timer
	ended    atomic.Bool
}

var bounds = sync.Pool{New: func() any {
	b := &bound{done: make(chan struct{})}
	b.timer = time.AfterFunc(time.Hour, b.end)
	return b
}}

func newBound(values context.Context, deadline time.Time) *bound {
	b := bounds.Get().(*bound) //nolint:forcetypeassert // nothing else is put there
	b.values, b.deadline = values, deadline
	b.timer.Reset(time.Until(deadline))
	return b
}

func (b *bound) end() {
	b.ended.Store(true)
	close(b.done)
}

// release gives the context back, unless it has ended or is about to.
func (b *bound) release() {
	if b.timer.Stop() {
		b.values = context.Background()
		bounds.Put(b)
	}
}

// Deadline is part of context.Context.
func (b *bound) Deadline() (time.Time, bool) { return b.deadline, true }

// Done is part of context.Context.
func (b *bound) Done() <-chan struct{} { return b.done }

// Err is part of context.Context.
func (b *bound) Err() error {
	if b.ended.Load() {
		return context.DeadlineExceeded
	}
	return nil
}

// Value is part of context.Context.
func (b *bound) Value(key any) any { return b.values.Value(key) }

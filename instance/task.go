package instance

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// background is where tasks run: until their timeouts, or until it is stopped.
type background struct {
	ctx     context.Context //nolint:containedctx // tasks outlive the calls that start them
	cancel  context.CancelFunc
	mu      sync.Mutex
	stopped bool
	tasks   sync.WaitGroup
}

func newBackground() *background {
	ctx, cancel := context.WithCancel(context.Background())
	return &background{ctx: ctx, cancel: cancel}
}

// run does f in a goroutine. Once stopped, f finds its context canceled and is
// waited for by nobody.
func (b *background) run(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		go f()
		return
	}
	b.tasks.Go(f)
}

// stop cancels what runs and waits for its end, or that of ctx.
func (b *background) stop(ctx context.Context) error {
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	b.cancel()
	ended := make(chan struct{})
	go func() {
		b.tasks.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// task is one piece of work that any number of callers wait for. It runs on its
// own time: a waiter that leaves disturbs neither the work nor the others, and
// work that overstays its timeout holds up no waiter.
type task[T any] struct {
	done  chan struct{}   // closed when value and err are there
	ctx   context.Context //nolint:containedctx // waiters ask it whether the work is late
	value T
	err   error
}

// startTask does the work in a goroutine. A panic is an error of the work, not
// the end of the process. finally runs after the work, before anyone sees its
// outcome.
func startTask[T any](b *background, timeout time.Duration, work func(context.Context) (T, error), finally func(T, error)) *task[T] {
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	t := &task[T]{done: make(chan struct{}), ctx: ctx}
	b.run(func() {
		defer cancel()
		defer close(t.done)
		t.value, t.err = guard(ctx, work)
		finally(t.value, t.err)
	})
	return t
}

func guard[T any](ctx context.Context, work func(context.Context) (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return work(ctx)
}

// wait gives the outcome, or the reason why this caller waits no longer.
func (t *task[T]) wait(ctx context.Context) (T, error) {
	var zero T
	select {
	case <-t.done:
		return t.value, t.err
	case <-ctx.Done():
		return zero, context.Cause(ctx)
	case <-t.ctx.Done():
	}
	select {
	case <-t.done:
		return t.value, t.err
	default:
		return zero, context.Cause(t.ctx) //nolint:contextcheck // it tells why the work is late
	}
}

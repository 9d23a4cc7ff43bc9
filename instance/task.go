package instance

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// task is one piece of work that any number of callers wait for. It runs on its
// own time: a waiter that leaves disturbs neither the work nor the others, and
// work that overstays its timeout holds up no waiter.
type task[T any] struct {
	done  chan struct{} // closed when value and err are there
	late  <-chan struct{}
	value T
	err   error
}

// startTask does the work in a goroutine. A panic is an error of the work, not
// the end of the process. finally runs after the work, before anyone sees its
// outcome.
func startTask[T any](timeout time.Duration, work func(context.Context) (T, error), finally func(T, error)) *task[T] {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	t := &task[T]{done: make(chan struct{}), late: ctx.Done()}
	go func() {
		defer cancel()
		defer close(t.done)
		t.value, t.err = guard(ctx, work)
		finally(t.value, t.err)
	}()
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
	case <-t.late:
	}
	select {
	case <-t.done:
		return t.value, t.err
	default:
		return zero, context.DeadlineExceeded
	}
}

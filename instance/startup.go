package instance

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Starter is a module with work to do for every instance before the instance's
// first request: seed its data, warm a cache. The hooks of one instance run one
// after another, once in each process; those of a disabled instance wait until
// it is enabled. If one fails, requests of that instance get 503 and the next
// request tries again from the first hook, so hooks must bear repetition.
type Starter interface {
	StartInstance(ctx context.Context, inst *Instance) error
}

// AfterStarter is a module with work to do for every instance once it is ready:
// what no request has to wait for. The hooks of one instance run one after
// another, in the background, once in each process; an error is logged and does
// not keep the next one from running. They end when ctx is done, at the latest
// when the application stops.
type AfterStarter interface {
	AfterStartInstance(ctx context.Context, inst *Instance) error
}

// lifecycle is what the instances of an application share.
type lifecycle struct {
	starters []Starter
	after    []AfterStarter
	tasks    *background
	timeout  time.Duration
	logger   *slog.Logger
}

// startup tells whether an instance's hooks have run; it outlives reloads.
type startup struct {
	done atomic.Bool

	mu      sync.Mutex
	running *task[struct{}]
}

// Ready returns once the instance's startup hooks have run: at once after the
// first time. The first caller starts them; a caller whose ctx is done waits no
// longer, and the hooks go on. The error is ctx's, or that of a hook.
func (i *Instance) Ready(ctx context.Context) error {
	if i.slot == nil || len(i.life.starters)+len(i.life.after) == 0 || i.slot.startup.done.Load() {
		return nil
	}
	_, err := i.slot.startup.begin(i).wait(ctx) //nolint:contextcheck // the hooks go on when this caller has left
	return err
}

func (s *startup) begin(i *Instance) *task[struct{}] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		return s.running
	}
	s.running = startTask(i.life.tasks, i.life.timeout, i.start, func(_ struct{}, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil {
			s.running = nil
			i.life.logger.Error("an instance cannot start", "instance", i.Name, "error", err)
			return
		}
		s.done.Store(true)
		if len(i.life.after) > 0 {
			startTask(i.life.tasks, i.life.timeout, i.afterStart, func(struct{}, error) {})
		}
	})
	return s.running
}

func (i *Instance) afterStart(ctx context.Context) (struct{}, error) {
	for _, s := range i.life.after {
		_, err := guard(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, s.AfterStartInstance(ctx, i) })
		if err != nil {
			i.life.logger.Error("a hook after the start of an instance failed", "instance", i.Name, "error", err)
		}
	}
	return struct{}{}, nil
}

func (i *Instance) start(ctx context.Context) (struct{}, error) {
	for _, s := range i.life.starters {
		if err := s.StartInstance(ctx, i); err != nil {
			return struct{}{}, fmt.Errorf("start %s: %w", label(i.Name), err)
		}
	}
	return struct{}{}, nil
}

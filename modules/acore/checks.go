package acore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/vonago/vonago/onion"
)

// The words of a check's outcome. The error itself, which may hold an address,
// goes to the log only.
const (
	outcomeOK      = "ok"
	outcomeTimeout = "timeout"
	outcomeRefused = "refused"
	outcomeFailed  = "failed"
)

// checker runs checks within a bound. Those who ask while a round is under way
// share it, so that no flood of probes becomes a flood of checks.
type checker struct {
	probe   onion.Probe
	timeout time.Duration
	env     onion.Env

	mu    sync.Mutex
	round *round
}

type round struct {
	done    chan struct{}
	results map[string]string
	details map[string]string // what modules say themselves (onion.ReadyDetailer)
	ok      bool
}

// run gives each check's outcome, and what it has to say of itself, by module
// name. It gives nothing if ctx ends before.
func (k *checker) run(ctx context.Context) *round {
	k.mu.Lock()
	r := k.round
	if r == nil {
		r = &round{done: make(chan struct{}), results: map[string]string{}, details: map[string]string{}, ok: true}
		k.round = r
		// The first to ask may leave; the others still want the outcome.
		go k.complete(context.WithoutCancel(ctx), r)
	}
	k.mu.Unlock()
	select {
	case <-r.done:
		return r
	case <-ctx.Done():
		return &round{}
	}
}

func (k *checker) complete(ctx context.Context, r *round) {
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	checks := k.probe.Checks()
	type outcome struct {
		name, detail string
		err          error
	}
	outcomes := make(chan outcome, len(checks))
	waiting := map[string]bool{}
	for _, check := range checks {
		waiting[check.Module] = true
		go func() {
			detail, err := safely(ctx, check)
			outcomes <- outcome{check.Module, detail, err}
		}()
	}
	for range checks {
		select {
		case o := <-outcomes:
			delete(waiting, o.name)
			k.record(ctx, r, o.name, o.err)
			if o.detail != "" {
				r.details[o.name] = o.detail
			}
		case <-ctx.Done():
		}
	}
	for name := range waiting {
		k.record(ctx, r, name, context.DeadlineExceeded)
	}
	k.mu.Lock()
	k.round = nil
	k.mu.Unlock()
	close(r.done)
}

func (k *checker) record(ctx context.Context, r *round, name string, err error) {
	r.results[name] = classify(err)
	if err != nil {
		r.ok = false
		k.env.Logger.WarnContext(ctx, "not ready", "module", name, "error", err)
	}
}

// safely turns a panic of a check into its failure: it runs on a goroutine that
// no request's recovery guards.
func safely(ctx context.Context, check onion.ReadyCheck) (detail string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	err = check.Ready(ctx)
	if d, ok := check.ReadyChecker.(onion.ReadyDetailer); ok {
		detail = d.ReadyDetail()
	}
	return detail, err
}

func classify(err error) string {
	var timeout net.Error
	switch {
	case err == nil:
		return outcomeOK
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return outcomeTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return outcomeRefused
	}
	return outcomeFailed
}

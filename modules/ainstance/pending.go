package ainstance

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// maxPending bounds how many names wait for something; with more of them it is all instances.
const maxPending = 1000

// pending are names of instances that something has still to be done for. A name that is added twice waits once.
type pending struct {
	wake chan struct{} // has a value while there may be something to take

	mu    sync.Mutex
	names map[string]struct{}
	all   bool
}

func newPending() *pending {
	return &pending{wake: make(chan struct{}, 1), names: map[string]struct{}{}}
}

func (p *pending) add(names ...string) {
	p.mu.Lock()
	for _, name := range names {
		p.names[name] = struct{}{}
	}
	if len(p.names) > maxPending {
		p.all = true
	}
	p.mu.Unlock()
	p.nudge()
}

func (p *pending) addAll() {
	p.mu.Lock()
	p.all = true
	p.mu.Unlock()
	p.nudge()
}

func (p *pending) nudge() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// take gives what waits, sorted, and forgets it.
func (p *pending) take() (names []string, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	names, all = slices.Sorted(maps.Keys(p.names)), p.all
	clear(p.names)
	p.all = false
	return names, all
}

// The pauses after something failed, doubled from the first to the last.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// work does what waits until ctx is done. What do leaves undone it gives back, and it is done after a pause.
func (p *pending) work(ctx context.Context, do func(ctx context.Context, names []string, all bool) (left []string, leftAll bool)) {
	pause := firstPause
	for {
		select {
		case <-p.wake:
		case <-ctx.Done():
			return
		}
		names, all := p.take()
		left, leftAll := do(ctx, names, all)
		if len(left) == 0 && !leftAll {
			pause = firstPause
			continue
		}
		p.mu.Lock()
		for _, name := range left {
			p.names[name] = struct{}{}
		}
		p.all = p.all || leftAll
		p.mu.Unlock()
		if !sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, lastPause)
		p.nudge()
	}
}

// sleep waits; false if ctx was done first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

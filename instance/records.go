package instance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vonago/vonago/onion"
)

// ErrUnknown says that there is no instance of a name: neither the configuration
// nor the store knows it (contract C8: 423).
var ErrUnknown = errors.New("unknown instance")

// maxForeignLoads bounds how many names that the configuration does not state
// are looked for in the store at once. Nothing is kept of names that are not
// found, so this is what a flood of them can cost.
const maxForeignLoads = 8

// slot is a record in memory with what outlives a reload of the configuration.
type slot struct {
	// rec is the record in force; nil once the slot is forgotten.
	rec atomic.Pointer[Record]
	// good is the stored config of the last record that was usable.
	good atomic.Pointer[[]byte]
	// startup remembers whether the instance's startup hooks have run.
	startup startup
	// turn lets one refresh at a time ask the store, so that an older answer
	// cannot replace a newer one.
	turn chan struct{}
}

func newSlot(rec *Record) *slot {
	s := &slot{turn: make(chan struct{}, 1)}
	s.rec.Store(rec)
	return s
}

// records keeps the records that were found, and asks the store for others.
// Managers that follow each other on reloads share it.
type records struct {
	store   Store
	clock   onion.Clock
	timeout time.Duration
	tasks   *background
	foreign chan struct{}
	// configuredOnly is set if no store was given: a name that the
	// configuration does not state (any more) has no record.
	configuredOnly bool

	mu    sync.Mutex
	slots map[string]*slot
	loads map[string]*task[*slot]
}

func newRecords(store Store, clock onion.Clock, timeout time.Duration, tasks *background) *records {
	configuredOnly := store == nil
	if configuredOnly {
		store = NewMemoryStore()
	}
	return &records{
		configuredOnly: configuredOnly,
		store:          store, clock: clock, timeout: timeout, tasks: tasks,
		foreign: make(chan struct{}, maxForeignLoads),
		slots:   map[string]*slot{}, loads: map[string]*task[*slot]{},
	}
}

// get gives the slot of a name, from memory after the first time. Callers that
// ask for one name at once share one look into the store. The error is
// ErrUnknown or the store's.
func (r *records) get(ctx context.Context, name string, static *Static) (*slot, error) {
	s, load := r.known(name)
	if s == nil && load == nil {
		if static == nil {
			if err := r.admitForeign(ctx); err != nil {
				return nil, err
			}
		}
		s, load = r.load(name, static) //nolint:contextcheck // others wait for it when this caller has left
	}
	if s != nil {
		return s, nil
	}
	return load.wait(ctx)
}

// known gives the slot of a name, or the load that is under way, or neither.
func (r *records) known(name string) (*slot, *task[*slot]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.slots[name], r.loads[name]
}

// admitForeign waits for a place in r.foreign, no longer than a load may take.
func (r *records) admitForeign(ctx context.Context) error {
	select {
	case r.foreign <- struct{}{}:
		return nil
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	select {
	case r.foreign <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait to look an instance up: %w", context.Cause(ctx))
	}
}

// load starts to look a name up, unless someone else has meanwhile. A foreign
// name comes with a place in r.foreign, which is given back.
func (r *records) load(name string, static *Static) (*slot, *task[*slot]) {
	release := func() {
		if static == nil {
			<-r.foreign
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, load := r.slots[name], r.loads[name]; s != nil || load != nil {
		release()
		return s, load
	}
	work := func(ctx context.Context) (*slot, error) {
		rec, err := r.fetch(ctx, name, static)
		if err != nil {
			return nil, err
		}
		return newSlot(rec), nil
	}
	load := startTask(r.tasks, r.timeout, work, func(s *slot, err error) {
		defer release()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.loads, name)
		if err == nil {
			r.slots[name] = s
		}
	})
	r.loads[name] = load
	return nil, load
}

// fetch asks the store, and registers a configured instance that has no record.
func (r *records) fetch(ctx context.Context, name string, static *Static) (*Record, error) {
	rec, err := r.store.Find(ctx, name)
	if errors.Is(err, ErrNotFound) {
		if static == nil {
			return nil, ErrUnknown
		}
		rec, err = r.store.Register(ctx, static.record(r.clock.Now()))
		if err != nil {
			return nil, fmt.Errorf("register %s: %w", label(name), err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("find the record of %s: %w", label(name), err)
	}
	if rec == nil || rec.Name != name || rec.ID <= 0 {
		return nil, fmt.Errorf("find the record of %s: the store answered with another record or one without an id", label(name))
	}
	return rec.clone(), nil
}

// record is what the first request of a static instance registers. Disabled
// stays with the configuration, so that it can be taken back there.
func (s *Static) record(now time.Time) Record {
	return Record{ID: s.ID, Name: s.Name, Title: s.Title, Isolate: s.Isolate != nil && *s.Isolate, CreatedAt: now, UpdatedAt: now}
}

// refresh asks the store again for a name that is in memory. A name that is not
// needs nothing: its first request will find what is stored. If the store fails,
// the record in memory stays in force.
func (r *records) refresh(ctx context.Context, name string, static *Static) error {
	for {
		s, load := r.known(name)
		if load != nil {
			// What it has read may be older than the change we were told of.
			var err error
			if s, err = load.wait(ctx); err != nil {
				return ignoreUnknown(err)
			}
		}
		if s == nil {
			return nil
		}
		if done, err := r.refreshSlot(ctx, name, static, s); done || err != nil {
			return err
		}
	}
}

// refreshSlot is refresh for a slot; done is false if it was forgotten while
// others had their turn.
func (r *records) refreshSlot(ctx context.Context, name string, static *Static, s *slot) (done bool, err error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	old := s.rec.Load()
	if old == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	rec, err := r.fetch(ctx, name, static)
	if errors.Is(err, ErrUnknown) {
		r.forget(name, s)
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if !old.sameAs(rec) {
		s.rec.Store(rec)
	}
	return true, nil
}

func ignoreUnknown(err error) error {
	if errors.Is(err, ErrUnknown) {
		return nil
	}
	return err
}

// forget drops an instance whose record is gone.
func (r *records) forget(name string, s *slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.slots[name] == s {
		delete(r.slots, name)
	}
	s.rec.Store(nil)
}

// names lists the instances in memory.
func (r *records) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]string, 0, len(r.slots))
	for name := range r.slots {
		list = append(list, name)
	}
	return list
}

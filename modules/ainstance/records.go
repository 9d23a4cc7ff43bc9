package ainstance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
)

// Errors of Records, for errors.Is; instance.ErrNotFound is another.
var (
	// ErrExists says that a name to create has a record.
	ErrExists = errors.New("the instance has a record already")
	// ErrRefused says that a record was not written because it could not be in force: a name that no instance can have, a
	// stored config that is malformed or refused. The error names the path.
	ErrRefused = errors.New("the record is refused")
)

// Records is the service with which code looks at the records of instances and changes them. What it changes is in force in
// this process when it returns, unless the database fails just then, and in the others a moment later: see docs.
type Records struct {
	store instance.Editor
	live  *instance.Live
	news  *news
	clock onion.Clock
}

func newRecords(store instance.Editor, live *instance.Live, n *news, clock onion.Clock) *Records {
	return &Records{store: store, live: live, news: n, clock: clock}
}

// List gives all records, sorted by name.
func (r *Records) List(ctx context.Context) ([]*instance.Record, error) {
	list, err := r.store.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the records of instances: %w", err)
	}
	return list, nil
}

// Get gives the record of an instance as it is stored, instance.ErrNotFound if there is none. An instance of the
// configuration has none before its first request.
func (r *Records) Get(ctx context.Context, name string) (*instance.Record, error) {
	rec, err := r.store.Find(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("the record of instance %q: %w", name, err)
	}
	return rec, nil
}

// Create adds an instance. Its times are set here; an ID of 0 asks for one. The error is ErrExists, ErrRefused,
// instance.ErrIDTaken or the store's.
func (r *Records) Create(ctx context.Context, rec instance.Record) (*instance.Record, error) {
	fail := func(err error) (*instance.Record, error) {
		return nil, fmt.Errorf("create instance %q: %w", rec.Name, err)
	}
	if err := instance.CheckName(rec.Name); err != nil {
		return fail(fmt.Errorf("%w: %w", ErrRefused, err))
	}
	if err := r.check(rec.Name, rec.Config); err != nil {
		return fail(err)
	}
	now := r.clock.Now()
	rec.CreatedAt, rec.UpdatedAt = now, now
	// Of two that create a name at once the store keeps one and tells both of it, so who made it has to be asked before.
	if _, err := r.store.Find(ctx, rec.Name); !errors.Is(err, instance.ErrNotFound) {
		if err == nil {
			err = ErrExists
		}
		return fail(err)
	}
	stored, err := r.store.Register(ctx, rec)
	if err != nil {
		return fail(err)
	}
	r.changed(ctx, rec.Name)
	return stored, nil
}

// Update changes the record of an instance. A stored config is checked first as this process would check it on use, so one
// that cannot be in force is not written (ErrRefused). An instance of the configuration that has no record yet gets one.
func (r *Records) Update(ctx context.Context, name string, p instance.Patch) (*instance.Record, error) {
	fail := func(err error) (*instance.Record, error) {
		return nil, fmt.Errorf("update instance %q: %w", name, err)
	}
	if p.Config != nil {
		if err := r.check(name, *p.Config); err != nil {
			return fail(err)
		}
	}
	rec, err := r.store.Update(ctx, name, p, r.clock.Now())
	if errors.Is(err, instance.ErrNotFound) && r.registered(ctx, name) {
		rec, err = r.store.Update(ctx, name, p, r.clock.Now())
	}
	if err != nil {
		return fail(err)
	}
	r.changed(ctx, name)
	return rec, nil
}

// registered gives an instance of the configuration its record, as its first request would.
func (r *Records) registered(ctx context.Context, name string) bool {
	m := r.live.Manager()
	if m == nil {
		return false
	}
	inst, err := m.Lookup(ctx, name)
	return err == nil && inst.ID != 0
}

// Reload makes this process and all others read the record of an instance again, after it was changed by other means. The
// error is this process's; what was in force stays then.
func (r *Records) Reload(ctx context.Context, name string) error {
	r.news.tell(name)
	m := r.live.Manager()
	if m == nil {
		return nil
	}
	return m.Reload(ctx, name)
}

// check asks the manager in force whether a stored config could be.
func (r *Records) check(name string, stored []byte) error {
	m := r.live.Manager()
	if m == nil {
		return errors.New("the application is not built yet")
	}
	if err := m.CheckStored(name, stored); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return nil
}

// changed puts a record that was written in force, here and elsewhere. That its caller has gone does not unwrite it.
func (r *Records) changed(ctx context.Context, name string) {
	r.news.tell(name)
	m := r.live.Manager()
	if m == nil {
		return
	}
	if err := m.Reload(context.WithoutCancel(ctx), name); errors.Is(err, instance.ErrStoreFailed) {
		r.news.reloads.add(name)
	}
}

// byName sorts records by the bytes of their names, whatever the order of the database is.
func byName(list []*instance.Record) []*instance.Record {
	slices.SortFunc(list, func(a, b *instance.Record) int { return strings.Compare(a.Name, b.Name) })
	return list
}

package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// CheckStored says why a stored config cannot be in force for an instance, nil
// if it can: malformed JSON, what no instance may configure, options that are
// refused. It takes the configuration as this manager has it.
func (m *Manager) CheckStored(name string, stored []byte) error {
	_, err := m.optionsWith(name, m.statics[name], stored)
	return err
}

// Reload asks the store for the record of an instance again and puts it in force
// for the requests that follow; requests under way and other instances notice
// nothing. An instance that no request has asked for yet needs no reload. If the
// store fails, or the stored config is refused, the error says so and what was
// in force stays.
func (m *Manager) Reload(ctx context.Context, name string) error {
	failed, fault := m.reload(ctx, name)
	return errors.Join(failed, fault)
}

// ReloadAll reloads every instance in memory, after this process may have missed
// news of changes. Records that are refused do not keep the others from being
// reloaded; a store that fails does, so that its outage costs one timeout. The
// error joins all; errors.Is(err, ErrStoreFailed) tells that it has to be done
// again.
func (m *Manager) ReloadAll(ctx context.Context) error {
	var errs []error
	names := m.records.names()
	slices.Sort(names)
	for _, name := range names {
		failed, fault := m.reload(ctx, name)
		errs = append(errs, failed, fault)
		if failed != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// ErrStoreFailed is in the error of a reload that could not be done: nothing is
// wrong with the record, it could not be read.
var ErrStoreFailed = errors.New("the record store failed")

// reload tells a store that failed from a record that is refused.
func (m *Manager) reload(ctx context.Context, name string) (failed, fault error) {
	if err := m.records.refresh(ctx, name, m.statics[name]); err != nil {
		return fmt.Errorf("reload %s: %w: %w", label(name), ErrStoreFailed, err), nil
	}
	s, _ := m.records.known(name)
	if s == nil {
		return nil, nil
	}
	inst, err := m.build(name, s)
	if err != nil {
		return nil, fmt.Errorf("reload %s: %w", label(name), err)
	}
	if inst != nil {
		return nil, inst.Fault()
	}
	return nil, nil
}

// Live is the manager in force, for modules that reload instances. The
// application provides it as the service *Live and sets it after its build and
// after every reload of the configuration.
type Live struct{ manager atomic.Pointer[Manager] }

// Manager is the manager in force; nil while the application is being built.
func (l *Live) Manager() *Manager { return l.manager.Load() }

// Set puts a manager in force.
func (l *Live) Set(m *Manager) { l.manager.Store(m) }

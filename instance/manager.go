package instance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/onion"
)

// Config is what a Manager takes from the configuration: all that a reload
// replaces.
type Config struct {
	// App is the application's configuration.
	App *config.Tree
	// Statics are the instances that the configuration states, see Statics.
	Statics []Static
	// Sections are the dotted paths, besides "onions", that a stored config
	// may override; those that were given to Statics.
	Sections []string
	// NewSet makes the option set of an instance: onion.Engine's Set.
	NewSet func(name string, none bool, settings ...onion.Settings) (*onion.Set, error)
}

// Options is what stays the same over reloads.
type Options struct {
	// Store holds the records; nil means that there are no instances besides
	// those of the configuration.
	Store Store
	// Starters are the modules that have startup work per instance.
	Starters []Starter
	// AfterStarters are the modules that have work per instance once it is ready.
	AfterStarters []AfterStarter
	// Clock and Logger may be nil: the system's clock, and no log.
	Clock  onion.Clock
	Logger *slog.Logger
	// LoadTimeout bounds how long a request waits for the store; 0 means 5 s.
	LoadTimeout time.Duration
	// StartTimeout bounds an instance's startup hooks; 0 means 1 min.
	StartTimeout time.Duration
}

// Defaults of Options.
const (
	defaultLoadTimeout  = 5 * time.Second
	defaultStartTimeout = time.Minute
)

// Manager finds instances by name. It is safe for concurrent use. Its
// configuration does not change: a reload makes the next Manager, which shares
// records and readiness with this one.
type Manager struct {
	cfg      Config
	records  *records
	life     *lifecycle
	statics  map[string]*Static
	checked  map[string]options // of the statics without a stored config
	fallback *onion.Set

	building sync.Mutex // makes instances one at a time; never held across I/O

	mu     sync.RWMutex
	loaded map[string]*Instance
}

// NewManager checks the configuration of every static instance and makes its
// option set; the error (onion.Errors) holds all that is wrong. It does not ask
// the store: that may be away at start.
func NewManager(cfg Config, opts Options) (*Manager, error) {
	if opts.Clock == nil {
		opts.Clock = onion.SystemClock{}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	tasks := newBackground()
	life := &lifecycle{
		starters: opts.Starters, after: opts.AfterStarters, tasks: tasks,
		timeout: cmp.Or(opts.StartTimeout, defaultStartTimeout), logger: opts.Logger,
	}
	return newManager(cfg, newRecords(opts.Store, opts.Clock, cmp.Or(opts.LoadTimeout, defaultLoadTimeout), tasks), life)
}

// Stop ends what runs in the background (hooks, looks into the store) and waits
// for it, or for the end of ctx. It stops the managers before and after a reload
// alike; a lookup that needs the store fails from then on.
func (m *Manager) Stop(ctx context.Context) error {
	if err := m.life.tasks.stop(ctx); err != nil {
		return fmt.Errorf("stop the instances' background work: %w", err)
	}
	return nil
}

// Next makes the manager that follows this one after a reload of the
// configuration: instances keep their records, and do not start again. An error
// leaves this one as it is.
func (m *Manager) Next(cfg Config) (*Manager, error) {
	return newManager(cfg, m.records, m.life)
}

func newManager(cfg Config, records *records, life *lifecycle) (*Manager, error) {
	m := &Manager{
		cfg: cfg, records: records, life: life,
		statics: make(map[string]*Static, len(cfg.Statics)), checked: make(map[string]options, len(cfg.Statics)),
		loaded: map[string]*Instance{},
	}
	var errs faults
	var err error
	m.fallback, err = cfg.NewSet("", true)
	errs.add(err)
	for i := range cfg.Statics {
		s := &cfg.Statics[i]
		checked, err := m.cfg.optionsOf(s.Name, s, nil)
		errs.add(err)
		m.statics[s.Name], m.checked[s.Name] = s, checked
	}
	if len(errs) > 0 {
		return nil, onion.Errors(errs)
	}
	return m, nil
}

// faults are errors, each once: what is wrong with the application or a route is
// found with every instance.
type faults onion.Errors

func (f *faults) add(err error) {
	several, ok := errors.AsType[onion.Errors](err)
	if err != nil && !ok {
		several = onion.Errors{err}
	}
	for _, one := range several {
		if !slices.ContainsFunc(*f, func(known error) bool { return known.Error() == one.Error() }) {
			*f = append(*f, one)
		}
	}
}

// Fallback is the option set of calls without an instance (the name "null", or
// an unknown one): its filters shape their errors.
func (m *Manager) Fallback() *onion.Set { return m.fallback }

// Names lists the instances that are configured or in memory, sorted.
func (m *Manager) Names() []string {
	names := slices.Collect(maps.Keys(m.statics))
	if !m.records.configuredOnly {
		names = append(names, m.records.names()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Warnings are what an operator should know but what does not hinder a start.
func (m *Manager) Warnings() []string {
	if len(m.statics) > 0 {
		return nil
	}
	return []string{"no instance is configured, so requests are answered 423 Locked; " +
		"state the default one in instances/default.yaml or as instance.instances.\"\""}
}

// Lookup gives the instance of a name (of any length), from memory after the
// first time; the first lookup of a configured instance without a record
// registers it (contract D3). The instance may be disabled. ErrUnknown says
// that there is none, and nothing is kept of the name; any other error says that
// the store failed or ctx was done, and is an onion.Error of status 503
// (contract C8).
func (m *Manager) Lookup(ctx context.Context, name string) (*Instance, error) {
	if inst := m.find(name); inst != nil {
		return inst, nil
	}
	static := m.statics[name]
	if static == nil && (m.records.configuredOnly || CheckName(name) != nil) {
		return nil, ErrUnknown
	}
	if static != nil && static.Disabled {
		return m.locked(static), nil
	}
	inst, err := m.recorded(ctx, name, static)
	if err != nil && !errors.Is(err, ErrUnknown) {
		err = unavailable(fmt.Errorf("look up %s: %w", label(name), err))
	}
	return inst, err
}

// recorded gives an instance that has a record.
func (m *Manager) recorded(ctx context.Context, name string, static *Static) (*Instance, error) {
	for {
		s, err := m.records.get(ctx, name, static)
		if err != nil {
			return nil, err
		}
		if inst, err := m.build(name, s); inst != nil || err != nil {
			return inst, err
		}
		// The record was deleted meanwhile.
	}
}

// find gives an instance that is in memory and up to date.
func (m *Manager) find(name string) *Instance {
	m.mu.RLock()
	inst := m.loaded[name]
	m.mu.RUnlock()
	if inst == nil || !inst.current() {
		return nil
	}
	return inst
}

func (m *Manager) keep(inst *Instance) *Instance {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loaded[inst.Name] = inst
	return inst
}

// locked is an instance that the configuration disables: it has no use for its
// record, so the store is not asked.
func (m *Manager) locked(s *Static) *Instance {
	o := m.checked[s.Name]
	return m.keep(&Instance{
		Name: s.Name, ID: s.ID, Title: s.Title, Disabled: true, Isolate: s.Isolate != nil && *s.Isolate,
		Set: o.set, config: o.config, life: m.life,
	})
}

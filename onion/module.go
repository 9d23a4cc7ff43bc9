package onion

import "context"

// Module is a named set of onions and controllers; an application lists its
// modules. What else a module can do is said by the optional one-method
// interfaces below.
type Module interface {
	// Name is "<provider>-<name>", for example "a-ratelimit".
	Name() string
	// Onions are the definitions that this module adds.
	Onions() []Onion
	// Controllers are the declarations whose routes this module adds.
	Controllers() []Declaration
}

// Configurable is a module with configuration sections of its own. Config gives,
// by path ("redis", "modules.a-ratelimit"), pointers to structs that hold the
// defaults; the application fills them strictly before Provide. A section with
// rules that types and tags cannot say is a SectionChecker. A module of which a
// section is bad is not asked to provide.
type Configurable interface {
	Config() map[string]any
}

// SectionChecker is a section of a Configurable that judges itself once it is
// filled: at start, before any module provides, and at every reload, where a fresh
// one is filled that is then dropped. What is refused here and not in Provide
// cannot be reloaded today and refuse the start tomorrow.
//
// env has what the application says of itself (name, mode, flavor) and its keys, the
// service passport.Keys, but no service of a module. Check changes nothing and waits
// for nothing outside the process; it may read files that the section names. Its
// error joins one for each fault, which begins with the dotted path of the value,
// "redis.base.host: must be a name"; the application puts the place before it.
type SectionChecker interface {
	Check(env Env) error
}

// Provider offers services to the builds of onions. It must not wait for
// anything outside the process.
type Provider interface {
	Provide(env Env) error
}

// Starter is started before the application listens, in the order of the list
// of modules. What may be away at start (Redis) is no error (contract A7).
type Starter interface {
	Start(ctx context.Context) error
}

// AfterStarter has work to do once the application is ready, while it serves
// requests already: after all modules have started, in the order of the list. An
// error is logged and stops nothing.
type AfterStarter interface {
	AfterStart(ctx context.Context) error
}

// Stopper is stopped after the last request has finished, in reverse order
// (contract C10).
type Stopper interface {
	Stop(ctx context.Context) error
}

// ReadyChecker takes part in /health/ready. Ready must return when ctx is done.
type ReadyChecker interface {
	Ready(ctx context.Context) error
}

// ReadyDetailer is a ReadyChecker that has more to say in /health/ready than yes or
// no, in a few words and without addresses or names of users. The words change no
// outcome; none are "".
type ReadyDetailer interface {
	ReadyDetail() string
}

// Basic is a Module of onions and controllers only; other modules embed it.
type Basic struct {
	ModuleName        string
	ModuleOnions      []Onion
	ModuleControllers []Declaration
}

// Name is the module's name.
func (b Basic) Name() string { return b.ModuleName }

// Onions are the module's definitions.
func (b Basic) Onions() []Onion { return b.ModuleOnions }

// Controllers are the module's declarations.
func (b Basic) Controllers() []Declaration { return b.ModuleControllers }

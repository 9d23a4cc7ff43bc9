package app

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/executor"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
)

// App is a built application. It is safe for concurrent use.
type App struct {
	options  options
	cfg      *config.Config // that it was built with
	modules  []onion.Module
	sections []moduleSection
	env      onion.Env
	state    *instance.State
	live     instance.Live
	server   serverSection // as it was built: what cannot change at run time

	exec    *executor.Executor
	current atomic.Pointer[inForce]

	reloading sync.Mutex    // one reload at a time
	refresh   chan struct{} // a call of ReloadFiles that waits
}

// inForce is what a reload replaces, all of it at once.
type inForce struct {
	cfg       *config.Config
	sections  sections
	engine    *onion.Engine
	instances *instance.Manager
	warnings  []string
}

// Option changes how New builds an application.
type Option func(*options)

type options struct {
	mounts       []executor.Mount
	store        instance.Store
	instanceName instance.NameFunc
	clock        onion.Clock
	logger       *slog.Logger
	logOutput    io.Writer
	unwatched    bool
	inspecting   bool // the store of records is looked at only
}

// WithMount serves an ordinary handler below a path; it is reached through the
// system chain (contract B3).
func WithMount(prefix string, h http.Handler) Option {
	return func(o *options) { o.mounts = append(o.mounts, executor.Mount{Prefix: prefix, Handler: h}) }
}

// WithStore keeps the records of instances in a store. Without it the store is the
// service instance.Store of a module (ainstance), and without that there are no
// instances besides those of the configuration.
func WithStore(s instance.Store) Option { return func(o *options) { o.store = s } }

// WithInstanceName asks the application's own rule for the instance name first
// (contract D1).
func WithInstanceName(f instance.NameFunc) Option { return func(o *options) { o.instanceName = f } }

// WithClock replaces the system's clock, in tests.
func WithClock(c onion.Clock) Option { return func(o *options) { o.clock = c } }

// WithLogger replaces the logger that configuration would make.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// WithLogOutput is where the configured logger writes; the default is the
// process's standard error.
func WithLogOutput(w io.Writer) Option { return func(o *options) { o.logOutput = w } }

// WithoutWatch leaves changes of the configuration's files unnoticed until
// ReloadFiles is called; SIGHUP does that.
func WithoutWatch() Option { return func(o *options) { o.unwatched = true } }

// New builds an application of its configuration and modules. It connects to
// nothing. The error (onion.Errors) holds everything that is wrong.
//
// Modules are started in the order of the list and stopped in reverse, so a
// module stands after those whose services it uses.
func New(cfg *config.Config, modules []onion.Module, opts ...Option) (*App, error) {
	a := &App{
		cfg: cfg, modules: modules, sections: moduleSections(modules), state: &instance.State{},
		options: options{logOutput: os.Stderr}, refresh: make(chan struct{}, 1),
	}
	for _, opt := range opts {
		opt(&a.options)
	}
	if err := a.build(); err != nil {
		return nil, err
	}
	return a, nil
}

// Handler serves the application's requests. Until Start has been called they
// are answered 503, but for the health paths.
func (a *App) Handler() http.Handler { return a.exec }

// Executor performs actions in process (contract F1).
func (a *App) Executor() *executor.Executor { return a.exec }

// PerformAction runs an action in process (contract F1).
func (a *App) PerformAction(ctx context.Context, method, path string, opts executor.ActionOptions) (any, error) {
	return a.exec.PerformAction(ctx, method, path, opts) //nolint:wrapcheck // the action's own error
}

// Env is the environment that modules and builds see.
func (a *App) Env() onion.Env { return a.env }

// Routes are the application's routes in the order of declaration.
func (a *App) Routes() []*onion.RouteInfo { return a.current.Load().engine.Routes() }

// Instances are the names of the instances that are configured or in memory.
func (a *App) Instances() []string { return a.current.Load().instances.Names() }

// Warnings are what an operator should know but what does not hinder a start.
func (a *App) Warnings() []string { return a.current.Load().warnings }

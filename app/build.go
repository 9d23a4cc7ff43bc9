package app

import (
	"fmt"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/executor"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
)

// build reads the sections, lets the modules provide their services and compiles
// the runtime. It goes on after faults as far as makes sense, so that one run
// names them all.
func (a *App) build() error {
	var errs faults
	s, err := readSections(a.cfg, a.modules)
	errs.add(err)
	a.server = s.server
	logger := a.options.logger
	if logger == nil {
		logger = newLogger(a.options.logOutput, a.cfg.Mode() == config.ModeProd, s.logger.Clients.Default.Level)
	}
	a.env = onion.NewEnv(s.app.Name, onion.Mode(a.cfg.Mode()), a.cfg.Flavor(), logger, a.options.clock)
	errs.add(a.provide(s))
	rt, err := a.compile(a.cfg, s)
	errs.add(err)
	if err := errs.err(); err != nil {
		return err
	}
	a.exec = executor.New(rt)
	return nil
}

// provide offers the application's own services, then those of the modules.
func (a *App) provide(s sections) error {
	var errs faults
	errs.add(onion.Provide(a.env, s.server.passportKeys()))
	errs.add(onion.Provide(a.env, a.state))
	errs.add(onion.Provide(a.env, &a.live))
	errs.add(onion.Provide[onion.Probe](a.env, probe{a.state, a.modules}))
	for _, m := range a.modules {
		p, ok := m.(onion.Provider)
		if !ok {
			continue
		}
		var own faults
		own.add(p.Provide(a.env))
		for _, err := range own.list {
			errs.add(fmt.Errorf("module %s: %w", m.Name(), err))
		}
	}
	return errs.err()
}

// compile makes what requests are served with of a configuration: engine,
// instances, runtime. It goes on after faults, to name them all, and changes
// nothing that is in force unless there are none.
func (a *App) compile(cfg *config.Config, s sections) (*executor.Runtime, error) {
	var errs faults
	engine, err := onion.Build(onion.Input{
		Modules: a.modules, Env: a.env, App: onionSettings(cfg), Prefix: s.server.GlobalPrefix, Assemble: executor.Assemble,
	})
	errs.add(err)
	manager, err := a.manage(instance.Config{App: cfg.Tree, Statics: s.statics, NewSet: engine.Set})
	errs.add(err)
	if err != nil {
		return nil, errs.err()
	}
	rt, err := executor.NewRuntime(executor.RuntimeInput{
		Env: a.env, Engine: engine, Instances: manager, Server: s.server.ServerConfig, Proxy: s.proxy, Mounts: a.options.mounts,
		Resolver: instance.NewResolver(s.instance, s.server.SubdomainOffset, a.options.instanceName),
	})
	errs.add(err)
	if err := errs.err(); err != nil {
		return nil, err
	}
	a.engine, a.instances = engine, manager
	a.live.Set(manager)
	a.warnings = append(append(engine.Warnings(), manager.Warnings()...), aggregateWarnings(engine)...)
	return rt, nil
}

// manage makes the instances' manager, the first or the next one.
func (a *App) manage(cfg instance.Config) (*instance.Manager, error) {
	if a.instances != nil {
		return a.instances.Next(cfg) //nolint:wrapcheck // each of its errors names its place
	}
	opts := instance.Options{Store: a.store(), Clock: a.env.Clock, Logger: a.env.Logger}
	for _, m := range a.modules {
		if s, ok := m.(instance.Starter); ok {
			opts.Starters = append(opts.Starters, s)
		}
		if s, ok := m.(instance.AfterStarter); ok {
			opts.AfterStarters = append(opts.AfterStarters, s)
		}
	}
	return instance.NewManager(cfg, opts) //nolint:wrapcheck // each of its errors names its place
}

// store is that of WithStore, or the one that a module provides, or none.
func (a *App) store() instance.Store {
	if a.options.store != nil {
		return a.options.store
	}
	if provided, err := onion.Service[instance.Store](a.env); err == nil {
		return provided
	}
	return nil
}

// aggregateWarnings tells that the aggregate control may reject health probes
// (contract B3).
func aggregateWarnings(e *onion.Engine) []string {
	const aggregate, health = "a-ratelimit:aggregate", "a-core:health"
	options, active := e.SystemOptions(aggregate)
	policy, _ := options["rateLimit"].(map[string]any)
	if !active || policy["mode"] != "enforce" {
		return nil
	}
	own, healthActive := e.SystemOptions(health)
	path, _ := own["path"].(string)
	if !healthActive || !e.SystemActive(aggregate, path+"/live") {
		return nil
	}
	return []string{fmt.Sprintf("onion %s enforces its quota on %s/* too: when it is used up, probes are answered 429; ignore these paths to exempt them", aggregate, path)}
}

// probe is what the application tells a-core:health.
type probe struct {
	state   *instance.State
	modules []onion.Module
}

// Started reports whether all modules have started.
func (p probe) Started() bool { return p.state.Started() }

// Draining reports whether the application has begun to shut down.
func (p probe) Draining() bool { return p.state.Stopping() }

// Checks are the modules that take part in being ready.
func (p probe) Checks() []onion.ReadyCheck {
	var list []onion.ReadyCheck
	for _, m := range p.modules {
		if c, ok := m.(onion.ReadyChecker); ok {
			list = append(list, onion.ReadyCheck{Module: m.Name(), ReadyChecker: c})
		}
	}
	return list
}

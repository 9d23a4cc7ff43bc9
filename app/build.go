package app

import (
	"context"
	"fmt"
	"math"
	"slices"

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
	errs.add(a.cfg.Err())
	s, err := readSections(a.cfg, a.sections)
	errs.add(err)
	a.server = s.server
	logger := a.options.logger
	if logger == nil {
		logger = newLogger(a.options.logOutput, a.cfg.Mode() == config.ModeProd, s.logger.Clients.Default.Level)
	}
	a.env = onion.NewEnv(s.app.Name, onion.Mode(a.cfg.Mode()), a.cfg.Flavor(), logger, a.options.clock)
	errs.add(a.provide(s))
	built, rt, err := a.compile(a.cfg, s, nil)
	errs.add(err)
	if err := errs.err(); err != nil {
		return err
	}
	a.exec = executor.New(rt)
	a.current.Store(built)
	a.live.Set(built.instances)
	return nil
}

// provide offers the application's own services, then those of the modules, but of
// none with a bad section: it would complain of the same, or of defaults.
func (a *App) provide(s sections) error {
	var errs faults
	errs.add(onion.Provide(a.env, s.server.passportKeys()))
	errs.add(onion.Provide(a.env, a.state))
	errs.add(onion.Provide(a.env, &a.live))
	errs.add(onion.Provide[onion.Probe](a.env, probe{a.state, a.modules}))
	for _, m := range a.modules {
		p, ok := m.(onion.Provider)
		bad := slices.ContainsFunc(a.sections, func(own moduleSection) bool { return own.bad && own.owner == m.Name() })
		if !ok || bad {
			continue
		}
		errs.addAt("module "+m.Name(), p.Provide(a.env))
	}
	return errs.err()
}

// compile makes what requests are served with of a configuration: engine,
// instances, runtime. It goes on after faults, to name them all, and puts nothing
// in force. before is the instances' manager in force, nil at the start.
func (a *App) compile(cfg *config.Config, s sections, before *instance.Manager) (*inForce, *executor.Runtime, error) {
	var errs faults
	engine, err := onion.Build(onion.Input{
		Modules: a.modules, Env: a.env, App: onionSettings(cfg), Prefix: s.server.GlobalPrefix, Assemble: executor.Assemble,
	})
	errs.add(err)
	manager, err := a.manage(instanceConfig(cfg, s, engine), before)
	errs.add(err)
	if err != nil {
		return nil, nil, errs.err()
	}
	rt, err := executor.NewRuntime(executor.RuntimeInput{
		Env: a.env, Engine: engine, Instances: manager, Server: s.server.ServerConfig, Proxy: s.proxy, Mounts: a.options.mounts,
		Resolver: instance.NewResolver(s.instance, s.server.SubdomainOffset, a.options.instanceName),
	})
	errs.add(err)
	if err := errs.err(); err != nil {
		return nil, nil, err
	}
	warnings := slices.Concat(engine.Warnings(), manager.Warnings(), aggregateWarnings(engine), proxyWarnings(s.proxy))
	return &inForce{cfg: cfg, sections: s, engine: engine, instances: manager, warnings: warnings}, rt, nil
}

// instanceConfig is what the instances' manager takes from the configuration.
func instanceConfig(cfg *config.Config, s sections, engine *onion.Engine) instance.Config {
	return instance.Config{App: cfg.Tree, Statics: s.statics, NewSet: engine.Set}
}

// manage makes the instances' manager, the first or the next one.
func (a *App) manage(cfg instance.Config, before *instance.Manager) (*instance.Manager, error) {
	if before != nil {
		return before.Next(cfg) //nolint:wrapcheck // each of its errors names its place
	}
	store := a.store()
	if store != nil && a.options.inspecting {
		store = readOnly{store}
	}
	opts := instance.Options{Store: store, Clock: a.env.Clock, Logger: a.env.Logger}
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

// unregistered stands for the id that an instance would be given.
const unregistered = math.MaxInt64

// readOnly is a store that an inspection looks at without leaving records.
type readOnly struct{ instance.Store }

// Register gives what would be stored.
func (readOnly) Register(_ context.Context, rec instance.Record) (*instance.Record, error) {
	if rec.ID == 0 {
		rec.ID = unregistered
	}
	return &rec, nil
}

// proxyWarnings tells of a section that says whom to trust and is not in force:
// all clients would then share the address of the proxy, and its limits.
func proxyWarnings(p executor.ProxyConfig) []string {
	if p.Enabled || len(p.Trusted) == 0 && p.MaxProxyCount == 0 {
		return nil
	}
	return []string{"proxy: trusted or maxProxyCount is given, but enabled is not true: no forwarding header is read"}
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
	return []string{fmt.Sprintf("onion %s enforces its quota on %s/* too: when it is used up, probes are answered 429; "+
		"ignore these paths to exempt them", aggregate, path)}
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

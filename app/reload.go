package app

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/vonago/vonago/config"
)

// Reload puts another configuration in force, as a whole or not at all. It is
// compiled beside the one in force and takes its place at once: requests in
// flight finish with what they began with, none fails, and what the modules hold
// (connections, counters) goes on. The error (onion.Errors) names all that is
// wrong; then nothing has changed.
//
// What is read once, at the start, does not change: the sections app, logger and
// those of modules, and of server all but globalPrefix, subdomainOffset,
// compatAccept, drainMs and shutdownTimeoutMs. It is judged nevertheless, so that
// the next start does not refuse what a reload called good. A warning in the log
// names the values that differ and take a restart.
//
// While the application serves, it reloads by itself when files change.
func (a *App) Reload(cfg *config.Config) error {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	before := a.current.Load()
	var errs faults
	errs.add(cfg.Err())
	trial := make([]moduleSection, len(a.sections))
	for i, s := range a.sections {
		trial[i] = s.fresh()
	}
	s, err := readSections(cfg, trial)
	errs.add(err)
	next, rt, err := a.compile(cfg, s, before.instances)
	errs.add(err)
	if err := errs.err(); err != nil {
		return err
	}
	a.exec.Swap(rt)
	a.current.Store(next)
	a.live.Set(next.instances)
	a.tell(before, next)
	return nil
}

// tell logs what came of a reload.
func (a *App) tell(before, next *inForce) {
	a.env.Logger.Info("the configuration was reloaded",
		"routes", len(next.engine.Routes()), "instances", len(next.instances.Names()))
	for _, w := range next.warnings {
		if !slices.Contains(before.warnings, w) {
			a.env.Logger.Warn("warning of the check", "warning", w)
		}
	}
	if paths := fixedChanges(a.cfg, next.cfg); len(paths) > 0 {
		a.env.Logger.Warn("some of what has changed takes a restart", "paths", strings.Join(paths, ", "))
	}
}

// changeable are the dotted paths that a reload can change.
var changeable = []string{
	"onions", "instance", "proxy",
	"server.globalPrefix", "server.subdomainOffset", "server.compatAccept", "server.drainMs", "server.shutdownTimeoutMs",
}

// fixedChanges lists the values that differ and are read once, each with its place.
func fixedChanges(started, now *config.Config) []string {
	var list []string
	seen := map[string]bool{}
	for _, path := range slices.Concat(now.Paths(), started.Paths()) {
		name := config.PathString(path...)
		if seen[name] || canChange(path) {
			continue
		}
		seen[name] = true
		was, had := said(started, path)
		is, has := said(now, path)
		switch {
		case has && !(had && reflect.DeepEqual(was, is)):
			list = append(list, fmt.Sprintf("%s (%s)", name, now.Source(path...)))
		case had && !has && !now.Has(path...): // what replaced it is listed
			list = append(list, name+" (removed)")
		}
	}
	return list
}

// said is a value of the configuration; an empty object says nothing.
func said(cfg *config.Config, path []string) (any, bool) {
	value, ok := cfg.Get(path...)
	if object, isObject := value.(map[string]any); isObject && len(object) == 0 {
		return nil, false
	}
	return value, ok
}

func canChange(path []string) bool {
	return slices.ContainsFunc(changeable, func(p string) bool {
		own := strings.Split(p, ".")
		return len(path) >= len(own) && slices.Equal(path[:len(own)], own)
	})
}

// ReloadFiles asks for the configuration's files to be read and put in force
// again, whether they have changed or not: what SIGHUP does. It does not wait; the
// outcome is in the log. An application that does not serve does it once it does.
func (a *App) ReloadFiles() {
	select {
	case a.refresh <- struct{}{}:
	default: // one is waiting already
	}
}

// follow reloads the configuration when its files change, and when ReloadFiles
// asks, until ctx is done; then the channel is closed, and no reload comes after.
func (a *App) follow(ctx context.Context) <-chan struct{} {
	var watcher *config.Watcher
	if !a.options.unwatched {
		w, err := config.Watch(ctx, a.current.Load().cfg, a.changed)
		if err != nil {
			a.env.Logger.Warn("changes of the configuration's files go unnoticed, but SIGHUP reloads them", "error", err)
		} else {
			watcher = w
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-a.refresh:
				if watcher != nil {
					watcher.Reload()
				} else {
					a.changed(a.cfg.Again())
				}
			case <-ctx.Done():
				if watcher != nil {
					<-watcher.Done()
				}
				return
			}
		}
	}()
	return done
}

// changed takes what came of reading the files again.
func (a *App) changed(cfg *config.Config, err error) {
	var all faults
	all.add(err)
	if cfg != nil {
		all.add(a.Reload(cfg)) // refuses a part, and says what else is wrong
	}
	if len(all.list) == 0 {
		return
	}
	texts := make([]string, len(all.list))
	for i, one := range all.list {
		texts[i] = one.Error()
	}
	a.env.Logger.Error("the configuration was not reloaded, the one before stays in force", "error", strings.Join(texts, "; "))
}

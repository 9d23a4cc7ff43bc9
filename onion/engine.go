package onion

import (
	"fmt"
	"maps"
	"strings"
	"sync"
)

// Input is everything an application consists of, for Build.
type Input struct {
	// Modules in load order, which is the order of onions that nothing else
	// orders (contract D7).
	Modules []Module
	Env     Env
	// App is the application's configuration of onions.
	App Settings
	// Prefix is the API prefix, server.globalPrefix.
	Prefix string
	// Assemble makes the run of a route from its steps; the executor supplies it.
	Assemble func(*RouteInfo, *Steps) (Next, error)
}

// Engine is a built application: its onions in order, its routes, and the option
// sets made so far. It is safe for concurrent use. A reload builds another.
type Engine struct {
	env      Env
	assemble func(*RouteInfo, *Steps) (Next, error)

	specs    map[Name]*spec
	byScene  map[Scene][]*spec // the global ones in order, then the local ones
	defaults map[*spec]layer
	app      *settings
	routes   []*RouteInfo
	system   []systemStep
	warnings []string

	// named holds every instance name that some meta.instanceName asks for:
	// other instances need not tell each other apart.
	named map[string]bool

	steps  weakCache[step]
	sets   weakCache[Set]
	chains weakCache[Chain]

	routeChecks sync.Map // routeCheck to error
}

// Errors are all the start-up errors of an application.
type Errors []error

// Error lists the errors, one a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the errors to errors.Is and errors.As.
func (e Errors) Unwrap() []error { return e }

// Build checks an application and compiles its system chain. The error holds all
// that is wrong with it (Errors), each naming onion, layer and path, or type and
// field. Routes are compiled on first use; Set checks their options.
//
// With an error too there is an engine: it serves nothing, but its Set goes on
// checking, so that one run can name all that is wrong with an application.
func Build(in Input) (*Engine, error) {
	e := &Engine{
		env: in.Env, assemble: in.Assemble,
		specs: map[Name]*spec{}, byScene: map[Scene][]*spec{}, defaults: map[*spec]layer{},
		named: map[string]bool{},
	}
	b := &builder{Engine: e, in: in}
	b.collectOnions()
	b.app = b.readSettings(in.App)
	b.orderScenes()
	b.collectControllers()
	b.warnOfPatterns()
	b.buildSystem()
	e.warnings = b.warns.unique()
	if len(b.errs) > 0 {
		return e, b.errs.unique()
	}
	return e, nil
}

// Routes are the application's routes in the order of declaration.
func (e *Engine) Routes() []*RouteInfo { return e.routes }

// Warnings are what an operator should know but what does not hinder a start:
// order names that are not present, paths in match and ignore that no route has,
// and what the onions' own checks warn about.
func (e *Engine) Warnings() []string { return e.warnings }

// Has reports whether an onion of that name is defined.
func (e *Engine) Has(name Name) bool { return e.specs[name] != nil }

// Order lists the global onions of a scene in the order in which they run.
func (e *Engine) Order(scene Scene) []Name {
	var names []Name
	for _, s := range e.byScene[scene] {
		if s.global {
			names = append(names, s.name)
		}
	}
	return names
}

// report collects messages; the same one from many routes counts once.
type report []string

func (r report) unique() []string {
	var list []string
	seen := map[string]bool{}
	for _, text := range r {
		if !seen[text] {
			seen[text] = true
			list = append(list, text)
		}
	}
	return list
}

func (e Errors) unique() Errors {
	var list Errors
	seen := map[string]bool{}
	for _, err := range e {
		if text := err.Error(); !seen[text] {
			seen[text] = true
			list = append(list, err)
		}
	}
	return list
}

// builder is an Engine under construction, with what is wrong so far.
type builder struct {
	*Engine
	in    Input
	byTag map[string]*spec
	errs  Errors
	warns report
}

func (b *builder) fail(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

// collectOnions gathers definitions in load order.
func (b *builder) collectOnions() {
	b.byTag = map[string]*spec{}
	modules := map[string]bool{}
	for _, m := range b.in.Modules {
		if err := checkModuleName(m.Name()); err != nil {
			b.fail("%w", err)
		}
		if modules[m.Name()] {
			b.fail("module %s is listed twice", m.Name())
			continue
		}
		modules[m.Name()] = true
		for _, o := range m.Onions() {
			b.addOnion(o.definition())
		}
	}
}

func (b *builder) addOnion(s *spec) {
	if s.err != nil {
		b.fail("%w", s.err)
		return
	}
	if other, ok := b.specs[s.name]; ok {
		b.fail("onion %s is defined twice: at %s and at %s", s.name, other.where, s.where)
		return
	}
	b.specs[s.name] = s
	b.byScene[s.scene] = append(b.byScene[s.scene], s)
	if s.tag != "" {
		if other, ok := b.byTag[s.tag]; ok {
			b.fail("tag key %q belongs to both %s (%s) and %s (%s)", s.tag, other.name, other.where, s.name, s.where)
		}
		if _, isVerb := verbs[s.tag]; isVerb || s.tag == tagName || s.tag == tagPath || s.tag == tagPrefix || s.tag == tagSimplify {
			b.fail("onion %s (%s): the tag key %q has a meaning of its own", s.name, s.where, s.tag)
		}
		b.byTag[s.tag] = s
	}
	patch, err := s.defaults()
	if err != nil {
		b.fail("onion %s (%s): defaults: %w", s.name, s.where, err)
		patch = map[string]any{}
	}
	maps.Copy(patch, s.outer)
	l := layer{kind: LayerDefaults, label: "defaults of " + s.where, patch: patch}
	b.checkLayer(s, l)
	b.defaults[s] = l
}

// checkLayer checks what one layer says of one onion, on its own (contract A3).
func (e *Engine) checkLayer(s *spec, l layer, warn func(string)) Errors {
	var errs Errors
	found := checkOuter(l.kind, l.patch)
	if s.mandatory && (l.kind == LayerInstance || l.kind == LayerStored) {
		found = append(found, checkMandatory(l.patch)...)
	}
	own := inner(l.patch)
	if err := s.schema.decodePartial(own, newOptions(s)); err != nil {
		found = append(found, problemsOf(err)...)
	} else if s.checkLayer != nil {
		warning, err := s.checkLayer(l.kind, own)
		if err != nil {
			found = append(found, problemsOf(err)...)
		}
		if warning != "" {
			warn(fmt.Sprintf("onion %s: %s: %s", s.name, l.place(), warning))
		}
	}
	for _, p := range found {
		errs = append(errs, fmt.Errorf("onion %s: %s: %w", s.name, l.place(p.path...), p))
	}
	return errs
}

func (b *builder) checkLayer(s *spec, l layer) {
	b.errs = append(b.errs, b.Engine.checkLayer(s, l, func(w string) { b.warns = append(b.warns, w) })...)
	instanceNamesIn(l.patch, b.named)
}

// orderScenes sorts the global onions of each scene; local ones keep load order
// behind them.
func (b *builder) orderScenes() {
	for _, scene := range Scenes() {
		var items []orderItem
		var local []*spec
		for _, s := range b.byScene[scene] {
			if !s.global {
				local = append(local, s)
				continue
			}
			items = append(items, b.orderItem(s))
		}
		sorted, missing, err := order(items)
		for _, m := range missing {
			b.warns = append(b.warns, fmt.Sprintf("%s: order: %s names no onion of this scene", scene, m))
		}
		if err != nil {
			b.fail("scene %s: %w", scene, err)
			continue
		}
		list := make([]*spec, 0, len(sorted)+len(local))
		for _, name := range sorted {
			list = append(list, b.specs[Name(name)])
		}
		b.byScene[scene] = append(list, local...)
	}
}

func (b *builder) orderItem(s *spec) orderItem {
	m := merge(b.appLayers(s))
	// checkOuter has reported what does not parse.
	dependencies, _ := parseNames(m.options[optDependencies])
	dependents, _ := parseNames(m.options[optDependents])
	return orderItem{name: string(s.name), dependencies: dependencies, dependents: dependents}
}

// appLayers are the layers of an onion that all instances and routes share.
func (e *Engine) appLayers(s *spec) []layer {
	layers := []layer{e.defaults[s]}
	if l, ok := e.app.layer(s); ok {
		layers = append(layers, l)
	}
	return layers
}

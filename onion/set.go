package onion

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Set is the options of one instance, or of all instances whose options are the
// same. It hands out a route's chain, compiled on first use. It is safe for
// concurrent use.
type Set struct {
	engine   *Engine
	layers   []*settings // static, then stored instance config
	instance any         // the instance name as meta sees it, if some meta asks

	chains   []atomic.Pointer[Chain] // by route index
	fallback *Chain                  // outside any route

	pipesOnce sync.Once
	pipesKey  string

	mu sync.Mutex
	// shared holds what an onion resolves to at every route that says nothing
	// of it: most routes say nothing of most onions.
	shared map[*spec]*resolved
}

// Set gives the option set of an instance: settings are its static and its
// stored config, low to high, each of which may be left out. name is the
// instance's; none marks the name "null". Everything the set says is checked at
// every route; the error (Errors) holds all that is wrong. Instances with equal
// settings share one set, unless some meta.instanceName tells them apart.
func (e *Engine) Set(name string, none bool, in ...Settings) (*Set, error) {
	s := &Set{engine: e, chains: make([]atomic.Pointer[Chain], len(e.routes)), shared: map[*spec]*resolved{}}
	var errs Errors
	named := e.named[name]
	key := ""
	for _, one := range in {
		parsed, problems := e.parseSettings(one, func(string) {})
		errs = append(errs, problems...)
		if len(parsed.layers) == 0 {
			continue
		}
		s.layers = append(s.layers, parsed)
		key += fmt.Sprintf("\n%d%s", one.Kind, parsed.key)
		for _, l := range parsed.layers {
			own := map[string]bool{}
			instanceNamesIn(l.patch, own)
			named = named || len(own) > 0
		}
	}
	if len(errs) > 0 {
		return nil, errs.unique()
	}
	s.instance = otherInstance{}
	switch {
	case none:
		s.instance, key = nil, "null"+key
	case named:
		s.instance, key = name, fmt.Sprintf("name %q", name)+key
	}
	return e.sets.get(key, func() (*Set, error) { return s, s.check() })
}

// otherInstance stands for the name of an instance that no meta asks for.
type otherInstance struct{}

// check resolves and builds every route without compiling it.
func (s *Set) check() error {
	var errs Errors
	uses := map[*spec][]resolvedUse{}
	built := map[*resolved]bool{} // most routes share what an onion resolves to
	for _, route := range s.engine.routes {
		active, problems := s.plan(route, s.instance, nil)
		errs = append(errs, problems...)
		for _, a := range active {
			if len(a.errs) > 0 {
				continue
			}
			if !built[a.resolved] {
				built[a.resolved] = true
				if _, err := s.engine.buildStep(a.spec, a.resolved); err != nil {
					errs = append(errs, a.name(err)...)
				}
			}
			if err := s.engine.checkRoute(a.spec, route); err != nil {
				errs = append(errs, err)
			}
			if a.spec.checkSet != nil {
				uses[a.spec] = append(uses[a.spec], resolvedUse{route, a.own})
			}
		}
	}
	for _, use := range s.onionsAt(nil) {
		if use.spec.checkSet == nil {
			continue
		}
		for _, err := range use.spec.checkSet(uses[use.spec]) {
			errs = append(errs, fmt.Errorf("onion %s: %w", use.spec.name, err))
		}
	}
	errs = append(errs, s.checkNamedPipes()...)
	active, problems := s.plan(nil, s.instance, nil)
	errs = append(errs, problems...)
	if len(errs) > 0 {
		return errs.unique()
	}
	var err error
	s.fallback, err = s.compile(nil, active)
	return err
}

// Chain gives the chain of a route. After Set has checked the options, an error
// can only come from Assemble.
func (s *Set) Chain(route *RouteInfo) (*Chain, error) {
	if c := s.chains[route.Index].Load(); c != nil {
		return c, nil
	}
	active, errs := s.plan(route, s.instance, nil)
	if len(errs) > 0 {
		return nil, errs.unique()
	}
	c, err := s.compile(route, active)
	if err != nil {
		return nil, err
	}
	s.chains[route.Index].Store(c)
	return c, nil
}

// Filters are the global filters, for errors outside any route.
func (s *Set) Filters() []FilterFunc { return s.fallback.Filters }

// Dynamic compiles a route for one call with overrides by onion name on top
// (contract F1). name and none are the call's instance, as for Engine.Set: an
// override may ask for an instance that nothing else asks for.
func (s *Set) Dynamic(route *RouteInfo, name string, none bool, onions map[string]map[string]any) (*Chain, error) {
	extra := map[*spec]layer{}
	var errs Errors
	for _, onion := range sortedKeys(onions) {
		sp, ok := s.engine.specs[Name(onion)]
		if !ok || sp.scene == SceneMiddlewareSystem {
			errs = append(errs, fmt.Errorf("dynamic options: %q is no onion of a route", onion))
			continue
		}
		l := layer{kind: LayerDynamic, label: "dynamic options", patch: onions[onion]}
		errs = append(errs, s.engine.checkLayer(sp, l, func(string) {})...)
		extra[sp] = l
	}
	if len(errs) > 0 {
		return nil, errs.unique()
	}
	active, errs := s.plan(route, instanceValue(name, none), extra)
	if len(errs) > 0 {
		return nil, errs.unique()
	}
	return s.compile(route, active)
}

// layersOf are the layers below a route's for an onion.
func (s *Set) layersOf(sp *spec) []layer {
	layers := s.engine.appLayers(sp)
	for _, one := range s.layers {
		if l, ok := one.layer(sp); ok {
			layers = append(layers, l)
		}
	}
	return layers
}

// resolveAt resolves an onion at a route; what the route says nothing of is
// resolved once per set.
func (s *Set) resolveAt(route *RouteInfo, sp *spec, extra map[*spec]layer) *resolved {
	var own []layer
	if route != nil {
		own = route.useLayers(sp)
	}
	if l, ok := extra[sp]; ok {
		own = append(own, l)
	}
	if len(own) > 0 {
		return s.engine.resolve(sp, append(s.layersOf(sp), own...))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.shared[sp]
	if !ok {
		r = s.engine.resolve(sp, s.layersOf(sp))
		s.shared[sp] = r
	}
	return r
}

// checkNamedPipes builds the pipes that an input may name.
func (s *Set) checkNamedPipes() (errs Errors) {
	for _, sp := range s.engine.byScene[ScenePipe] {
		if sp.onInput {
			continue
		}
		r := s.resolveAt(nil, sp, nil)
		errs = append(errs, r.errs...)
		if active, _ := r.activeAt(s.instance, nil); !active || len(r.errs) > 0 {
			continue
		}
		if _, err := s.engine.buildStep(sp, r); err != nil {
			errs = append(errs, r.name(err)...)
		}
	}
	return errs
}

// namedPipesKey tells sets apart whose pipes of arguments, which inputs name,
// have other options. Which inputs name which is the executor's business, so all
// of them count; it is made once.
func (s *Set) namedPipesKey() string {
	s.pipesOnce.Do(func() {
		for _, sp := range s.engine.byScene[ScenePipe] {
			if sp.onInput {
				continue
			}
			r := s.resolveAt(nil, sp, nil)
			active, _ := r.activeAt(s.instance, nil)
			s.pipesKey += fmt.Sprintf("\npipe %v %v %s", active, r.condition(false).host, r.key)
		}
	})
	return s.pipesKey
}

// pipe builds a pipe by name, for a field of an input.
func (s *Set) pipe(name string) (PipeFunc, error) {
	sp, ok := s.engine.specs[Name(name)]
	switch {
	case !ok:
		return nil, fmt.Errorf("pipe %q: no module of the application defines it", name)
	case sp.scene != ScenePipe || sp.onInput:
		return nil, fmt.Errorf("pipe %q: the onion is no pipe of arguments", name)
	}
	r := s.resolveAt(nil, sp, nil)
	if len(r.errs) > 0 {
		return nil, r.errs.unique()
	}
	if active, _ := r.activeAt(s.instance, nil); !active {
		return func(_ context.Context, _ *Call, _ Arg, value any) (any, error) { return value, nil }, nil
	}
	built, err := s.engine.buildStep(sp, r)
	if err != nil {
		return nil, errors.Join(r.name(err)...)
	}
	return r.condition(false).guarded(*built).pipe, nil
}

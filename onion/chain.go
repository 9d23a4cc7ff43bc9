package onion

import (
	"fmt"
	"slices"
)

// Steps are the active onions of one route and option set, by the stages of a
// request. Global ones come before local ones, each in its order (contract D7,
// D8).
type Steps struct {
	// Middleware are the global middlewares, around the guards.
	Middleware []Wrap
	// Guards run one after another.
	Guards []CheckFunc
	// Interceptors are around arguments and action.
	Interceptors []Wrap
	// Pipes see each argument, InputPipes the whole input.
	Pipes, InputPipes []PipeFunc
	// LocalMiddleware is around the action alone.
	LocalMiddleware []Wrap
	// Filters see an error, the innermost first: local ones, then global ones.
	Filters []FilterFunc
	// Pipe finds a pipe that an input's field names; its options come from
	// defaults, application and instance config.
	Pipe func(name string) (PipeFunc, error)

	// keep holds the built steps for as long as the chain lives.
	keep []*step
}

// Chain is a route compiled for an option set.
type Chain struct {
	// Run passes a call through the route: middleware to action.
	Run Next
	// Filters are those of the route.
	Filters []FilterFunc

	steps *Steps
}

// Compose nests wraps around inner, the first outermost. Nil wraps are not
// expected: a chain holds only active onions.
func Compose(wraps []Wrap, inner Next) Next {
	for _, w := range slices.Backward(wraps) {
		inner = w(inner)
	}
	return inner
}

// activeOnion is one onion that a chain will hold.
type activeOnion struct {
	*resolved
	global bool
}

// plan resolves all onions of a route (nil: outside any route) for a set and an
// instance of it; extra gives the dynamic layers.
func (s *Set) plan(route *RouteInfo, instance any, extra map[*spec]layer) ([]activeOnion, Errors) {
	var active []activeOnion
	var errs Errors
	for _, use := range s.onionsAt(route) {
		r := s.resolveAt(route, use.spec, extra)
		errs = append(errs, r.errs...)
		if ok, _ := r.activeAt(instance, route); ok {
			active = append(active, activeOnion{r, use.spec.global})
		}
	}
	return active, errs
}

// onionUse is an onion that concerns a route, active or not.
type onionUse struct{ spec *spec }

// onionsAt lists the global onions of the five scenes in order, each scene's
// followed by the local ones of the route.
func (s *Set) onionsAt(route *RouteInfo) []onionUse {
	var list []onionUse
	for _, scene := range Scenes()[1:] {
		for _, sp := range s.engine.byScene[scene] {
			if sp.global {
				list = append(list, onionUse{sp})
			}
		}
		if route == nil {
			continue
		}
		for _, sp := range route.locals(scene) {
			list = append(list, onionUse{sp})
		}
	}
	return list
}

// chainKey tells chains of one route apart: the options of every active onion,
// and the conditions that are asked at request time.
func chainKey(route *RouteInfo, active []activeOnion) string {
	key := ""
	if route != nil {
		key = fmt.Sprintf("%d", route.Index)
	}
	for _, a := range active {
		key += "\n" + a.key
		if c := a.condition(false); !c.none() {
			key += fmt.Sprintf(" host %v", c.host)
		}
	}
	return key
}

// buildSteps builds a plan's onions and sorts them by stage.
func (s *Set) buildSteps(active []activeOnion) (*Steps, Errors) {
	steps := &Steps{Pipe: s.pipe}
	var errs Errors
	var globalFilters, localFilters []FilterFunc
	for _, a := range active {
		built, err := s.engine.buildStep(a.spec, a.resolved)
		if err != nil {
			errs = append(errs, a.name(err)...)
			continue
		}
		steps.keep = append(steps.keep, built)
		st := a.condition(false).guarded(*built)
		switch a.spec.scene {
		case SceneMiddleware:
			if a.global {
				steps.Middleware = append(steps.Middleware, st.wrap)
			} else {
				steps.LocalMiddleware = append(steps.LocalMiddleware, st.wrap)
			}
		case SceneGuard:
			steps.Guards = append(steps.Guards, st.guard)
		case SceneInterceptor:
			steps.Interceptors = append(steps.Interceptors, st.wrap)
		case ScenePipe:
			if a.spec.onInput {
				steps.InputPipes = append(steps.InputPipes, st.pipe)
			} else {
				steps.Pipes = append(steps.Pipes, st.pipe)
			}
		case SceneFilter:
			if a.global {
				globalFilters = append(globalFilters, st.filter)
			} else {
				localFilters = append(localFilters, st.filter)
			}
		case SceneMiddlewareSystem:
		}
	}
	steps.Filters = slices.Concat(localFilters, globalFilters)
	return steps, errs
}

// compile makes a chain of a plan, or finds the same one made before.
func (s *Set) compile(route *RouteInfo, active []activeOnion) (*Chain, error) {
	return s.engine.chains.get(chainKey(route, active)+s.namedPipesKey(), func() (*Chain, error) {
		steps, errs := s.buildSteps(active)
		if len(errs) > 0 {
			return nil, errs.unique()
		}
		c := &Chain{Filters: steps.Filters, steps: steps}
		if route == nil {
			return c, nil
		}
		if s.engine.assemble == nil {
			return nil, fmt.Errorf("%s: the engine was built without Assemble", route)
		}
		var err error
		if c.Run, err = s.engine.assemble(route, steps); err != nil {
			return nil, fmt.Errorf("%s (%s): %w", route, route.Where, err)
		}
		return c, nil
	})
}

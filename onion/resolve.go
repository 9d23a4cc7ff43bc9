package onion

import (
	"encoding/json"
	"errors"
	"fmt"
)

// resolved are an onion's options after all layers, with their record.
type resolved struct {
	spec   *spec
	layers []layer
	merged *merged
	// own is the merged options without the outer ones; key tells equal ones.
	own       map[string]any
	key       string
	selection selection
	errs      Errors
	// inactive says why enable, meta.mode or meta.flavor keep the onion out, ""
	// if they do not; instanceName is the condition meta.instanceName.
	inactive     string
	instanceName any
}

// resolve merges layers and decodes the outcome strictly.
func (e *Engine) resolve(s *spec, layers []layer) *resolved {
	r := &resolved{spec: s, layers: layers, merged: merge(layers)}
	r.own = inner(r.merged.options)
	var err error
	if r.selection, err = parseSelection(r.merged.options); err != nil {
		r.errs = append(r.errs, r.name(err)...)
	}
	if err := s.schema.decode(r.own, newOptions(s)); err != nil {
		r.errs = append(r.errs, r.name(err)...)
	}
	text, err := json.Marshal(r.own)
	if err != nil {
		r.errs = append(r.errs, r.name(fmt.Errorf("encoding options: %w", err))...)
	}
	r.key = string(s.name) + string(text)
	r.settle(e.env)
	return r
}

// settle decides, once for all routes, what is the same at each of them.
func (r *resolved) settle(env Env) {
	_, r.inactive = r.activeAtBuild(env)
	r.instanceName = metaCondition(r.merged.options, metaKeyInstanceName)
}

// name turns problems into errors that name onion, layer and path. A problem at
// an option that nobody set (a missing one) names the layer that enabled the
// onion, for there the reader can add it.
func (r *resolved) name(err error) Errors {
	var errs Errors
	for _, p := range problemsOf(err) {
		at, index := p.path, r.merged.setter(p.path)
		if index < 0 {
			at = []string{optEnable}
			index = r.merged.layer(optEnable)
		}
		place := "defaults"
		if index >= 0 {
			place = r.layers[index].place(at...)
		}
		errs = append(errs, fmt.Errorf("onion %s: %s: %w", r.spec.name, place, p))
	}
	return errs
}

// enabled says whether enable lets the onion run: anything but false does.
func (r *resolved) enabled() bool { return r.merged.options[optEnable] != false }

// activeAtBuild decides what needs no request: enable, meta.mode and meta.flavor
// (contract D6). The reason is "" when active.
func (r *resolved) activeAtBuild(env Env) (active bool, reason string) {
	switch {
	case !r.enabled():
		return false, "enable is false"
	case !metaHolds(metaCondition(r.merged.options, metaKeyMode), string(env.Mode)):
		return false, "meta.mode does not match"
	case !metaHolds(metaCondition(r.merged.options, metaKeyFlavor), env.Flavor):
		return false, "meta.flavor does not match"
	}
	return true, ""
}

// activeAt decides for a route of an instance. route is nil outside any route,
// where match and ignore are not asked.
func (r *resolved) activeAt(instance any, route *RouteInfo) (active bool, reason string) {
	if r.inactive != "" {
		return false, r.inactive
	}
	if !metaHolds(r.instanceName, instance) {
		return false, "meta.instanceName does not match"
	}
	if route != nil && !r.selection.active(route.Raw) {
		return false, "match and ignore leave this route out"
	}
	return true, ""
}

// condition is what is left for the time of the request.
func (r *resolved) condition(system bool) condition {
	c := condition{host: metaCondition(r.merged.options, metaKeyHost), system: system}
	if system {
		c.instanceName = metaCondition(r.merged.options, metaKeyInstanceName)
		c.selection = r.selection
	}
	return c
}

// buildStep builds an onion with resolved options, once per distinct options.
func (e *Engine) buildStep(s *spec, r *resolved) (*step, error) {
	return e.steps.get(r.key, func() (*step, error) {
		built, err := s.build(r.own, e.env)
		if err == nil && built.empty() {
			err = errors.New("build gave no step")
		}
		return &built, err
	})
}

// routeCheck names one onion at one route.
type routeCheck struct {
	spec  *spec
	route *RouteInfo
}

// checkRoute asks an onion's own check of a route, once for all option sets.
func (e *Engine) checkRoute(s *spec, route *RouteInfo) error {
	if s.checkRoute == nil {
		return nil
	}
	key := routeCheck{s, route}
	if known, ok := e.routeChecks.Load(key); ok {
		err, _ := known.(error)
		return err
	}
	err := s.checkRoute(e.env, route)
	if err != nil {
		err = fmt.Errorf("onion %s: %s (%s): %w", s.name, route, route.Where, err)
	}
	e.routeChecks.Store(key, err)
	return err
}

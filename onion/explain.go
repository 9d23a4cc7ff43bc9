package onion

import (
	"strings"
)

// Explanation says what is in force at a route of an instance: every onion that
// concerns it, in the order of the chain.
type Explanation struct {
	Route  *RouteInfo
	Onions []ExplainedOnion
}

// ExplainedOnion is one onion: active or why not, and who said what.
type ExplainedOnion struct {
	Name   Name
	Scene  Scene
	Global bool
	Active bool
	// Reason says why the onion is not active, or what is asked per request.
	Reason  string
	Options []ExplainedOption
}

// ExplainedOption is one option with the layer that set it.
type ExplainedOption struct {
	// Path is dotted: "rateLimit.limit".
	Path  string
	Value any
	Layer LayerKind
	// Source says where in the layer, as far as known: a file and line, an
	// environment variable, or a place in the code.
	Source string
}

// Explain tells what a route's chain consists of and where every option comes
// from. A nil route explains what runs outside any route.
func (s *Set) Explain(route *RouteInfo) Explanation {
	ex := Explanation{Route: route}
	for _, use := range s.onionsAt(route) {
		r := s.resolveAt(route, use.spec, nil)
		active, reason := r.activeAt(s.engine.env, s.instance, route)
		ex.Onions = append(ex.Onions, r.explain(active, reason, r.condition(false)))
	}
	return ex
}

// ExplainSystem tells the same of the system chain.
func (e *Engine) ExplainSystem() []ExplainedOnion {
	var list []ExplainedOnion
	for _, sp := range e.byScene[SceneMiddlewareSystem] {
		r := e.resolve(sp, e.appLayers(sp))
		active, reason := r.activeAtBuild(e.env)
		list = append(list, r.explain(active, reason, r.condition(true)))
	}
	return list
}

func (r *resolved) explain(active bool, reason string, asked condition) ExplainedOnion {
	if active && !asked.none() {
		reason = "asked per request: host, path or instance"
	}
	ex := ExplainedOnion{Name: r.spec.name, Scene: r.spec.scene, Global: r.spec.global, Active: active, Reason: reason}
	r.explainOptions(&ex, r.merged.options, nil)
	return ex
}

func (r *resolved) explainOptions(ex *ExplainedOnion, options map[string]any, prefix []string) {
	for _, key := range sortedKeys(options) {
		path := append(append([]string(nil), prefix...), key)
		if child, ok := options[key].(map[string]any); ok && len(child) > 0 {
			r.explainOptions(ex, child, path)
			continue
		}
		option := ExplainedOption{Path: strings.Join(path, "."), Value: options[key]}
		if i := r.merged.layer(strings.Join(path, pathSep)); i >= 0 {
			l := r.layers[i]
			option.Layer, option.Source = l.kind, l.where(path...)
		}
		ex.Options = append(ex.Options, option)
	}
}

// where is the most exact place known of a value in a layer.
func (l layer) where(path ...string) string {
	if l.source != nil {
		if s := l.source(path...); s != "" {
			return s
		}
	}
	return l.label
}

package onion

import (
	"reflect"
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
	Name   Name  `json:"name"`
	Scene  Scene `json:"scene"`
	Global bool  `json:"global"`
	Active bool  `json:"active"`
	// Reason says why the onion is not active, or what is asked per request.
	Reason string `json:"reason,omitempty"`
	// Where is the place of the definition in the source.
	Where   string            `json:"where"`
	Options []ExplainedOption `json:"options"`
}

// ExplainedOption is one option with the layer that set it.
type ExplainedOption struct {
	// Path is dotted: "rateLimit.limit".
	Path string `json:"path"`
	// Value is what the layers come to; a secret is masked.
	Value any       `json:"value"`
	Layer LayerKind `json:"layer"`
	// Source says where in the layer: a file and line, an environment variable, a
	// place in the code, a stored record. It is empty for defaults, which stand at
	// the definition.
	Source string `json:"source,omitempty"`
}

// Known is what an explanation may take as given of the requests it is about. What
// is nil is told as asked per request.
type Known struct {
	// Instance is the name of the instance, Path the path as sent, with its prefix.
	Instance, Path *string
}

// Explain tells what a route's chain consists of and where every option comes
// from. A nil route explains what runs outside any route.
func (s *Set) Explain(route *RouteInfo) Explanation {
	ex := Explanation{Route: route}
	for _, use := range s.onionsAt(route) {
		r := s.resolveAt(route, use.spec, nil)
		active, reason := r.activeAt(s.instance, route)
		if active {
			active, reason = r.condition(false).explain(Known{})
		}
		ex.Onions = append(ex.Onions, r.explain(active, reason))
	}
	return ex
}

// ExplainSystem tells the same of the system chain.
func (e *Engine) ExplainSystem(known Known) []ExplainedOnion {
	var list []ExplainedOnion
	for _, sp := range e.byScene[SceneMiddlewareSystem] {
		r := e.resolve(sp, e.appLayers(sp))
		active, reason := r.activeAtBuild(e.env)
		if active {
			active, reason = r.condition(true).explain(known)
		}
		list = append(list, r.explain(active, reason))
	}
	return list
}

// ExplainOnions tells what defaults and application config say of every onion,
// scene by scene, the global ones in their order and then the local ones. An onion
// that is active here may yet be switched off by an instance or a route, and the
// other way round.
func (e *Engine) ExplainOnions() []ExplainedOnion {
	var list []ExplainedOnion
	for _, scene := range Scenes() {
		for _, sp := range e.byScene[scene] {
			r := e.resolve(sp, e.appLayers(sp))
			active, reason := r.activeAtBuild(e.env)
			if active {
				c := r.condition(true) // all that is left to ask, at a route or a request
				_, reason = c.explain(Known{})
				if scene != SceneMiddlewareSystem {
					reason = strings.Replace(reason, perRequest, "asked per route or request: ", 1)
				}
			}
			list = append(list, r.explain(active, reason))
		}
	}
	return list
}

const perRequest = "asked per request: "

// explain says whether what is asked per request holds for what is known.
func (c condition) explain(known Known) (active bool, reason string) {
	var open []string
	// ask notes one condition; it is false if that is known not to hold.
	ask := func(name string, given bool, fact *string, holds func(fact string) bool) bool {
		if !given || fact != nil && holds(*fact) {
			return true
		}
		if fact == nil {
			open = append(open, name)
		}
		return fact == nil
	}
	ask("meta.host", c.host != nil, nil, nil)
	switch {
	case !ask("meta.instanceName", c.instanceName != nil, known.Instance, func(name string) bool { return metaHolds(c.instanceName, name) }):
		return false, "meta.instanceName does not match"
	case !ask("match and ignore", c.selection.given(), known.Path, c.selection.activeAt):
		return false, "match and ignore leave this path out"
	}
	if len(open) > 0 {
		return true, perRequest + strings.Join(open, ", ")
	}
	return true, ""
}

func (r *resolved) explain(active bool, reason string) ExplainedOnion {
	ex := ExplainedOnion{
		Name: r.spec.name, Scene: r.spec.scene, Global: r.spec.global, Active: active, Reason: reason, Where: r.spec.where,
		Options: []ExplainedOption{},
	}
	r.explainOptions(&ex, r.spec.schema.root, r.merged.options, nil)
	return ex
}

func (r *resolved) explainOptions(ex *ExplainedOnion, n *node, options map[string]any, prefix []string) {
	for _, key := range sortedKeys(options) {
		path := append(append([]string(nil), prefix...), key)
		below := n.child(key)
		if child, ok := options[key].(map[string]any); ok && len(child) > 0 {
			r.explainOptions(ex, below, child, path)
			continue
		}
		option := ExplainedOption{Path: strings.Join(path, "."), Value: below.masked(options[key])}
		if i := r.merged.layer(strings.Join(path, pathSep)); i >= 0 {
			l := r.layers[i]
			if option.Layer = l.kind; l.kind != LayerDefaults {
				option.Source = l.where(path...)
			}
		}
		ex.Options = append(ex.Options, option)
	}
}

// child is the node of an option below n, nil if n has none: outer options.
func (n *node) child(name string) *node {
	if n == nil {
		return nil
	}
	switch n.kind {
	case kindPointer:
		return n.elem.child(name)
	case kindMap:
		return n.elem
	case kindStruct:
		for _, f := range n.fields {
			if f.name == name {
				return f.node
			}
		}
	default:
	}
	return nil
}

// Masked is the value of an onion's option fit to be shown: secrets hide their
// text. It is for showing configuration as it is written; explanations are masked.
func (e *Engine) Masked(name Name, value any, path ...string) any {
	s := e.specs[name]
	if s == nil || s.schema == nil {
		return value
	}
	n := s.schema.root
	for _, key := range path {
		n = n.child(key)
	}
	return n.masked(value)
}

var revealType = reflect.TypeFor[interface{ Reveal() string }]()

// masked is a value fit to be shown: a type with a method Reveal, as secrets have
// it, hides its text.
func (n *node) masked(value any) any {
	if n == nil || value == nil || value == "" {
		return value
	}
	if n.typ.Implements(revealType) {
		return "***"
	}
	if list, ok := value.([]any); ok && n.kind == kindList {
		shown := make([]any, len(list))
		for i, item := range list {
			shown[i] = n.elem.masked(item)
		}
		return shown
	}
	return value
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

package onion

import (
	"fmt"
	"reflect"
)

// Onion is a definition without its option type: what a module lists.
type Onion interface {
	Name() Name
	definition() *spec
}

// Def defines an onion with options of type O: a struct whose fields carry json
// tags. In O a zero value means "not said here", so booleans are Toggle and
// numbers for which zero means something are pointers. Fields may carry the
// tags `range:"1..100"` (int64, inclusive), `oneof:"a|b"`, `nonempty:"true"` (a
// string that is given must not be "") and `nullable:"true"` (null is "not given",
// as it is for pointers); an O with a method Validate() error has it called on
// the merged options of an active onion.
type Def[O any] struct {
	s *spec
}

// spec is a definition with its types erased.
type spec struct {
	name   Name
	scene  Scene
	global bool
	tag    string
	where  string
	// onInput marks a pipe that sees the whole input once.
	onInput bool
	// mandatory forbids instances to decide whether the onion runs.
	mandatory bool
	// inbound: a system middleware that does nothing after next.
	inbound bool

	outer    map[string]any // outer options that the definition sets
	schema   *schema        // of O
	defaults func() (map[string]any, error)
	build    func(options map[string]any, env Env) (step, error)

	checkLayer func(kind LayerKind, patch map[string]any) (warning string, err error)
	checkSet   func([]resolvedUse) []error
	checkRoute func(Env, *RouteInfo) error

	err error // what is wrong with the definition itself
}

// DefOption says something about a definition.
type DefOption func(*spec)

// Global makes the onion one of every route (for system middleware: of every
// request). An onion that is not global is local: it runs where it is used.
func Global() DefOption { return func(s *spec) { s.global = true } }

// After names onions that run before this one: its dependencies.
func After(names ...Name) DefOption {
	return func(s *spec) { s.outer[optDependencies] = nameList(names) }
}

// Before names onions that run after this one: its dependents.
func Before(names ...Name) DefOption {
	return func(s *spec) { s.outer[optDependents] = nameList(names) }
}

// Tag is the struct tag key by which policy tags name the onion (contract D9).
func Tag(key string) DefOption { return func(s *spec) { s.tag = key } }

// Disabled makes the onion's default enable: false.
func Disabled() DefOption { return func(s *spec) { s.outer[optEnable] = false } }

// OnInput makes a pipe see the whole input of an action, once, after all its
// arguments (SourceInput).
func OnInput() DefOption { return func(s *spec) { s.onInput = true } }

// Mandatory keeps instances from deciding whether the onion runs: enable, meta,
// match and ignore in instance config or a stored record are refused. It is for
// guards that a tenant must not be able to switch off (contract P4).
func Mandatory() DefOption { return func(s *spec) { s.mandatory = true } }

// Inbound is for a system middleware that acts on the way in only: it hands on the
// context that it was given, hands back what next returned, as it is, and does
// nothing after that. Then the executor need not have answered when next returns,
// which saves it a step; a middleware that does look finds no answer yet, and
// filters of errors see the context of what lies further out (SystemStep.Inbound).
func Inbound() DefOption { return func(s *spec) { s.inbound = true } }

func nameList(names []Name) []any {
	list := make([]any, len(names))
	for i, n := range names {
		list[i] = string(n)
	}
	return list
}

// SystemMiddleware defines an onion around every request. System middleware is
// always global and takes its options from application configuration alone.
func SystemMiddleware[O any](name string, defaults func() O, build func(O, Env) (Wrap, error), opts ...DefOption) *Def[O] {
	opts = append([]DefOption{Global()}, opts...)
	return define(name, SceneMiddlewareSystem, defaults, opts, func(o O, env Env) (step, error) {
		w, err := build(o, env)
		return step{wrap: w}, err
	})
}

// Middleware defines an onion around the guards and what follows them (global),
// or around the action itself (local).
func Middleware[O any](name string, defaults func() O, build func(O, Env) (Wrap, error), opts ...DefOption) *Def[O] {
	return define(name, SceneMiddleware, defaults, opts, func(o O, env Env) (step, error) {
		w, err := build(o, env)
		return step{wrap: w}, err
	})
}

// Interceptor defines an onion around body parsing, pipes and the action.
func Interceptor[O any](name string, defaults func() O, build func(O, Env) (Wrap, error), opts ...DefOption) *Def[O] {
	return define(name, SceneInterceptor, defaults, opts, func(o O, env Env) (step, error) {
		w, err := build(o, env)
		return step{wrap: w}, err
	})
}

// Guard defines a check that lets a call pass or not.
func Guard[O any](name string, defaults func() O, build func(O, Env) (CheckFunc, error), opts ...DefOption) *Def[O] {
	return define(name, SceneGuard, defaults, opts, func(o O, env Env) (step, error) {
		g, err := build(o, env)
		return step{guard: g}, err
	})
}

// Pipe defines a transformation or check of arguments.
func Pipe[O any](name string, defaults func() O, build func(O, Env) (PipeFunc, error), opts ...DefOption) *Def[O] {
	return define(name, ScenePipe, defaults, opts, func(o O, env Env) (step, error) {
		p, err := build(o, env)
		return step{pipe: p}, err
	})
}

// Filter defines an error filter.
func Filter[O any](name string, defaults func() O, build func(O, Env) (FilterFunc, error), opts ...DefOption) *Def[O] {
	return define(name, SceneFilter, defaults, opts, func(o O, env Env) (step, error) {
		f, err := build(o, env)
		return step{filter: f}, err
	})
}

// NoOptions are the options of an onion that has only the outer ones.
type NoOptions struct{}

// NoDefaults is the defaults function of NoOptions.
func NoDefaults() NoOptions { return NoOptions{} }

func define[O any](name string, scene Scene, defaults func() O, opts []DefOption, build func(O, Env) (step, error)) *Def[O] {
	s := &spec{scene: scene, outer: map[string]any{}, where: caller(3)}
	s.name, s.err = ParseName(name)
	if s.err != nil {
		s.name = Name(name)
	}
	for _, opt := range opts {
		opt(s)
	}
	sch, err := schemaOf(reflect.TypeFor[O]())
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("onion %s (%s): options: %w", s.name, s.where, err)
	}
	s.schema = sch
	if s.err != nil {
		return &Def[O]{s: s}
	}
	s.defaults = func() (map[string]any, error) {
		return sch.encode(reflect.ValueOf(defaults()))
	}
	s.build = func(options map[string]any, env Env) (step, error) {
		var o O
		if err := sch.decode(options, reflect.ValueOf(&o).Elem()); err != nil {
			return step{}, err
		}
		if v, ok := any(o).(interface{ Validate() error }); ok {
			if err := v.Validate(); err != nil {
				return step{}, err
			}
		}
		return build(o, env)
	}
	return &Def[O]{s: s}
}

// Name is the onion's full name.
func (d *Def[O]) Name() Name { return d.s.name }

func (d *Def[O]) definition() *spec { return d.s }

// Use mentions the onion at a controller or an action with what o says; zero
// values say nothing.
func (d *Def[O]) Use(o O, outer ...Outer) Use {
	u := Use{spec: d.s, Where: caller(2)}
	if d.s.err != nil {
		u.err = d.s.err
		return u
	}
	u.Patch, u.err = d.s.schema.encode(reflect.ValueOf(o))
	if u.Patch == nil {
		u.Patch = map[string]any{}
	}
	for _, set := range outer {
		set(u.Patch)
	}
	return u
}

// UseAt is Use for a decorator of another package: the place it names is skip
// frames above its caller.
func (d *Def[O]) UseAt(skip int, o O, outer ...Outer) Use {
	u := d.Use(o, outer...)
	u.Where = caller(skip + 2)
	return u
}

// CheckLayer adds a check of what one layer says, beyond unknown keys and types:
// a warning for the operator, or an error that refuses the layer. What the layer
// does not say is zero in o.
func (d *Def[O]) CheckLayer(check func(kind LayerKind, o O) (warning string, err error)) *Def[O] {
	d.s.checkLayer = func(kind LayerKind, patch map[string]any) (string, error) {
		var o O
		if err := d.s.schema.decodePartial(patch, reflect.ValueOf(&o).Elem()); err != nil {
			return "", err
		}
		return check(kind, o)
	}
	return d
}

// Resolved is what an onion's merged options are at one route.
type Resolved[O any] struct {
	Route   *RouteInfo
	Options O
}

// CheckSet adds a check over all routes of one option set at which the onion is
// active: rules that no single route can break (contract A12).
func (d *Def[O]) CheckSet(check func([]Resolved[O]) []error) *Def[O] {
	d.s.checkSet = func(uses []resolvedUse) []error {
		typed := make([]Resolved[O], 0, len(uses))
		for _, u := range uses {
			var o O
			if err := d.s.schema.decode(u.options, reflect.ValueOf(&o).Elem()); err != nil {
				continue // reported where the route was resolved
			}
			typed = append(typed, Resolved[O]{Route: u.route, Options: o})
		}
		return check(typed)
	}
	return d
}

// CheckRoute adds a check of the routes at which the onion is active, whatever its
// options: what an action's input must be like for the onion.
func (d *Def[O]) CheckRoute(check func(Env, *RouteInfo) error) *Def[O] {
	d.s.checkRoute = check
	return d
}

// resolvedUse is a route with the inner options of an onion active there.
type resolvedUse struct {
	route   *RouteInfo
	options map[string]any
}

package onion

import "context"

// systemStep is one active system middleware, with its predicate inside.
type systemStep struct {
	spec *spec
	wrap Wrap
	cond condition
}

// SystemStep is one active onion of the system chain.
type SystemStep struct {
	Name Name
	Wrap Wrap
	// Inbound: the step does nothing after its next has returned.
	Inbound bool
}

// buildSystem compiles the system chain from application config (contract B8).
// What cannot be known before a request comes (path, host, instance) is asked by
// a predicate before the step (contract D6).
func (b *builder) buildSystem() {
	for _, s := range b.byScene[SceneMiddlewareSystem] {
		r := b.resolve(s, b.appLayers(s))
		b.errs = append(b.errs, r.errs...)
		if active, _ := r.activeAtBuild(b.env); !active || len(r.errs) > 0 {
			continue
		}
		built, err := b.buildStep(s, r)
		if err != nil {
			b.errs = append(b.errs, r.name(err)...)
			continue
		}
		b.system = append(b.system, systemStep{spec: s, wrap: built.wrap, cond: r.condition(true)})
	}
}

// System is the system chain, outermost first.
func (e *Engine) System() []SystemStep {
	steps := make([]SystemStep, len(e.system))
	for i, s := range e.system {
		steps[i] = SystemStep{Name: s.spec.name, Wrap: conditional(s.cond, s.wrap), Inbound: s.spec.inbound}
	}
	return steps
}

// SystemActive reports whether an onion of the system chain would run for a path
// of an ordinary instance and host; checks at start ask it.
func (e *Engine) SystemActive(name Name, path string) bool {
	for _, s := range e.system {
		if s.spec.name == name {
			return s.cond.selection.activeAt(path)
		}
	}
	return false
}

// SystemOptions gives the merged own options of an onion of the system chain,
// false if it is not active.
func (e *Engine) SystemOptions(name Name) (map[string]any, bool) {
	for _, s := range e.system {
		if s.spec.name == name {
			return inner(merge(e.appLayers(s.spec)).options), true
		}
	}
	return nil, false
}

// condition is what remains of D6 for the time of the request.
type condition struct {
	host         any
	instanceName any // of system middleware only
	selection    selection
	system       bool
}

// none reports whether there is nothing to ask.
func (c condition) none() bool {
	return c.host == nil && c.instanceName == nil && !c.selection.given()
}

func (c condition) holds(call *Call) bool {
	if !metaHolds(c.host, call.Host) {
		return false
	}
	if !c.system {
		return true
	}
	return metaHolds(c.instanceName, instanceValue(call.Instance, call.NoInstance)) && c.selection.activeAt(call.Path)
}

// conditional puts the predicate before a wrap; a wrap without one stays bare.
func conditional(c condition, w Wrap) Wrap {
	if c.none() {
		return w
	}
	return func(next Next) Next {
		with := w(next)
		return func(ctx context.Context, call *Call) (any, error) {
			if c.holds(call) {
				return with(ctx, call)
			}
			return next(ctx, call)
		}
	}
}

// guarded puts the predicate before a step of any scene.
func (c condition) guarded(s step) step {
	if c.none() {
		return s
	}
	if s.wrap != nil {
		s.wrap = conditional(c, s.wrap)
	}
	if guard := s.guard; guard != nil {
		s.guard = func(ctx context.Context, call *Call) (Verdict, error) {
			if !c.holds(call) {
				return Pass, nil
			}
			return guard(ctx, call)
		}
	}
	if pipe := s.pipe; pipe != nil {
		s.pipe = func(ctx context.Context, call *Call, arg Arg, value any) (any, error) {
			if !c.holds(call) {
				return value, nil
			}
			return pipe(ctx, call, arg, value)
		}
	}
	if filter := s.filter; filter != nil {
		s.filter = func(ctx context.Context, call *Call, err error) (*Reply, error) {
			if !c.holds(call) {
				return nil, err
			}
			return filter(ctx, call, err)
		}
	}
	return s
}

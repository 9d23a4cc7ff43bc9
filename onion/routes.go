package onion

import (
	"fmt"
	"strings"
)

// collectControllers turns declarations into routes.
func (b *builder) collectControllers() {
	beans := map[string]string{} // bean to where
	for _, m := range b.in.Modules {
		for _, d := range m.Controllers() {
			model, ok := b.declare(d)
			if !ok {
				continue
			}
			if model.Where == "" {
				model.Where = d.where
			}
			b.addController(m.Name(), model, beans)
		}
	}
}

// declare reads a declaration into the model; what is wrong with tags is noted.
// A model that tags could not even name is not worth checking further.
func (b *builder) declare(d Declaration) (model Controller, ok bool) {
	if d.code != nil {
		return d.code(), true
	}
	model, errs := readTags(d.tags, d.where, b.byTag)
	b.errs = append(b.errs, errs...)
	return model, model.Name != "" || len(errs) == 0
}

func (b *builder) addController(module string, c Controller, beans map[string]string) {
	if c.Name == "" || strings.IndexFunc(c.Name, notWord) >= 0 {
		b.fail("module %s, controller at %s: the name %q must be letters, digits, '-' or '_'", module, c.Where, c.Name)
		return
	}
	bean := module + ".controller." + c.Name
	if other, ok := beans[bean]; ok {
		b.fail("controller %s is declared twice: at %s and at %s", bean, other, c.Where)
		return
	}
	beans[bean] = c.Where
	c.Uses = b.checkUses(bean, LayerController, c.Uses)
	actions := map[string]string{}
	for _, r := range c.Routes {
		if other, ok := actions[r.Action]; ok {
			b.fail("controller %s: action %q is declared twice: at %s and at %s", bean, r.Action, other, r.Where)
			continue
		}
		actions[r.Action] = r.Where
		b.addRoute(module, bean, c, r)
	}
}

func (b *builder) addRoute(module, bean string, c Controller, r Route) {
	at := fmt.Sprintf("%s, action %q at %s", bean, r.Action, r.Where)
	if r.Action == "" || strings.IndexFunc(r.Action, notWord) >= 0 {
		b.fail("%s: an action's name must be letters, digits, '-' or '_'", at)
		return
	}
	if r.Handler.Invoke == nil {
		b.fail("%s: the action is nil", at)
		return
	}
	if verbs[strings.ToLower(r.Method)] != r.Method {
		b.fail("%s: method %q: want one of GET, POST, PUT, PATCH, DELETE", at, r.Method)
		return
	}
	r.Uses = b.checkUses(at, LayerAction, r.Uses)
	simplify := c.Simplify != Off
	if r.Simplify != Inherit {
		simplify = r.Simplify == On
	}
	prefix := b.in.Prefix
	for _, p := range []*string{c.Prefix, r.Prefix} {
		if p != nil {
			prefix = *p
		}
	}
	raw := rawPath(module, joinPath(c.Path, r.Path), simplify)
	b.routes = append(b.routes, &RouteInfo{
		Index: len(b.routes), Module: module, Controller: c.Name, Action: r.Action, Bean: bean,
		Method: r.Method, Raw: raw, Path: fullPath(raw, prefix), Handler: r.Handler, Where: r.Where,
		controllerUses: c.Uses, actionUses: r.Uses,
	})
}

// checkUses checks each use on its own, and that a local onion is named once at
// one level. Uses of one global onion at one level merge in order, so that
// decorators can be combined. It returns the uses that can be resolved.
func (b *builder) checkUses(at string, kind LayerKind, uses []Use) []Use {
	var good []Use
	local := map[*spec]string{}
	for _, u := range uses {
		switch {
		case u.spec == nil:
			b.fail("%s: a use without an onion: make uses with a definition's Use", at)
			continue
		case u.err != nil:
			b.fail("%s: %w", at, u.err)
			continue
		case b.specs[u.spec.name] != u.spec:
			b.fail("%s: onion %s is used at %s, but no module of the application defines it", at, u.spec.name, u.Where)
			continue
		case u.spec.scene == SceneMiddlewareSystem:
			b.fail("%s: onion %s is system middleware, which no route can use", at, u.spec.name)
			continue
		}
		if !u.spec.global {
			if other, ok := local[u.spec]; ok {
				b.fail("%s: local onion %s is used twice: at %s and at %s", at, u.spec.name, other, u.Where)
			}
			local[u.spec] = u.Where
		}
		b.checkLayer(u.spec, layer{kind: kind, label: kind.String() + " " + at, patch: u.Patch, source: u.source})
		good = append(good, u)
	}
	return good
}

// useLayers are the layers that a route's uses add for an onion.
func (r *RouteInfo) useLayers(s *spec) []layer {
	var layers []layer
	add := func(kind LayerKind, uses []Use) {
		for _, u := range uses {
			if u.spec == s {
				layers = append(layers, layer{kind: kind, label: fmt.Sprintf("%s %s:%s", kind, r.Bean, r.Action), patch: u.Patch, source: u.source})
			}
		}
	}
	add(LayerController, r.controllerUses)
	add(LayerAction, r.actionUses)
	return layers
}

// locals are the local onions of a scene at this route: the action's first, then
// the controller's not already named (contract D8).
func (r *RouteInfo) locals(scene Scene) []*spec {
	var list []*spec
	seen := map[*spec]bool{}
	for _, uses := range [][]Use{r.actionUses, r.controllerUses} {
		for _, u := range uses {
			if u.spec.scene == scene && !u.spec.global && !seen[u.spec] {
				seen[u.spec] = true
				list = append(list, u.spec)
			}
		}
	}
	return list
}

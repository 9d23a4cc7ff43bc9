package config

import (
	"errors"
	"slices"
	"strings"
)

// FromMap makes a tree of one layer out of values that came from elsewhere, such as a stored record; the name stands in
// for the position of each ("stored record acme"). The values are copied.
func FromMap(name string, values map[string]any) *Tree {
	return newTree([]layer{{whole: Position{Layer: name}, root: copyObject(values)}})
}

// Overlay gives a new tree in which the layers of the others lie above this tree's, in the order given: the effective
// configuration of an instance is app.Overlay(static, stored) (contract D3). The trees stay as they are, and each value
// keeps its source.
func (t *Tree) Overlay(over ...*Tree) *Tree {
	layers := append([]layer(nil), t.layers...)
	for _, o := range over {
		layers = append(layers, o.layers...)
	}
	out := newTree(layers)
	for _, from := range append([]*Tree{t}, over...) {
		out.takeSecrets(from, "")
	}
	return out
}

// takeSecrets takes over what is known of another tree's secrets beneath a prefix.
func (t *Tree) takeSecrets(from *Tree, prefix string) {
	from.secrets.Range(func(key, _ any) bool {
		if rest, ok := strings.CutPrefix(key.(string), prefix); ok { //nolint:forcetypeassert // see Tree
			t.secrets.Store(rest, true)
		}
		return true
	})
}

// Sub gives the object at the path as a tree of its own, whose paths begin there; an empty tree if there is none or it
// is no object. Values keep their sources.
func (t *Tree) Sub(path ...string) *Tree {
	var layers []layer
	for _, l := range slices.Backward(t.layers) {
		sub, said := l.sub(path)
		if said && sub.root == nil {
			break // not an object here: what lies below was replaced
		}
		if said || len(sub.lost) > 0 {
			layers = slices.Insert(layers, 0, sub)
		}
	}
	if t.Map(path...) == nil {
		layers = nil
	}
	out := newTree(layers)
	prefix := ""
	if len(path) > 0 {
		prefix = join(path) + sep
	}
	out.takeSecrets(t, prefix)
	return out
}

// sub cuts the layer down to what it says beneath the path. said is false if it says nothing about it; the root is nil if
// it puts something other than an object there or above.
func (l layer) sub(path []string) (out layer, said bool) {
	value := any(l.root)
	for i, step := range path {
		inner, ok := lookup(value, []string{step})
		if !ok {
			_, object := value.(map[string]any)
			return layer{whole: l.whole, lost: l.lostBelow(path)}, !object && i > 0
		}
		value = inner
	}
	root, _ := value.(map[string]any)
	_, at, _ := l.position(path)
	out = layer{whole: at, root: root, at: map[string]Position{}, lost: l.lostBelow(path)}
	prefix := join(path) + sep
	if len(path) == 0 {
		prefix, out.whole = "", l.whole
	}
	l.positions(prefix, "", root, out.at)
	return out, true
}

// positions puts the positions of all that lies beneath value into at, without the prefix. They are looked up value by value:
// a layer may hold a thousand instances, each of which is cut out.
func (l layer) positions(prefix, below string, value any, at map[string]Position) {
	visit := func(step string, inner any) {
		if below != "" {
			step = below + sep + step
		}
		if pos, ok := l.at[prefix+step]; ok {
			at[step] = pos
		}
		l.positions(prefix, step, inner, at)
	}
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			visit(key, inner)
		}
	case []any:
		for i, inner := range v {
			visit(stepOf(i), inner)
		}
	}
}

// lostBelow is what could not be read at, above or beneath the path, as seen from there.
func (l layer) lostBelow(path []string) (lost Errors) {
	for _, err := range l.lost {
		fault, ok := errors.AsType[*Error](err)
		if !ok {
			continue
		}
		common := min(len(path), len(fault.Path))
		if slices.Equal(path[:common], fault.Path[:common]) {
			moved := *fault
			moved.Path = fault.Path[common:]
			lost = append(lost, &moved)
		}
	}
	return lost
}

// Redacted gives the value at the path as Get does, fit to be shown: "***" stands for every text that Decode has put into
// a secret field, that a secret variable set or whose name says that it is one (password, secret, credential), and for the
// password in a URL.
func (t *Tree) Redacted(path ...string) any {
	value, _ := lookup(t.merged, path)
	return t.redact(value, path)
}

// Redact is the net beneath the types, for a value that comes from elsewhere: as Redacted, by the names in the path and
// the passwords in URLs.
func Redact(value any, path ...string) any { return new(Tree).redact(value, path) }

func (t *Tree) redact(value any, path []string) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			out[key] = t.redact(inner, child(path, key))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = t.redact(inner, child(path, stepOf(i)))
		}
		return out
	case nil, bool:
		return v
	}
	if t.secret(path) {
		if value == "" {
			return ""
		}
		return mask
	}
	if text, ok := value.(string); ok {
		return maskURL(text)
	}
	return value
}

func (t *Tree) secret(path []string) bool {
	if _, noted := t.secrets.Load(join(path)); noted {
		return true
	}
	if sensitivePath(path) {
		return true
	}
	at := t.Source(path...)
	for _, v := range variables {
		if v.secret && v.name == at.Env {
			return true
		}
	}
	return false
}

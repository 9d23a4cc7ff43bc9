package config

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/knadh/koanf/v2"
)

// sep joins the keys of a path inside this package and in koanf. The YAML reader lets no key hold it.
const sep = "\x1f"

func join(path []string) string { return strings.Join(path, sep) }

// Tree is merged configuration that remembers its layers. It does not change and may be used by many goroutines; what its
// methods return belongs to the caller.
//
// A path is a list of keys; a step such as "[0]" leads into a list.
type Tree struct {
	layers  []layer // low to high
	merged  map[string]any
	secrets sync.Map // joined path -> true: what Decode put into a secret field
}

// layer is one source of values. It is a koanf.Provider.
type layer struct {
	whole Position            // the source as a whole
	root  map[string]any      // what it says
	at    map[string]Position // joined path -> where it says so

	parsed bool   // of a file: it is YAML, whatever is wrong with single values
	lost   Errors // what could not be read of it; a value that is missing may be among that
}

// Read implements koanf.Provider. The copy keeps koanf, which merges in place, off the layer's own values.
func (l layer) Read() (map[string]any, error) { return copyObject(l.root), nil }

// ReadBytes implements koanf.Provider.
func (l layer) ReadBytes() ([]byte, error) { return nil, errors.New("config: layers are read parsed") }

// position tells where the layer sets the path; ok is false if it does not.
func (l layer) position(path []string) (value any, at Position, ok bool) {
	value, ok = lookup(l.root, path)
	if !ok {
		return nil, Position{}, false
	}
	at, known := l.at[join(path)]
	if !known {
		at = l.whole
	}
	return value, at, true
}

// newTree merges layers, low to high. koanf's merge is the contract's (A4): objects key by key, the rest replaces.
func newTree(layers []layer) *Tree {
	k := koanf.New(sep)
	for _, l := range layers {
		if err := k.Load(l, nil); err != nil {
			panic("config: a parsed layer cannot fail to load: " + err.Error())
		}
	}
	return &Tree{layers: layers, merged: k.Raw()}
}

// lost tells whether a value that is missing may be one that could not be read.
func (t *Tree) lost(path []string) bool {
	return slices.ContainsFunc(t.layers, func(l layer) bool { return judged(l.lost, path) })
}

// Get gives a deep copy of the merged value at the path, the whole for no path; ok is false if there is none. A null is
// a value: it gives nil, true.
func (t *Tree) Get(path ...string) (value any, ok bool) {
	value, ok = lookup(t.merged, path)
	return deepCopy(value), ok
}

// Has tells whether there is a value at the path, null included.
func (t *Tree) Has(path ...string) bool {
	_, ok := lookup(t.merged, path)
	return ok
}

// Map gives a deep copy of the object at the path; nil if there is none or it is no object.
func (t *Tree) Map(path ...string) map[string]any {
	value, _ := lookup(t.merged, path)
	object, _ := deepCopy(value).(map[string]any)
	return object
}

// Source tells where the value at the path was set: the highest layer that says it. For an object, to which several
// layers may add, it is the highest file that has it. For a path without a value it is the source of the nearest parent,
// and in the end the lowest layer as a whole.
func (t *Tree) Source(path ...string) Position {
	for ; len(path) > 0; path = path[:len(path)-1] {
		value, ok := lookup(t.merged, path)
		if !ok {
			continue
		}
		if at, ok := t.source(path, value); ok {
			return at
		}
	}
	if len(t.layers) == 0 {
		return Position{}
	}
	return t.layers[0].whole
}

func (t *Tree) source(path []string, value any) (best Position, found bool) {
	_, object := value.(map[string]any)
	for _, l := range slices.Backward(t.layers) {
		said, at, ok := l.position(path)
		if !ok {
			continue
		}
		if !object {
			return at, true
		}
		if _, alsoObject := said.(map[string]any); !alsoObject {
			break // replaced by the layers above
		}
		if at.Env == "" {
			return at, true
		}
		if !found {
			best, found = at, true
		}
	}
	return best, found
}

// Paths lists the paths of all values that are no objects, and of empty objects, sorted key by key. A list is one value.
func (t *Tree) Paths() [][]string {
	var out [][]string
	walk(t.merged, nil, func(path []string, _ any) { out = append(out, path) })
	return out
}

// PathsAt is Paths for the values at and beneath a path; none if there is no such value.
func (t *Tree) PathsAt(path ...string) [][]string {
	var out [][]string
	value, ok := lookup(t.merged, path)
	if object, inner := value.(map[string]any); inner && (len(object) > 0 || len(path) == 0) {
		walk(object, slices.Clone(path), func(path []string, _ any) { out = append(out, path) })
	} else if ok {
		out = append(out, slices.Clone(path))
	}
	return out
}

func walk(object map[string]any, path []string, leaf func([]string, any)) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		at := child(path, key)
		if inner, ok := object[key].(map[string]any); ok && len(inner) > 0 {
			walk(inner, at, leaf)
			continue
		}
		leaf(at, object[key])
	}
}

// Unclaimed reports every key that lies neither at, above nor beneath a claimed path, with its position. Claims are
// dotted: "server", "onions", "modules.a-ratelimit". The error is nil or an Errors.
func (t *Tree) Unclaimed(claimed ...string) error {
	claims := claimTree{}
	for _, claim := range claimed {
		at := claims
		for step := range strings.SplitSeq(claim, ".") {
			if at[step] == nil {
				at[step] = claimTree{}
			}
			at = at[step]
		}
		at[""] = claimTree{} // the path itself is claimed, with all beneath it
	}
	var errs Errors
	t.unclaimed(t.merged, nil, claims, &errs)
	return errs.sorted().orNil()
}

// claimTree holds claims key by key; the key "" marks an end.
type claimTree map[string]claimTree

func (t *Tree) unclaimed(object map[string]any, path []string, claims claimTree, errs *Errors) {
	for key, value := range object {
		at := child(path, key)
		inner, known := claims[key]
		if key == "" || !known {
			*errs = append(*errs, &Error{At: t.Source(at...), Path: at, Message: unknownKey(key, slices.Collect(maps.Keys(claims)))})
			continue
		}
		if inner[""] != nil {
			continue
		}
		below, ok := value.(map[string]any)
		if !ok {
			*errs = append(*errs, &Error{At: t.Source(at...), Path: at, Message: "must be an object, is " + kindOf(value)})
			continue
		}
		t.unclaimed(below, at, inner, errs)
	}
}

// unknownKey words the refusal of a key, with the name that was meant if only the case differs, else those there are.
func unknownKey(key string, known []string) string {
	for _, name := range known {
		if strings.EqualFold(name, key) {
			return "unknown key, it is written " + name
		}
	}
	known = slices.DeleteFunc(known, func(name string) bool { return name == "" })
	if len(known) == 0 {
		return "unknown key, there are none here"
	}
	slices.Sort(known)
	return "unknown key, known here: " + strings.Join(known, ", ")
}

// lookup follows a path through objects and lists.
func lookup(value any, path []string) (any, bool) {
	for _, step := range path {
		switch at := value.(type) {
		case map[string]any:
			inner, ok := at[step]
			if !ok {
				return nil, false
			}
			value = inner
		case []any:
			i, ok := indexStep(step)
			if !ok || i >= len(at) {
				return nil, false
			}
			value = at[i]
		default:
			return nil, false
		}
	}
	return value, true
}

func deepCopy(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return copyObject(v)
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = deepCopy(inner)
		}
		return out
	}
	return value
}

func copyObject(object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	for key, value := range object {
		out[key] = deepCopy(value)
	}
	return out
}

// child is the path one step further. It shares no memory that a brother's could overwrite.
func child(path []string, step string) []string { return append(slices.Clip(path), step) }

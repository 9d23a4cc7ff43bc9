package onion

import (
	"strconv"
	"strings"
)

// Merged is the outcome of merging option layers, with a record of who said what.
type merged struct {
	options map[string]any
	// from gives the layer index of each value, by its joined path. Objects that
	// were merged are recorded by their leaves; one that replaced a value is
	// recorded itself too.
	from map[string]int
}

// pathSep joins paths in records; it occurs in no YAML key that matters.
const pathSep = "\x1f"

func newMerged() *merged {
	return &merged{options: map[string]any{}, from: map[string]int{}}
}

// add merges a patch of layer index on top: objects key by key, anything else
// replaces (contract A4). The patch is not changed or kept.
func (m *merged) add(layer int, patch map[string]any) {
	m.object(m.options, "", patch, func(string) int { return layer })
}

// addMerged merges a whole group on top, keeping its record.
func (m *merged) addMerged(group *merged) {
	m.object(m.options, "", group.options, func(path string) int { return group.layer(path) })
}

func (m *merged) object(dst map[string]any, prefix string, src map[string]any, layer func(path string) int) {
	for key, value := range src {
		path := prefix + key
		child, isObject := value.(map[string]any)
		if !isObject {
			m.forget(path)
			dst[key] = cloneValue(value)
			m.from[path] = layer(path)
			continue
		}
		into, ok := dst[key].(map[string]any)
		if !ok {
			m.forget(path)
			into = map[string]any{}
			dst[key] = into
			m.from[path] = layer(path)
		}
		m.object(into, path+pathSep, child, layer)
	}
}

// forget drops the records at and below a path whose value is replaced.
func (m *merged) forget(path string) {
	delete(m.from, path)
	for p := range m.from {
		if strings.HasPrefix(p, path+pathSep) {
			delete(m.from, p)
		}
	}
}

// layer finds who said the value at path, or the nearest above it; -1 if nobody.
func (m *merged) layer(path string) int {
	for {
		if i, ok := m.from[path]; ok {
			return i
		}
		cut := strings.LastIndex(path, pathSep)
		if cut < 0 {
			return -1
		}
		path = path[:cut]
	}
}

// setter finds the layer that set the option at path; -1 if nobody did. An item of a
// list was set with the list.
func (m *merged) setter(path []string) int {
	for len(path) > 0 {
		if i, ok := m.from[strings.Join(path, pathSep)]; ok {
			return i
		}
		last := len(path) - 1
		if _, err := strconv.Atoi(path[last]); err != nil {
			break
		}
		path = path[:last]
	}
	return -1
}

// merge applies layers in the groups of contract A4: S (defaults to stored),
// then C (controller under action), then dynamic. Layers are in rising order of
// kind; records speak of their indexes.
func merge(layers []layer) *merged {
	s, c := newMerged(), newMerged()
	for i, l := range layers {
		switch l.kind {
		case LayerController, LayerAction:
			c.add(i, l.patch)
		case LayerDynamic:
		default:
			s.add(i, l.patch)
		}
	}
	s.addMerged(c)
	for i, l := range layers {
		if l.kind == LayerDynamic {
			s.add(i, l.patch)
		}
	}
	return s
}

// layer is one source's say about one onion.
type layer struct {
	kind   LayerKind
	label  string
	patch  map[string]any
	source func(path ...string) string
}

// place names the layer, and where in it the value at path stands if known.
func (l layer) place(path ...string) string {
	if l.source != nil {
		if s := l.source(path...); s != "" && s != l.label {
			return l.label + " (" + s + ")"
		}
	}
	return l.label
}

// cloneValue copies lists and objects, so that no layer shares memory with the
// outcome of a merge.
func cloneValue(v any) any {
	switch x := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(x))
		for k, e := range x {
			m[k] = cloneValue(e)
		}
		return m
	case []any:
		list := make([]any, len(x))
		for i, e := range x {
			list[i] = cloneValue(e)
		}
		return list
	}
	return v
}

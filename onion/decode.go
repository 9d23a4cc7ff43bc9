package onion

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// decode fills v from options, strictly: unknown keys, other types, fractions
// for whole numbers, values out of range and null (but for pointers and
// nullable fields) are problems, each with its path (contract A3).
func (s *schema) decode(options map[string]any, v reflect.Value) error {
	return s.run(decoder{}, options, v)
}

// decodePartial checks one layer on its own. null passes: whether it still
// stands after the merge is for decode to say (contract A4: null at the
// controller and an object at the action inherits).
func (s *schema) decodePartial(patch map[string]any, v reflect.Value) error {
	return s.run(decoder{partial: true}, patch, v)
}

func (s *schema) run(d decoder, options map[string]any, v reflect.Value) error {
	d.value(s.root, nil, options, v)
	if len(d.found) > 0 {
		return d.found
	}
	return nil
}

type decoder struct {
	partial bool
	found   problems
}

func (d *decoder) fail(path []string, format string, args ...any) {
	d.found = append(d.found, problem{path: slices.Clone(path), text: fmt.Sprintf(format, args...)})
}

func (d *decoder) value(n *node, path []string, raw any, v reflect.Value) {
	if raw == nil {
		if !d.partial && !n.nullable && n.kind != kindPointer && n.kind != kindAny {
			d.fail(path, "null is no value here, want %s", kindWords[n.kind])
		}
		return
	}
	switch n.kind {
	case kindStruct, kindMap:
		m, ok := raw.(map[string]any)
		if !ok {
			d.mismatch(n, path, raw)
			return
		}
		d.object(n, path, m, v)
	case kindToggle, kindBool:
		b, ok := raw.(bool)
		switch {
		case !ok:
			d.mismatch(n, path, raw)
		case n.kind == kindToggle:
			v.SetUint(uint64(ToggleOf(b)))
		default:
			v.SetBool(b)
		}
	case kindString:
		d.text(n, path, raw, v)
	case kindInt:
		d.whole(n, path, raw, v)
	case kindFloat:
		f, ok := toFloat(raw)
		if !ok {
			d.mismatch(n, path, raw)
			return
		}
		v.SetFloat(f)
	case kindList:
		d.list(n, path, raw, v)
	case kindPointer:
		v.Set(reflect.New(n.typ.Elem()))
		d.value(n.elem, path, raw, v.Elem())
	case kindAny:
		v.Set(reflect.ValueOf(raw))
	}
}

func (d *decoder) mismatch(n *node, path []string, raw any) {
	d.fail(path, "want %s, got %s", kindWords[n.kind], describe(raw))
}

func (d *decoder) object(n *node, path []string, m map[string]any, v reflect.Value) {
	if n.kind == kindMap {
		v.Set(reflect.MakeMapWithSize(n.typ, len(m)))
	}
	for _, key := range sortedKeys(m) {
		at := append(slices.Clone(path), key)
		if n.kind == kindMap {
			elem := reflect.New(n.typ.Elem()).Elem()
			d.value(n.elem, at, m[key], elem)
			v.SetMapIndex(reflect.ValueOf(key).Convert(n.typ.Key()), elem)
			continue
		}
		f, ok := n.field(key)
		if !ok {
			d.fail(at, "unknown option%s", hint(key, n.names()))
			continue
		}
		d.value(f.node, at, m[key], v.Field(f.index))
	}
}

func (d *decoder) text(n *node, path []string, raw any, v reflect.Value) {
	s, ok := raw.(string)
	if !ok {
		d.mismatch(n, path, raw)
		return
	}
	if n.nonempty && s == "" {
		d.fail(path, "must not be empty")
		return
	}
	if n.oneof != nil && !slices.Contains(n.oneof, s) {
		d.fail(path, "want one of %s, got %q", strings.Join(n.oneof, ", "), s)
		return
	}
	v.SetString(s)
}

func (d *decoder) whole(n *node, path []string, raw any, v reflect.Value) {
	i, err := toInt(raw)
	if err != nil {
		d.fail(path, "%v", err)
		return
	}
	if n.bounded && (i < n.min || i > n.max) || v.OverflowInt(i) {
		if n.bounded {
			d.fail(path, "want %d to %d, got %d", n.min, n.max, i)
		} else {
			d.fail(path, "%d is out of range", i)
		}
		return
	}
	v.SetInt(i)
}

func (d *decoder) list(n *node, path []string, raw any, v reflect.Value) {
	items, ok := raw.([]any)
	if !ok {
		d.mismatch(n, path, raw)
		return
	}
	list := reflect.MakeSlice(n.typ, len(items), len(items))
	for i, item := range items {
		d.value(n.elem, append(slices.Clone(path), strconv.Itoa(i)), item, list.Index(i))
	}
	v.Set(list)
}

// toInt accepts whole numbers in any of the types that YAML, JSON and Go code
// give them, and integral floats (contract A3).
func toInt(raw any) (int64, error) {
	switch x := raw.(type) {
	case int:
		return int64(x), nil
	case int64:
		return x, nil
	case uint64:
		if x > math.MaxInt64 {
			return 0, fmt.Errorf("%d is out of range", x)
		}
		return int64(x), nil
	case float64:
		if x != math.Trunc(x) || math.IsInf(x, 0) {
			return 0, fmt.Errorf("want a whole number, got %v", x)
		}
		if x < -1<<63 || x >= 1<<63 {
			return 0, fmt.Errorf("%v is out of range", x)
		}
		return int64(x), nil
	case json.Number:
		if i, err := x.Int64(); err == nil {
			return i, nil
		}
		f, err := x.Float64()
		if err != nil {
			return 0, fmt.Errorf("%s is out of range", x)
		}
		return toInt(f)
	}
	return 0, fmt.Errorf("want a whole number, got %s", describe(raw))
}

func toFloat(raw any) (float64, bool) {
	switch x := raw.(type) {
	case int:
		return float64(x), true
	case int64:
		return float64(x), true
	case uint64:
		return float64(x), true
	case float64:
		return x, true
	case json.Number:
		f, err := x.Float64()
		return f, err == nil
	}
	return 0, false
}

// describe names a raw value for an error, as configuration would write it.
func describe(raw any) string {
	switch x := raw.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("the string %q", x)
	case bool:
		return strconv.FormatBool(x)
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	default:
		return fmt.Sprintf("%v", x)
	}
}

// hint suggests the option that was meant, or lists the few there are.
func hint(key string, known []string) string {
	for _, k := range known {
		if strings.EqualFold(k, key) {
			return fmt.Sprintf(", did you mean %q?", k)
		}
	}
	if len(known) == 0 {
		return ", there are none"
	}
	return ", want one of " + strings.Join(known, ", ")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

package config

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Decode puts the object at the path (the whole for no path) into the struct that into points to, and validates it.
//
// Strict: keys are matched by the tag `koanf:"name"` in their exact case and an unknown key is an error; texts do not
// become numbers nor numbers texts; a float becomes an integer only if it is whole; null is an error except for a pointer,
// which it makes nil, and for an any. An embedded struct without a tag lends its fields. A time.Duration is text like "5s",
// a type with UnmarshalText is text, [Secret] and any string type with a method Reveal are secrets. Every exported field needs a tag
// ("-" to leave it out).
//
// What is not given keeps the value that is already in the struct, so the caller passes its defaults. Objects add to maps
// that are filled, lists replace. Afterwards the rules of `validate` tags (validator/v10) are checked, also if the path is
// absent.
//
// On an error, an Errors of all faults with path and position, the struct is as it was; nothing that it shares with other
// values through maps, slices or pointers is ever written to.
func (t *Tree) Decode(into any, path ...string) error {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("config: Decode needs a pointer to fill, got %T", into)
	}
	fresh := reflect.New(target.Type().Elem()).Elem()
	fresh.Set(target.Elem())
	d := &decoder{tree: t}
	path = slices.Clip(slices.Clone(path))
	if raw, ok := d.find(path); ok {
		d.value(fresh, raw, path)
	}
	if d.misuse != nil {
		return d.misuse
	}
	if err := d.validate(fresh, path); err != nil {
		return err
	}
	if len(d.errs) > 0 {
		return d.errs.sorted()
	}
	target.Elem().Set(fresh)
	return nil
}

type decoder struct {
	tree   *Tree
	errs   Errors
	misuse error // a fault of the program, not of the configuration
}

// fail notes a fault. That a value is missing or null is none where it could not be read.
func (d *decoder) fail(path []string, format string, args ...any) {
	if value, _ := lookup(d.tree.merged, path); value == nil && d.tree.lost(path) {
		return
	}
	d.errs = append(d.errs, &Error{At: d.tree.Source(path...), Path: path, Message: fmt.Sprintf(format, args...)})
}

// find looks the path up; something above it that has no such steps, a text or null, is a fault and not an absence.
func (d *decoder) find(path []string) (any, bool) {
	for i, step := range path {
		value, ok := lookup(d.tree.merged, path[:i])
		_, object := value.(map[string]any)
		_, list := value.([]any)
		if _, index := indexStep(step); ok && !object && !(list && index) {
			d.fail(path[:i:i], "must be an object, is %s", kindOf(value))
			return nil, false
		}
	}
	return lookup(d.tree.merged, path)
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
	revealType   = reflect.TypeFor[interface{ Reveal() string }]()
)

func isSecret(t reflect.Type) bool {
	return t == reflect.TypeFor[Secret]() || t.Kind() == reflect.String && t.Implements(revealType)
}

// value decodes raw over what dst holds.
func (d *decoder) value(dst reflect.Value, raw any, path []string) {
	t := dst.Type()
	switch {
	case t.Kind() == reflect.Pointer:
		d.pointer(dst, raw, path)
	case t.Kind() == reflect.Interface && t.NumMethod() == 0:
		dst.SetZero()
		if raw != nil {
			dst.Set(reflect.ValueOf(deepCopy(raw)))
		}
	case isSecret(t):
		d.secret(dst, raw, path)
	case t == durationType:
		d.duration(dst, raw, path)
	case reflect.PointerTo(t).Implements(textType):
		d.text(dst, raw, path)
	default:
		d.kind(dst, raw, path)
	}
}

func (d *decoder) kind(dst reflect.Value, raw any, path []string) {
	switch dst.Kind() {
	case reflect.Struct:
		d.object(dst, raw, path, d.structure)
	case reflect.Map:
		d.object(dst, raw, path, d.mapping)
	case reflect.Slice:
		d.list(dst, raw, path)
	case reflect.String:
		if text, ok := raw.(string); ok {
			dst.SetString(text)
			return
		}
		d.fail(path, "must be text, is %s", show(raw, path))
	case reflect.Bool:
		if truth, ok := raw.(bool); ok {
			dst.SetBool(truth)
			return
		}
		d.fail(path, "must be true or false, is %s", show(raw, path))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		d.integer(dst, raw, path)
	case reflect.Float32, reflect.Float64:
		d.float(dst, raw, path)
	default:
		d.misuse = fmt.Errorf("config: %s: a field of type %s cannot be decoded", PathString(path...), dst.Type())
	}
}

func (d *decoder) pointer(dst reflect.Value, raw any, path []string) {
	if raw == nil {
		dst.SetZero()
		return
	}
	fresh := reflect.New(dst.Type().Elem())
	if !dst.IsNil() {
		fresh.Elem().Set(dst.Elem())
	}
	d.value(fresh.Elem(), raw, path)
	dst.Set(fresh)
}

func (d *decoder) object(dst reflect.Value, raw any, path []string, fill func(reflect.Value, map[string]any, []string)) {
	object, ok := raw.(map[string]any)
	if !ok {
		d.fail(path, "must be an object, is %s", show(raw, path))
		return
	}
	fill(dst, object, path)
}

func (d *decoder) structure(dst reflect.Value, object map[string]any, path []string) {
	fields, err := fieldsOf(dst.Type())
	if err != nil {
		d.misuse = err
		return
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
		if raw, ok := object[f.name]; ok {
			d.value(dst.FieldByIndex(f.index), raw, child(path, f.name))
		}
	}
	for key := range object {
		if !slices.Contains(names, key) {
			d.fail(child(path, key), "%s", unknownKey(key, slices.Clone(names)))
		}
	}
}

func (d *decoder) mapping(dst reflect.Value, object map[string]any, path []string) {
	t := dst.Type()
	if t.Key().Kind() != reflect.String {
		d.misuse = fmt.Errorf("config: %s: the keys of %s are no text", PathString(path...), t)
		return
	}
	out := reflect.MakeMapWithSize(t, dst.Len()+len(object))
	for iter := dst.MapRange(); iter.Next(); {
		out.SetMapIndex(iter.Key(), iter.Value())
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		name := reflect.ValueOf(key).Convert(t.Key())
		elem := reflect.New(t.Elem()).Elem()
		if old := out.MapIndex(name); old.IsValid() {
			elem.Set(old)
		}
		d.value(elem, object[key], child(path, key))
		out.SetMapIndex(name, elem)
	}
	dst.Set(out)
}

func (d *decoder) list(dst reflect.Value, raw any, path []string) {
	items, ok := raw.([]any)
	if !ok {
		d.fail(path, "must be a list, is %s", kindOf(raw)) // not the value: it may have been meant as a list of secrets
		return
	}
	out := reflect.MakeSlice(dst.Type(), len(items), len(items))
	for i, item := range items {
		d.value(out.Index(i), item, child(path, stepOf(i)))
	}
	dst.Set(out)
}

func (d *decoder) secret(dst reflect.Value, raw any, path []string) {
	d.tree.secrets.Store(join(path), true)
	text, ok := raw.(string)
	switch {
	case !ok:
		d.fail(path, "must be text, is %s", kindOf(raw))
	case dst.Kind() == reflect.String:
		dst.SetString(text)
	default:
		dst.Set(reflect.ValueOf(NewSecret(text)))
	}
}

func (d *decoder) duration(dst reflect.Value, raw any, path []string) {
	text, ok := raw.(string)
	if ok {
		if span, err := time.ParseDuration(text); err == nil {
			dst.SetInt(int64(span))
			return
		}
	}
	d.fail(path, `must be a duration such as "100ms" or "5s", is %s`, show(raw, path))
}

func (d *decoder) text(dst reflect.Value, raw any, path []string) {
	text, ok := raw.(string)
	if !ok {
		d.fail(path, "must be text, is %s", show(raw, path))
		return
	}
	fresh := reflect.New(dst.Type())
	reader, ok := reflect.TypeAssert[encoding.TextUnmarshaler](fresh)
	if !ok || reader.UnmarshalText([]byte(text)) != nil {
		d.fail(path, "is no valid %s: %s", typeWord(dst.Type()), show(raw, path))
		return
	}
	dst.Set(fresh.Elem())
}

// typeWord is a type's name for a message: "prefix" for netip.Prefix.
func typeWord(t reflect.Type) string { return strings.ToLower(t.Name()) }

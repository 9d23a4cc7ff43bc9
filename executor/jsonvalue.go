package executor

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"unsafe"
)

// jsonSetter decodes JSON into what p points to.
type jsonSetter func(p unsafe.Pointer, raw []byte) []fault

// jsonSetterFor is encoding/json on a field: unknown keys are ignored. When it
// fails the value is gone through once more, piece by piece, so that every bad
// field is named and not only the first (contract C2).
func jsonSetterFor(t reflect.Type) jsonSetter {
	example := reflect.Zero(reflect.PointerTo(t)).Interface()
	return func(p unsafe.Pointer, raw []byte) []fault {
		err := json.Unmarshal(raw, pointerTo(example, p))
		if err == nil {
			return nil
		}
		var r repair
		r.value(raw, reflect.NewAt(t, p).Elem(), nil, err)
		return r.faults
	}
}

// maxRepairDepth bounds how deep a repair looks for the place of an error, and
// with it the work that one bad body can cause.
const maxRepairDepth = 16

// repair decodes what it can of a value that failed as a whole and lists what is
// wrong with the rest.
type repair struct {
	faults []fault
}

func (r *repair) leaf(path []any, f fault) {
	f.path = path
	r.faults = append(r.faults, f)
}

func (r *repair) full() bool { return len(r.faults) > maxFaults }

var jsonType = reflect.TypeFor[json.Unmarshaler]()

// decodesItself reports whether a type's own method reads its JSON.
func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(jsonType) || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// value repairs v, at which decoding raw gave err.
func (r *repair) value(raw []byte, v reflect.Value, path []any, err error) {
	before := len(r.faults)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) && len(path) < maxRepairDepth && !decodesItself(v.Type()) {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			r.value(raw, v.Elem(), path, err)
			return
		case reflect.Struct:
			r.object(raw, v, path)
		case reflect.Map:
			r.mapping(raw, v, path)
		case reflect.Slice, reflect.Array:
			r.list(raw, v, path)
		}
	}
	if len(r.faults) == before && !r.full() {
		r.leaf(path, jsonFault(err, v.Type()))
	}
}

// object decodes member by member. A struct of one member lets encoding/json
// find the field, by its own rules.
func (r *repair) object(raw []byte, v reflect.Value, path []any) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return
	}
	fields := jsonFields(v.Type())
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if r.full() {
			return
		}
		key, err := json.Marshal(name)
		f := fieldNamed(fields, name)
		if err != nil || f == nil {
			continue // a body may have any number of members that nobody wants
		}
		one := bytes.Join([][]byte{[]byte("{"), key, []byte(":"), members[name], []byte("}")}, nil)
		if err := json.Unmarshal(one, v.Addr().Interface()); err != nil {
			below := append(slices.Clip(path), name)
			if f.closed {
				r.leaf(below, jsonFault(err, f.typ))
				continue
			}
			field := reflect.NewAt(f.typ, f.at(v.Addr().UnsafePointer())).Elem()
			r.value(members[name], field, below, err)
		}
	}
}

// list decodes item by item, so that a long list of bad items ends at the bound.
// What an array has no room for is left out, as encoding/json does.
func (r *repair) list(raw []byte, v reflect.Value, path []any) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('[') {
		return
	}
	array := v.Kind() == reflect.Array
	if !array {
		v.SetLen(0)
	}
	for i := 0; dec.More() && !r.full(); i++ {
		if array && i == v.Len() {
			return
		}
		start := dec.InputOffset()
		elem := reflect.New(v.Type().Elem()).Elem()
		if err := dec.Decode(elem.Addr().Interface()); err != nil {
			item := bytes.TrimLeft(raw[start:dec.InputOffset()], ", \t\r\n")
			r.value(item, elem, append(slices.Clip(path), i), err)
		}
		if array {
			v.Index(i).Set(elem)
		} else {
			v.Set(reflect.Append(v, elem))
		}
	}
}

// mapping decodes member by member. A key is a text, an integer or what reads
// text itself; the member of a bad one is left out.
func (r *repair) mapping(raw []byte, v reflect.Value, path []any) {
	var members map[string]json.RawMessage
	keys, ok := simpleSetters(v.Type().Key())
	if !ok || json.Unmarshal(raw, &members) != nil {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if r.full() {
			return
		}
		below := append(slices.Clip(path), name)
		key := reflect.New(v.Type().Key())
		if bad := keys.one(key.UnsafePointer(), name); bad != nil {
			r.leaf(below, bad[0])
			continue
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		if err := json.Unmarshal(members[name], elem.Addr().Interface()); err != nil {
			r.value(members[name], elem, below, err)
		}
		v.SetMapIndex(key.Elem(), elem)
	}
}

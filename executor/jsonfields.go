package executor

import (
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// jsonField is a field of a struct as encoding/json sees it. Fields of embedded
// structs, and of those that embedded pointers lead to, are the struct's own.
type jsonField struct {
	name   string
	typ    reflect.Type
	via    []embeddedPointer // on the way, outermost first
	offset uintptr           // from where the last of via leads, else from the struct
	// rank is twice the depth of embedding, and one more without a name in the
	// tag. Of fields with one name the least hides the others, and equal ones
	// hide each other.
	rank int
	// closed tells that the way leads through a pointer to an unexported struct,
	// which encoding/json refuses to allocate.
	closed bool
}

// embeddedPointer is a pointer to a struct, embedded in another.
type embeddedPointer struct {
	offset uintptr
	elem   reflect.Type
}

// at gives a pointer to the field of the struct at base. What embedded pointers
// lead to is allocated where it is missing.
func (f *jsonField) at(base unsafe.Pointer) unsafe.Pointer {
	for _, e := range f.via {
		slot := fieldOf(base, e.offset)
		if base = load[unsafe.Pointer](slot); base == nil {
			base = reflect.New(e.elem).UnsafePointer()
			store(slot, base)
		}
	}
	return fieldOf(base, f.offset)
}

// jsonFields lists the fields of a struct that are not hidden by others.
func jsonFields(t reflect.Type) []jsonField {
	all := declaredFields(t, jsonField{}, nil)
	var list []jsonField
	for i, f := range all {
		hidden := false
		for j, other := range all {
			hidden = hidden || i != j && other.name == f.name && other.rank <= f.rank
		}
		if !hidden {
			list = append(list, f)
		}
	}
	return list
}

// declaredFields lists all fields of t, which is embedded at outer and in the
// types above.
func declaredFields(t reflect.Type, outer jsonField, above []reflect.Type) []jsonField {
	above = append(slices.Clip(above), t)
	var list []jsonField
	for sf := range t.Fields() {
		tag := sf.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		elem, pointer := sf.Type, sf.Anonymous && sf.Type.Kind() == reflect.Pointer
		if pointer {
			elem = elem.Elem()
		}
		embedded := sf.Anonymous && elem.Kind() == reflect.Struct
		if tag == "-" || !sf.IsExported() && !embedded {
			continue
		}
		f := outer
		f.name, f.typ, f.offset = name, sf.Type, outer.offset+sf.Offset
		f.closed = outer.closed || pointer && !sf.IsExported()
		switch {
		case name != "":
			list = append(list, f)
		case !embedded:
			f.name = sf.Name
			f.rank++
			list = append(list, f)
		case !slices.Contains(above, elem): // else its fields are hidden by those further out
			f.rank += 2
			if pointer {
				f.via, f.offset = append(slices.Clip(f.via), embeddedPointer{f.offset, elem}), 0
			}
			list = append(list, declaredFields(elem, f, above)...)
		}
	}
	return list
}

// fieldNamed finds the field that a key stands for: by its name, else without
// regard to case, as encoding/json does; nil if there is none.
func fieldNamed(fields []jsonField, name string) *jsonField {
	i := slices.IndexFunc(fields, func(f jsonField) bool { return f.name == name })
	if i < 0 {
		i = slices.IndexFunc(fields, func(f jsonField) bool { return strings.EqualFold(f.name, name) })
	}
	if i < 0 {
		return nil
	}
	return &fields[i]
}

package executor

import (
	"encoding/json"
	"reflect"
	"strings"
	"unsafe"
)

// formField is a field of a struct that a whole form body fills in.
type formField struct {
	jsonField
	text converter
}

// formConverter is the conversion of a form's texts to t. A type that text
// cannot become is for JSON only, and a form that gives it is told so.
func formConverter(t reflect.Type) converter {
	if text, err := converterFor(t); err == nil {
		return text
	}
	return jsonOnly
}

var jsonOnly = converter{one: func(unsafe.Pointer, string) []fault {
	return []fault{{code: codeType, message: "cannot be sent in a form"}}
}}

// formSetterFor compiles how a form becomes a whole body of type t. The fields
// of a struct are named as in JSON and converted like arguments of their own. A
// map or any other type is decoded as the JSON object of the form's texts, lists
// where a field repeats.
func formSetterFor(t reflect.Type) func(unsafe.Pointer, map[string][]string) []fault {
	if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct && !decodesItself(t.Elem()) {
		inner := formSetterFor(t.Elem())
		return func(p unsafe.Pointer, form map[string][]string) []fault {
			v := reflect.New(t.Elem())
			store(p, v.UnsafePointer())
			return inner(v.UnsafePointer(), form)
		}
	}
	if t.Kind() != reflect.Struct || decodesItself(t) {
		return formAsJSON(t)
	}
	var fields []formField
	for _, f := range jsonFields(t) {
		text := formConverter(f.typ)
		if f.closed {
			text = jsonOnly // and JSON says what is wrong with the type
		}
		fields = append(fields, formField{f, text})
	}
	return func(p unsafe.Pointer, form map[string][]string) []fault {
		var all []fault
		for i := range fields {
			f := &fields[i]
			texts := valuesOf(form, f.name)
			if len(texts) == 0 {
				continue
			}
			for _, found := range f.text.set(f.at(p), texts) {
				found.path = append([]any{f.name}, found.path...)
				all = append(all, found)
			}
		}
		return all
	}
}

// valuesOf finds a form's field by name, else without regard to case, as
// encoding/json finds members.
func valuesOf(form map[string][]string, name string) []string {
	if values := form[name]; len(values) > 0 {
		return values
	}
	for key, values := range form {
		if strings.EqualFold(key, name) && len(values) > 0 {
			return values
		}
	}
	return nil
}

func formAsJSON(t reflect.Type) func(unsafe.Pointer, map[string][]string) []fault {
	set := jsonSetterFor(t)
	lists := t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Slice
	return func(p unsafe.Pointer, form map[string][]string) []fault {
		object := make(map[string]any, len(form))
		for name, values := range form {
			if len(values) == 1 && !lists {
				object[name] = values[0]
			} else {
				object[name] = values
			}
		}
		raw, err := json.Marshal(object)
		if err != nil {
			return wrongFormat(err)
		}
		return set(p, raw)
	}
}

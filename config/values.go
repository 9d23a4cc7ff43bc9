package config

import (
	"encoding"
	"reflect"
	"slices"
	"time"
)

// Values is the reverse of Decode: the fields of a section, a struct or a pointer to one, under their names in the
// configuration. It is for showing what is in force where the configuration says nothing: secrets are masked, and what is
// nil and objects without values are left out. What is no section gives nil.
func Values(section any) map[string]any {
	object, _ := valueOf(reflect.ValueOf(section)).(map[string]any)
	return object
}

var marshalerType = reflect.TypeFor[encoding.TextMarshaler]()

// valueOf gives plain values; nil if there is nothing to show.
func valueOf(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	t := v.Type()
	switch {
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface:
		return valueOf(v.Elem())
	case isSecret(t):
		return maskedText(v)
	case t == durationType:
		return time.Duration(v.Int()).String()
	case t.Implements(marshalerType):
		text, _ := v.Interface().(encoding.TextMarshaler).MarshalText() //nolint:forcetypeassert // it implements it; and what cannot be written is not shown
		return string(text)
	}
	switch t.Kind() {
	case reflect.Struct:
		return structValues(v)
	case reflect.Map:
		return mapValues(v)
	case reflect.Slice:
		if v.IsNil() {
			return nil
		}
		list := make([]any, 0, v.Len())
		for i := range v.Len() {
			list = append(list, valueOf(v.Index(i)))
		}
		return list
	case reflect.String:
		return v.String()
	default:
		return v.Interface()
	}
}

func maskedText(v reflect.Value) string {
	secret, _ := reflect.TypeAssert[interface{ Reveal() string }](v)
	if secret.Reveal() == "" {
		return ""
	}
	return mask
}

func structValues(v reflect.Value) any {
	fields, err := fieldsOf(v.Type())
	if err != nil {
		return nil // no section
	}
	out := map[string]any{}
	for _, f := range fields {
		if value := valueOf(v.FieldByIndex(f.index)); value != nil {
			out[f.name] = value
		}
	}
	return orNothing(out)
}

func mapValues(v reflect.Value) any {
	out := map[string]any{}
	for _, key := range v.MapKeys() {
		if value := valueOf(v.MapIndex(key)); value != nil && key.Kind() == reflect.String {
			out[key.String()] = value
		}
	}
	return orNothing(out)
}

func orNothing(object map[string]any) any {
	if len(object) == 0 {
		return nil
	}
	return object
}

// Nested puts values at a path: {"a": {"b": values}} for the path a, b.
func Nested(values map[string]any, path ...string) map[string]any {
	for _, step := range slices.Backward(path) {
		values = map[string]any{step: values}
	}
	return values
}

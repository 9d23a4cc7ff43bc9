package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-playground/validator/v10"
)

// rules gives the validator, which caches what it learns of types and is otherwise without state.
var rules = sync.OnceValue(func() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("koanf"), ",")
		return name
	})
	v.RegisterCustomTypeFunc(func(v reflect.Value) any {
		secret, _ := reflect.TypeAssert[Secret](v)
		return secret.Reveal()
	}, Secret{})
	return v
})

// validate checks the rules of a struct, or of the structs in a map or list, and words what they find. A value that did
// not decode is not judged again.
func (d *decoder) validate(v reflect.Value, path []string) error {
	var err error
	switch t := v.Type(); {
	case t.Kind() == reflect.Struct:
		err = rules().Struct(v.Addr().Interface())
	case (t.Kind() == reflect.Map || t.Kind() == reflect.Slice) && structBelow(t):
		err = rules().Var(v.Interface(), "dive")
	}
	var found validator.ValidationErrors
	if err != nil && !errors.As(err, &found) {
		return fmt.Errorf("config: %s cannot be validated: %w", v.Type(), err)
	}
	undecoded := d.errs
	for _, fe := range found {
		w := follow(v.Type(), fe.Namespace())
		at := slices.Concat(path, w.path)
		if !judged(undecoded, at) {
			d.fail(at, "%s", sentence(fe, w, at, d.tree.Has(at...)))
		}
	}
	return nil
}

func structBelow(t reflect.Type) bool {
	t = t.Elem()
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

// judged tells whether one of the faults is of the path or of something above it.
func judged(faults Errors, path []string) bool {
	for _, err := range faults {
		var e *Error
		if errors.As(err, &e) && len(e.Path) <= len(path) && PathString(e.Path...) == PathString(path[:len(e.Path)]...) {
			return true
		}
	}
	return false
}

// way is where a validator's namespace ("Server.listen.port", "Redis.clients[limiter].port") leads.
type way struct {
	path  []string
	rules string // the rules that apply there: those of the field, after as many "dive" as steps into lists and maps
	typ   reflect.Type
}

func follow(t reflect.Type, namespace string) way {
	if t.Kind() == reflect.Struct && t.Name() != "" {
		namespace = strings.TrimPrefix(namespace, t.Name()+".")
	}
	w := way{typ: t}
	tag, dives := "", 0
	for namespace != "" {
		for w.typ.Kind() == reflect.Pointer {
			w.typ = w.typ.Elem()
		}
		if w.typ.Kind() == reflect.Struct {
			name, rest := namespace, ""
			if i := strings.IndexAny(namespace, ".["); i >= 0 {
				name, rest = namespace[:i], strings.TrimPrefix(namespace[i:], ".")
			}
			namespace = rest
			f, named := fieldNamed(w.typ, name)
			if named {
				w.path = append(w.path, name)
				tag, dives = f.Tag.Get("validate"), 0
			}
			if f.Type == nil {
				return w
			}
			w.typ = f.Type
			continue
		}
		key, rest := bracketed(namespace)
		namespace = rest
		dives++
		switch w.typ.Kind() {
		case reflect.Map:
			w.path = append(w.path, key)
		case reflect.Slice, reflect.Array:
			w.path = append(w.path, "["+key+"]")
		default:
			return w
		}
		w.typ = w.typ.Elem()
	}
	for w.typ.Kind() == reflect.Pointer {
		w.typ = w.typ.Elem()
	}
	if parts := strings.Split(tag, "dive"); dives < len(parts) {
		w.rules = parts[dives]
	}
	return w
}

// fieldNamed finds a field by its key; named is false for an embedded struct, which is no step of the path.
func fieldNamed(t reflect.Type, name string) (f reflect.StructField, named bool) {
	for f := range t.Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("koanf"), ",")
		if lends(f) && f.Name == name {
			return f, false
		}
		if key == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// bracketed splits "[key].rest" or "[key][rest"; the key may hold dots.
func bracketed(s string) (key, rest string) {
	s = strings.TrimPrefix(s, "[")
	for i := range len(s) {
		if s[i] == ']' && (i+1 == len(s) || s[i+1] == '.' || s[i+1] == '[') {
			return s[:i], strings.TrimPrefix(s[i+1:], ".")
		}
	}
	return s, ""
}

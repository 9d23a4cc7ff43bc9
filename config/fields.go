package config

import (
	"fmt"
	"reflect"
	"strings"
)

// field is a struct's field under its name in the configuration.
type field struct {
	name  string
	index []int // for reflect's FieldByIndex, through embedded structs
}

// fieldsOf lists the fields that a struct takes from the configuration. Its errors are the program's: an exported field
// without a tag, one name twice.
func fieldsOf(t reflect.Type) ([]field, error) {
	var out []field
	seen := map[string]bool{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("koanf"), ",")
		if name == "-" || !f.IsExported() && !lends(f) {
			continue
		}
		list := []field{{name: name, index: []int{i}}}
		if lends(f) {
			inner, err := fieldsOf(f.Type)
			if err != nil {
				return nil, err
			}
			for j := range inner {
				inner[j].index = append([]int{i}, inner[j].index...)
			}
			list = inner
		} else if name == "" {
			return nil, fmt.Errorf("config: the field %s of %s has no koanf tag", f.Name, t)
		}
		for _, f := range list {
			if seen[f.name] {
				return nil, fmt.Errorf("config: %s has two fields for the key %q", t, f.name)
			}
			seen[f.name] = true
			out = append(out, f)
		}
	}
	return out, nil
}

// lends tells an embedded struct without a name of its own, whose fields count as those of the struct around it.
func lends(f reflect.StructField) bool {
	name, _, _ := strings.Cut(f.Tag.Get("koanf"), ",")
	return f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct
}

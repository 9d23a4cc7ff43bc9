package onion

import (
	"reflect"
	"strings"
	"testing"
)

// A name is the case both tags are for (contract A3): null is "not given", the
// empty text an error, and code writes a plain string.
func TestNullableAndNonempty(t *testing.T) {
	type options struct {
		Name  string `json:"name" nullable:"true" nonempty:"true"`
		Plain string `json:"plain"`
	}
	sch, err := schemaOf(reflect.TypeFor[options]())
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		raw  map[string]any
		want string // in the error; "" for none
	}{
		{"null is not given", map[string]any{"name": nil}, ""},
		{"a text", map[string]any{"name": "a"}, ""},
		{"not said", map[string]any{}, ""},
		{"empty", map[string]any{"name": ""}, "name: must not be empty"},
		{"null without the tag", map[string]any{"plain": nil}, "plain: null is no value here"},
		{"empty without the tag", map[string]any{"plain": ""}, ""},
		{"another type", map[string]any{"name": 1}, "name: want a string"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var o options
			err := sch.decode(tc.raw, reflect.ValueOf(&o).Elem())
			switch {
			case tc.want == "" && err != nil:
				t.Fatalf("got %v, want no error", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Fatalf("got %v, want %q", err, tc.want)
			}
		})
	}
	patch, err := sch.encode(reflect.ValueOf(options{}))
	if err != nil || len(patch) != 0 {
		t.Fatalf("a zero value says %v (%v), want nothing", patch, err)
	}
}

func TestNonemptyIsForStrings(t *testing.T) {
	type options struct {
		N int `json:"n" nonempty:"true"`
	}
	if _, err := schemaOf(reflect.TypeFor[options]()); err == nil || !strings.Contains(err.Error(), "nonempty is for strings") {
		t.Fatalf("got %v", err)
	}
}

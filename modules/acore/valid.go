package acore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"

	"github.com/vonago/vonago/onion"
)

// valid checks the whole input of an action by its `validate` tags and answers
// 422 with every bad field (contract C2). The rules are those of
// github.com/go-playground/validator; a field's code is its rule's name, and its
// path consists of the names and indexes that a client knows: those of the
// arguments, and of the json tags inside bodies. No value of a request is in an
// error.
//
// There is one *validator.Validate for an application, a service: a module adds
// rules of its own to it when it provides its services, if it is listed after
// this one.
var valid = onion.Pipe("a-web:valid", onion.NoDefaults, buildValid,
	onion.Global(), onion.OnInput(), onion.Tag("valid")).CheckRoute(checkRules)

// newValidator makes an application's validator.
func newValidator() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(clientName)
	return v
}

func buildValid(_ onion.NoOptions, env onion.Env) (onion.PipeFunc, error) {
	v, err := onion.Service[*validator.Validate](env)
	if err != nil {
		return nil, err
	}
	var own sync.Map // type of an input to validator.FilterFunc, nil if nothing is left out
	return func(ctx context.Context, _ *onion.Call, _ onion.Arg, value any) (any, error) {
		t := reflect.TypeOf(value)
		skip, ok := own.Load(t)
		if !ok {
			skip, _ = own.LoadOrStore(t, skipOwn(t))
		}
		var err error
		if filter, _ := skip.(validator.FilterFunc); filter != nil {
			err = v.StructFilteredCtx(ctx, value, filter)
		} else {
			err = v.StructCtx(ctx, value)
		}
		if err == nil {
			return value, nil
		}
		var found validator.ValidationErrors
		if !errors.As(err, &found) {
			return nil, fmt.Errorf("validating %T: %w", value, err)
		}
		root := rootPrefix(value)
		fields := make([]onion.FieldError, len(found))
		for i, one := range found {
			fields[i] = onion.FieldError{
				Code:    one.Tag(),
				Path:    clientPath(strings.TrimPrefix(one.Namespace(), root)),
				Message: ruleMessage(one),
			}
		}
		return nil, onion.ValidationError(fields)
	}, nil
}

// skipOwn leaves out the arguments that are the server's own, as the request and
// the call: no client filled them in, and the validator would walk through, and
// copy, all that hangs on them, which other goroutines are using.
func skipOwn(t reflect.Type) validator.FilterFunc {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	names := map[string]bool{}
	if t.Kind() == reflect.Struct {
		ownArguments(t, t.Name()+".", names)
	}
	if len(names) == 0 {
		return nil
	}
	return func(path []byte) bool { return names[string(path)] }
}

func ownArguments(t reflect.Type, prefix string, names map[string]bool) {
	for f := range t.Fields() {
		for _, source := range []onion.Source{onion.SourceRequest, onion.SourceUser, onion.SourceIP} {
			if _, ok := f.Tag.Lookup(string(source)); ok {
				names[prefix+f.Name] = true
			}
		}
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			ownArguments(f.Type, prefix+f.Name+".", names)
		}
	}
}

// checkRules refuses an action whose input has a rule that the validator does not
// know or cannot apply; on a request it would panic.
func checkRules(env onion.Env, route *onion.RouteInfo) error {
	v, err := onion.Service[*validator.Validate](env)
	if err != nil {
		return err
	}
	return checkType(v, route.Handler.In, map[reflect.Type]bool{})
}

// checkType validates a zero value of a struct type, which makes the validator
// read its rules, and looks into the types of its fields.
func checkType(v *validator.Validate, t reflect.Type, seen map[reflect.Type]bool) (err error) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return nil
	}
	seen[t] = true
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("type %v: validate: %v", t, p)
		}
	}()
	// What zero values break is not of interest, only what panics.
	_ = v.Struct(reflect.New(t).Interface())
	for f := range t.Fields() {
		if f.IsExported() {
			if err := checkType(v, f.Type, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// rootPrefix is how the validator begins every path: with the name of the
// input's type, which may itself hold dots and brackets (generics).
func rootPrefix(value any) string {
	t := reflect.TypeOf(value)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Name() == "" {
		return ""
	}
	return t.Name() + "."
}

// unnamed stands in a path for a field that a client does not see: an embedded
// struct, the body as a whole.
const unnamed = "~"

// The validator joins names with dots and puts indexes in brackets; names that
// hold such marks are escaped.
var escapeName = strings.NewReplacer("%", "%25", ".", "%2E", "[", "%5B", "]", "%5D", unnamed, "%7E")

// argumentTags are the struct tags that name an argument of an action.
var argumentTags = []onion.Source{
	onion.SourceParam, onion.SourceQuery, onion.SourceHeader, onion.SourceField, onion.SourceBody,
	onion.SourceIP, onion.SourceUser, onion.SourceRequest,
}

// clientName names a field as clients do.
func clientName(f reflect.StructField) string {
	for _, source := range argumentTags {
		name, ok := f.Tag.Lookup(string(source))
		switch {
		case !ok:
			continue
		case source == onion.SourceBody:
			return unnamed
		case name == "":
			name = lowerFirst(f.Name)
		}
		return escapeName.Replace(name)
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case name != "" && name != "-":
		return escapeName.Replace(name)
	case f.Anonymous && name == "":
		return unnamed
	}
	return f.Name
}

// lowerFirst names an argument whose tag gives no name.
func lowerFirst(field string) string {
	r, n := utf8.DecodeRuneInString(field)
	return string(unicode.ToLower(r)) + field[n:]
}

// clientPath splits the validator's path. A list's index becomes a number, and
// so does a map's key that is one.
func clientPath(text string) []any {
	path := []any{}
	for text != "" {
		end := strings.IndexAny(text, ".[")
		if end < 0 {
			end = len(text)
		}
		path = appendName(path, text[:end])
		text = text[end:]
		for strings.HasPrefix(text, "[") {
			var key string
			key, text = bracketed(text[1:])
			if i, err := strconv.Atoi(key); err == nil {
				path = append(path, i)
			} else {
				path = append(path, key)
			}
		}
		text = strings.TrimPrefix(text, ".")
	}
	return path
}

func appendName(path []any, name string) []any {
	if name == "" || name == unnamed {
		return path
	}
	plain, err := url.PathUnescape(name)
	if err != nil {
		plain = name
	}
	return append(path, plain)
}

// bracketed takes a key up to the bracket that closes it: keys of maps are the
// client's, and may hold anything.
func bracketed(text string) (key, rest string) {
	for i := range len(text) {
		if text[i] == ']' && (i+1 == len(text) || text[i+1] == '.' || text[i+1] == '[') {
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

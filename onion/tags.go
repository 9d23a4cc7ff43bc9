package onion

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ControllerTag is embedded by a controller that is declared by policy tags. Its
// own tag holds name, path, prefix, simplify and the controller's policies
// (contract D9).
type ControllerTag struct{}

// Tag keys with a meaning of their own, beside those of onions.
const (
	tagName     = "name"
	tagPath     = "path"
	tagPrefix   = "prefix"
	tagSimplify = "simplify"
)

// verbs are the tag keys that give an action its method and path.
var verbs = map[string]string{
	"get": http.MethodGet, "post": http.MethodPost, "put": http.MethodPut,
	"patch": http.MethodPatch, "delete": http.MethodDelete,
}

// handled is an action field without its types; Action implements it.
type handled interface {
	handler() Handler
}

func (a Action[In, Out]) handler() Handler { return Handle(a) }

// Call runs the action; it exists so that an Action can be called with the
// context first, like any function.
func (a Action[In, Out]) Call(ctx context.Context, in *In) (Out, error) { return a(ctx, in) }

var controllerTagType = reflect.TypeFor[ControllerTag]()

// tagReader turns a tagged controller into the model. It is strict: every
// exported field is an action, every tag key is known.
type tagReader struct {
	byTag map[string]*spec
	errs  []error
	typ   reflect.Type
}

// readTags reads c, a pointer to a struct that embeds ControllerTag. byTag finds
// an onion by its tag key.
func readTags(c any, where string, byTag map[string]*spec) (Controller, []error) {
	v := reflect.ValueOf(c)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return Controller{}, []error{fmt.Errorf("%s: onion.Tags wants a pointer to a struct, got %T", where, c)}
	}
	v = v.Elem()
	r := &tagReader{byTag: byTag, typ: v.Type()}
	model := Controller{Where: r.typ.String()}
	embedded := false
	for i := range r.typ.NumField() {
		sf := r.typ.Field(i)
		switch {
		case sf.Type == controllerTagType && sf.Anonymous:
			embedded = true
			r.controller(&model, sf)
		case sf.Type.Kind() == reflect.Pointer && sf.Type.Implements(reflect.TypeFor[handled]()):
			r.fail(sf, "is a pointer to an action: want the onion.Action itself")
		case sf.Type.Implements(reflect.TypeFor[handled]()):
			r.action(&model, sf, v.Field(i))
		case sf.Anonymous && holdsActions(sf.Type):
			r.fail(sf, "is embedded and holds actions: they are read from the controller itself only")
		case hasVerb(sf.Tag):
			r.fail(sf, "has a route tag but is no onion.Action")
		}
	}
	if !embedded {
		r.errs = append(r.errs, fmt.Errorf("%s (%s): embeds no onion.ControllerTag", r.typ, where))
	}
	return model, r.errs
}

func (r *tagReader) fail(sf reflect.StructField, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s.%s: %s", r.typ, sf.Name, fmt.Sprintf(format, args...)))
}

func hasVerb(tag reflect.StructTag) bool {
	for key := range verbs {
		if _, ok := tag.Lookup(key); ok {
			return true
		}
	}
	return false
}

// holdsActions tells an embedded struct whose actions would be no routes.
func holdsActions(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	for f := range t.Fields() {
		if f.Type.Implements(reflect.TypeFor[handled]()) || hasVerb(f.Tag) {
			return true
		}
	}
	return false
}

func (r *tagReader) controller(model *Controller, sf reflect.StructField) {
	for _, item := range r.items(sf) {
		switch item.key {
		case tagName:
			model.Name = item.value
		case tagPath:
			model.Path = item.value
		case tagPrefix:
			model.Prefix = &item.value
		case tagSimplify:
			model.Simplify = r.toggle(sf, item)
		default:
			r.use(&model.Uses, sf, item)
		}
	}
}

func (r *tagReader) action(model *Controller, sf reflect.StructField, v reflect.Value) {
	if !sf.IsExported() {
		r.fail(sf, "is an action, so the field must be exported")
		return
	}
	route := Route{Action: lowerFirst(sf.Name), Where: r.typ.String() + "." + sf.Name}
	for _, item := range r.items(sf) {
		method, isVerb := verbs[item.key]
		switch {
		case isVerb && route.Method != "":
			r.fail(sf, "has two route tags, %s and %s", strings.ToLower(route.Method), item.key)
		case isVerb:
			route.Method, route.Path = method, item.value
		case item.key == tagPrefix:
			route.Prefix = &item.value
		case item.key == tagSimplify:
			route.Simplify = r.toggle(sf, item)
		default:
			r.use(&route.Uses, sf, item)
		}
	}
	if route.Method == "" {
		r.fail(sf, "is an action without a route tag, want one of get, post, put, patch, delete")
	}
	if h, ok := reflect.TypeAssert[handled](v); ok {
		route.Handler = h.handler()
	}
	model.Routes = append(model.Routes, route)
}

func (r *tagReader) toggle(sf reflect.StructField, item tagItem) Toggle {
	if item.value != "true" && item.value != "false" {
		r.fail(sf, "tag %s: want true or false, got %q", item.key, item.value)
		return Inherit
	}
	return ToggleOf(item.value == "true")
}

// use reads one policy tag: the key names an onion, the value its options.
func (r *tagReader) use(uses *[]Use, sf reflect.StructField, item tagItem) {
	s, ok := r.byTag[item.key]
	if !ok {
		r.fail(sf, "unknown tag key %q%s", item.key, hint(item.key, sortedKeys(r.byTag)))
		return
	}
	patch, err := parsePolicy(s, item.value)
	if err != nil {
		r.fail(sf, "tag %s: %v", item.key, err)
		return
	}
	*uses = append(*uses, Use{spec: s, Patch: patch, Where: r.typ.String() + "." + sf.Name})
}

type tagItem struct{ key, value string }

// items splits a struct tag by the convention of package reflect, but reports
// what does not follow it: reflect would pass over it in silence.
func (r *tagReader) items(sf reflect.StructField) []tagItem {
	var items []tagItem
	rest := strings.TrimSpace(string(sf.Tag))
	for rest != "" {
		key, after, found := strings.Cut(rest, ":")
		if !found || key == "" || strings.ContainsAny(key, " \"") || !strings.HasPrefix(after, "\"") {
			r.fail(sf, "malformed struct tag at %q", rest)
			return items
		}
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil {
			r.fail(sf, "malformed struct tag at %q", rest)
			return items
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			r.fail(sf, "malformed struct tag at %q", rest)
			return items
		}
		if slices.ContainsFunc(items, func(it tagItem) bool { return it.key == key }) {
			r.fail(sf, "tag key %q is given twice", key)
		}
		items = append(items, tagItem{key, value})
		rest = strings.TrimSpace(after[len(quoted):])
	}
	return items
}

func lowerFirst(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(first)) + s[size:]
}

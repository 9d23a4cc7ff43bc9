package executor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// Struct tags of an input's fields beside the sources.
const (
	tagDefault = "default"
	tagPipe    = "pipe"
)

// sources are the tags of which every field has exactly one.
var sources = []onion.Source{
	onion.SourceParam, onion.SourceQuery, onion.SourceHeader, onion.SourceBody,
	onion.SourceField, onion.SourceIP, onion.SourceUser, onion.SourceRequest,
}

// binder fills in the input of one route. It is compiled once.
type binder struct {
	fields []field
	query  bool // some field comes from the query
	body   bool // some field is one member of the body
	whole  bool // some field is the whole body, of whatever form it is
}

// origins of a field, as small numbers: a request asks for each of them.
type from uint8

const (
	fromCall from = iota // ip, user, request
	fromParam
	fromQuery
	fromHeader
	fromField
	fromBody
)

// field is one argument: where it comes from and how it gets into the struct.
type field struct {
	from   from
	arg    onion.Arg
	typ    reflect.Type
	offset uintptr
	key    string // of the header, canonical
	// text converts a param, a query or header value, or a form's field.
	text converter
	// json decodes a body, or one member of it.
	json jsonSetter
	// form takes a whole form body.
	form func(p unsafe.Pointer, form map[string][]string) []fault
	// own stores what is not converted: ip, user, request.
	own func(ctx context.Context, c *onion.Call, p unsafe.Pointer)
	// preset is the text of the default tag; hasPreset tells "" from none.
	preset    string
	hasPreset bool
	// pipeNames are those of the pipe tag.
	pipeNames []string
}

// newBinder compiles the input of a route: every exported field of the struct,
// and of structs embedded in it, has exactly one source tag.
//
//	param:"id"     a ":id" of the path ("*" for the rest)
//	query:"q"      a query field; a slice takes a repeated one
//	header:"x-y"   a header field, "host" the Host; a slice takes all lines
//	body:""        the whole body
//	field:"name"   one member of a JSON object, or one field of a form
//	ip:""          the client's address (contract D4): string or netip.Addr
//	user:""        the caller: *passport.Passport or passport.User
//	request:""     *http.Request (nil in process) or *onion.Call
//
// An empty name is the field's own with its first letter lowered. What is absent
// keeps its zero value, or takes the text of a tag default:"...". A tag
// pipe:"module:name|module:name" names pipes of the argument.
func newBinder(route *onion.RouteInfo) (*binder, error) {
	t := route.Handler.In
	if t == nil || t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the input %v is no struct", t)
	}
	c := compiler{names: paramNames(route.Path), in: t}
	c.structure(t, 0)
	b := &binder{fields: c.fields}
	bodies := 0
	for _, f := range b.fields {
		b.query = b.query || f.arg.Source == onion.SourceQuery
		b.body = b.body || f.arg.Source == onion.SourceField
		if f.arg.Source == onion.SourceBody {
			bodies++
		}
	}
	b.whole = bodies > 0
	if bodies > 1 {
		c.errs = append(c.errs, fmt.Errorf("input %v: %d fields take the whole body", t, bodies))
	}
	return b, errors.Join(c.errs...)
}

// compiler walks an input's type.
type compiler struct {
	in     reflect.Type
	names  []string // of the path's parameters
	fields []field
	errs   []error
}

func (c *compiler) structure(t reflect.Type, base uintptr) {
	for sf := range t.Fields() {
		tagged := tagsOf(sf)
		if sf.Anonymous && len(tagged) == 0 && sf.Type.Kind() == reflect.Struct {
			c.structure(sf.Type, base+sf.Offset)
			continue
		}
		if !sf.IsExported() && len(tagged) == 0 {
			continue
		}
		f, err := c.field(sf, tagged)
		if err != nil {
			c.errs = append(c.errs, fmt.Errorf("input %v: field %s: %w", c.in, sf.Name, err))
			continue
		}
		f.offset = base + sf.Offset
		c.fields = append(c.fields, f)
	}
}

func tagsOf(sf reflect.StructField) []onion.Source {
	var found []onion.Source
	for _, s := range sources {
		if _, ok := sf.Tag.Lookup(string(s)); ok {
			found = append(found, s)
		}
	}
	return found
}

func (c *compiler) field(sf reflect.StructField, tagged []onion.Source) (field, error) {
	switch {
	case !sf.IsExported():
		return field{}, errors.New("has a source but is not exported")
	case len(tagged) == 0:
		return field{}, fmt.Errorf("has no source: want one of the tags %v", sources)
	case len(tagged) > 1:
		return field{}, fmt.Errorf("has several sources %v: want one", tagged)
	}
	f := field{typ: sf.Type, arg: onion.Arg{Field: sf.Name, Name: sf.Tag.Get(string(tagged[0])), Source: tagged[0]}}
	if named := f.arg.Name != ""; named && !takesName(f.arg.Source) {
		return field{}, fmt.Errorf("tag %s takes no name, got %q", f.arg.Source, f.arg.Name)
	} else if !named {
		f.arg.Name = lowerFirst(sf.Name)
	}
	if err := c.source(&f); err != nil {
		return field{}, err
	}
	if pipes, ok := sf.Tag.Lookup(tagPipe); ok {
		for name := range strings.SplitSeq(pipes, "|") {
			f.pipeNames = append(f.pipeNames, strings.TrimSpace(name))
		}
	}
	if text, ok := sf.Tag.Lookup(tagDefault); ok {
		return f, f.setPreset(text)
	}
	return f, nil
}

func takesName(s onion.Source) bool {
	switch s {
	case onion.SourceParam, onion.SourceQuery, onion.SourceHeader, onion.SourceField:
		return true
	default:
		return false
	}
}

func lowerFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[n:]
}

// source compiles how the field gets its value.
func (c *compiler) source(f *field) (err error) {
	switch f.arg.Source {
	case onion.SourceParam:
		if !slices.Contains(c.names, f.arg.Name) {
			return fmt.Errorf("the path has no parameter %q, only %q", f.arg.Name, c.names)
		}
		f.from = fromParam
		f.text, err = converterFor(f.typ)
	case onion.SourceHeader:
		f.from = fromHeader
		f.key = http.CanonicalHeaderKey(f.arg.Name)
		f.text, err = converterFor(f.typ)
	case onion.SourceQuery:
		f.from = fromQuery
		f.text, err = converterFor(f.typ)
	case onion.SourceField:
		f.from = fromField
		f.json, f.text = jsonSetterFor(f.typ), formConverter(f.typ)
	case onion.SourceBody:
		f.from = fromBody
		f.json, f.form = jsonSetterFor(f.typ), formSetterFor(f.typ)
	default:
		f.own, err = ownSetter(f.arg.Source, f.typ)
	}
	return err
}

// ownSetter stores what the executor itself has to give.
func ownSetter(s onion.Source, t reflect.Type) (func(context.Context, *onion.Call, unsafe.Pointer), error) {
	var want string
	switch s {
	case onion.SourceIP:
		switch {
		case t.Kind() == reflect.String:
			return func(_ context.Context, c *onion.Call, p unsafe.Pointer) { store(p, c.IP()) }, nil
		case t == reflect.TypeFor[netip.Addr]():
			return func(_ context.Context, c *onion.Call, p unsafe.Pointer) { store(p, c.Addr) }, nil
		}
		want = "string or netip.Addr"
	case onion.SourceUser:
		switch t {
		case reflect.TypeFor[*passport.Passport]():
			return func(_ context.Context, c *onion.Call, p unsafe.Pointer) { store(p, passport.Of(c)) }, nil
		case reflect.TypeFor[passport.User]():
			return func(_ context.Context, c *onion.Call, p unsafe.Pointer) { store(p, passport.Of(c).User) }, nil
		}
		want = "*passport.Passport or passport.User"
	default:
		switch t {
		case reflect.TypeFor[*http.Request]():
			return func(ctx context.Context, c *onion.Call, p unsafe.Pointer) {
				if c.Request != nil {
					store(p, c.Request.WithContext(ctx))
				}
			}, nil
		case reflect.TypeFor[*onion.Call]():
			return func(_ context.Context, c *onion.Call, p unsafe.Pointer) { store(p, c) }, nil
		}
		want = "*http.Request or *onion.Call"
	}
	return nil, fmt.Errorf("tag %s: want the type %s, got %v", s, want, t)
}

// setPreset takes the default tag, which must convert.
func (f *field) setPreset(text string) error {
	switch f.arg.Source {
	case onion.SourceParam, onion.SourceQuery, onion.SourceHeader, onion.SourceField:
	default:
		return fmt.Errorf("tag %s has no default", f.arg.Source)
	}
	trial := reflect.New(f.typ)
	if faults := f.text.one(trial.UnsafePointer(), text); faults != nil {
		return fmt.Errorf("default %q: %s", text, faults[0].message)
	}
	f.preset, f.hasPreset = text, true
	return nil
}

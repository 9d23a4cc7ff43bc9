package onion

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// schema is the shape of an option struct, read once by reflection when the
// definition is made; it encodes, decodes and parses options of that type.
type schema struct {
	root *node
}

// node is one option, or the struct of all.
type node struct {
	typ    reflect.Type
	kind   nodeKind
	fields []field // of a struct
	elem   *node   // of a list, map or pointer

	min, max int64 // of an int, inclusive
	bounded  bool
	oneof    []string // of a string
	nonempty bool     // of a string: "" is refused
	nullable bool     // null means "not given", as for pointers
}

type field struct {
	name  string
	index int
	node  *node
}

type nodeKind int

const (
	kindStruct nodeKind = iota
	kindToggle
	kindBool
	kindString
	kindInt
	kindFloat
	kindList
	kindMap
	kindPointer
	kindAny
)

// kindWords name the kinds in errors, in their order.
var kindWords = [...]string{
	"an object", "true or false", "true or false", "a string", "a whole number",
	"a number", "a list", "an object", "a value", "a value",
}

var toggleType = reflect.TypeFor[Toggle]()

func schemaOf(t reflect.Type) (*schema, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%v is not a struct", t)
	}
	root, err := nodeOf(t, false)
	if err != nil {
		return nil, err
	}
	for _, f := range root.fields {
		if isOuter(f.name) {
			return nil, fmt.Errorf("%v: the option %q belongs to the engine", t, f.name)
		}
	}
	return &schema{root: root}, nil
}

// nodeOf reads a type. A plain bool is refused where "false" and "not said"
// would be the same, that is in a struct.
func nodeOf(t reflect.Type, boolAllowed bool) (*node, error) {
	n := &node{typ: t}
	if t == toggleType {
		n.kind = kindToggle
		return n, nil
	}
	var err error
	switch t.Kind() {
	case reflect.Struct:
		n.kind = kindStruct
		n.fields, err = fieldsOf(t)
	case reflect.Bool:
		n.kind = kindBool
		if !boolAllowed {
			err = fmt.Errorf("%v: a plain bool cannot say \"not said\": use onion.Toggle", t)
		}
	case reflect.String:
		n.kind = kindString
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n.kind = kindInt
	case reflect.Float64:
		n.kind = kindFloat
	case reflect.Slice:
		n.kind = kindList
		n.elem, err = nodeOf(t.Elem(), true)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("%v: keys must be strings", t)
		}
		n.kind = kindMap
		n.elem, err = nodeOf(t.Elem(), true)
	case reflect.Pointer:
		n.kind = kindPointer
		n.elem, err = nodeOf(t.Elem(), true)
	case reflect.Interface:
		n.kind = kindAny
	default:
		err = fmt.Errorf("%v cannot be an option", t)
	}
	return n, err
}

func fieldsOf(t reflect.Type) ([]field, error) {
	fields := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		sf := t.Field(i)
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if !sf.IsExported() || sf.Anonymous || name == "" || name == "-" {
			return nil, fmt.Errorf("%v.%s: an option needs an exported field with a json tag", t, sf.Name)
		}
		n, err := nodeOf(sf.Type, false)
		if err != nil {
			return nil, fmt.Errorf("%v.%s: %w", t, sf.Name, err)
		}
		if err := n.restrict(sf.Tag); err != nil {
			return nil, fmt.Errorf("%v.%s: %w", t, sf.Name, err)
		}
		fields = append(fields, field{name: name, index: i, node: n})
	}
	return fields, nil
}

// restrict reads the tags range, oneof, nonempty and nullable; they reach through
// a pointer, which takes null anyway.
func (n *node) restrict(tag reflect.StructTag) error {
	target := n
	if n.kind == kindPointer {
		target = n.elem
	}
	n.nullable = tag.Get("nullable") == "true"
	if target.nonempty = tag.Get("nonempty") == "true"; target.nonempty && target.kind != kindString {
		return fmt.Errorf("nonempty is for strings")
	}
	if text, ok := tag.Lookup("oneof"); ok {
		if target.kind != kindString {
			return fmt.Errorf("oneof is for strings")
		}
		target.oneof = strings.Split(text, "|")
	}
	text, ok := tag.Lookup("range")
	if !ok {
		return nil
	}
	low, high, found := strings.Cut(text, "..")
	if target.kind != kindInt || !found {
		return fmt.Errorf("range wants \"min..max\" on a whole number")
	}
	var errLow, errHigh error
	target.min, errLow = strconv.ParseInt(low, 10, 64)
	target.max, errHigh = strconv.ParseInt(high, 10, 64)
	if errLow != nil || errHigh != nil {
		return fmt.Errorf("range %q: want two whole numbers", text)
	}
	target.bounded = true
	return nil
}

// field finds a struct's field by its option name.
func (n *node) field(name string) (field, bool) {
	for _, f := range n.fields {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

// names lists a struct's options, for errors.
func (n *node) names() []string {
	names := make([]string, len(n.fields))
	for i, f := range n.fields {
		names[i] = f.name
	}
	return names
}

// encode makes the patch that says what v says: zero values say nothing.
func (s *schema) encode(v reflect.Value) (map[string]any, error) {
	return s.root.encodeStruct(v)
}

func (n *node) encodeStruct(v reflect.Value) (map[string]any, error) {
	patch := map[string]any{}
	for _, f := range n.fields {
		fv := v.Field(f.index)
		if fv.IsZero() {
			continue
		}
		value, err := f.node.encode(fv)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		patch[f.name] = value
	}
	return patch, nil
}

func (n *node) encode(v reflect.Value) (any, error) {
	switch n.kind {
	case kindStruct:
		return n.encodeStruct(v)
	case kindToggle:
		switch t := Toggle(v.Uint()); t { //nolint:gosec // the field is a uint8
		case On, Off:
			return t == On, nil
		default:
			return nil, fmt.Errorf("%d is no toggle", t)
		}
	case kindBool:
		return v.Bool(), nil
	case kindString:
		return v.String(), nil
	case kindInt:
		return v.Int(), nil
	case kindFloat:
		return v.Float(), nil
	case kindList:
		list := make([]any, v.Len())
		for i := range list {
			value, err := n.elem.encode(v.Index(i))
			if err != nil {
				return nil, fmt.Errorf("%d: %w", i, err)
			}
			list[i] = value
		}
		return list, nil
	case kindMap:
		m := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			value, err := n.elem.encode(it.Value())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", it.Key(), err)
			}
			m[it.Key().String()] = value
		}
		return m, nil
	case kindPointer:
		return n.elem.encode(v.Elem())
	default:
		return v.Interface(), nil
	}
}

package executor

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// converter stores texts of a request in a field, whose kind was looked at when
// it was made. one takes a text. many takes all texts of a repeated value; it is
// nil unless the field is a slice.
type converter struct {
	one  func(p unsafe.Pointer, text string) []fault
	many func(p unsafe.Pointer, texts []string) []fault
}

// set stores texts, of which there is at least one. Of a repeated value a field
// that is no slice takes the first.
func (c *converter) set(p unsafe.Pointer, texts []string) []fault {
	if c.many != nil {
		return c.many(p, texts)
	}
	return c.one(p, texts[0])
}

var (
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
	timeType = reflect.TypeFor[time.Time]()
)

// converterFor compiles the conversion of text to a type: strings, booleans,
// numbers, times in RFC 3339, what implements encoding.TextUnmarshaler, pointers
// to these (nil when absent) and slices of these (a repeated value, or one JSON
// array). A struct, map or other slice takes JSON text, which is how
// PerformAction writes objects and lists in a URL (contract F1).
func converterFor(t reflect.Type) (converter, error) {
	if s, ok := simpleSetters(t); ok {
		return converter{one: s.one}, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		if s, ok := simpleSetters(t.Elem()); ok {
			return converter{one: s.pointer}, nil
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return converter{}, errors.New("bytes cannot be told from text: use a string")
		}
		s, ok := simpleSetters(t.Elem())
		if !ok {
			return converter{one: jsonText(t)}, nil
		}
		return listConverter(t, s.slice), nil
	case reflect.Struct, reflect.Map:
		return converter{one: jsonText(t)}, nil
	}
	return converter{}, fmt.Errorf("text cannot be converted to %v", t)
}

// setters store one simple type: by itself, behind a pointer, in a slice.
type setters struct {
	one     func(p unsafe.Pointer, text string) []fault
	pointer func(p unsafe.Pointer, text string) []fault
	slice   func(p unsafe.Pointer, texts []string) []fault
}

func simpleSetters(t reflect.Type) (setters, bool) {
	if t == timeType {
		return settersOf(parseTime), true
	}
	if t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(textType) {
		return textSetters(t), true
	}
	switch t.Kind() {
	case reflect.String:
		return settersOf(func(s string) (string, []fault) { return s, nil }), true
	case reflect.Bool:
		return settersOf(func(s string) (bool, []fault) { return parseBool(s, t) }), true
	case reflect.Int:
		return settersOf(parseInt[int](t)), true
	case reflect.Int8:
		return settersOf(parseInt[int8](t)), true
	case reflect.Int16:
		return settersOf(parseInt[int16](t)), true
	case reflect.Int32:
		return settersOf(parseInt[int32](t)), true
	case reflect.Int64:
		return settersOf(parseInt[int64](t)), true
	case reflect.Uint:
		return settersOf(parseUint[uint](t)), true
	case reflect.Uint8:
		return settersOf(parseUint[uint8](t)), true
	case reflect.Uint16:
		return settersOf(parseUint[uint16](t)), true
	case reflect.Uint32:
		return settersOf(parseUint[uint32](t)), true
	case reflect.Uint64:
		return settersOf(parseUint[uint64](t)), true
	case reflect.Float32:
		return settersOf(parseFloat[float32](t)), true
	case reflect.Float64:
		return settersOf(parseFloat[float64](t)), true
	}
	return setters{}, false
}

// settersOf makes the setters of a kind from its parser. A named type is stored
// through its kind, which has the same layout.
func settersOf[T any](parse func(string) (T, []fault)) setters {
	return setters{
		one: func(p unsafe.Pointer, text string) []fault {
			v, faults := parse(text)
			if faults == nil {
				store(p, v)
			}
			return faults
		},
		pointer: func(p unsafe.Pointer, text string) []fault {
			v, faults := parse(text)
			if faults == nil {
				store(p, &v)
			}
			return faults
		},
		slice: func(p unsafe.Pointer, texts []string) []fault {
			list := make([]T, len(texts))
			var all []fault
			for i, text := range texts {
				v, faults := parse(text)
				list[i], all = v, atIndex(all, i, faults)
			}
			if all == nil {
				store(p, list)
			}
			return all
		},
	}
}

// textSetters are the setters of a type that reads text itself. Its values can
// only be allocated by reflection, where a pointer or slice of them is wanted.
func textSetters(t reflect.Type) setters {
	example := reflect.Zero(reflect.PointerTo(t)).Interface()
	one := func(p unsafe.Pointer, text string) []fault {
		v, ok := pointerTo(example, p).(encoding.TextUnmarshaler)
		if !ok {
			return wrongType(t)
		}
		if err := v.UnmarshalText([]byte(text)); err != nil {
			return wrongFormat(err)
		}
		return nil
	}
	return setters{
		one: one,
		pointer: func(p unsafe.Pointer, text string) []fault {
			v := reflect.New(t).UnsafePointer()
			faults := one(v, text)
			if faults == nil {
				store(p, v)
			}
			return faults
		},
		slice: func(p unsafe.Pointer, texts []string) []fault {
			list := reflect.New(reflect.SliceOf(t)).Elem()
			list.Set(reflect.MakeSlice(list.Type(), len(texts), len(texts)))
			var all []fault
			for i, text := range texts {
				all = atIndex(all, i, one(list.Index(i).Addr().UnsafePointer(), text))
			}
			if all == nil {
				reflect.NewAt(list.Type(), p).Elem().Set(list)
			}
			return all
		},
	}
}

func atIndex(all []fault, index int, faults []fault) []fault {
	for _, f := range faults {
		if len(all) <= maxFaults {
			f.path = append([]any{index}, f.path...)
			all = append(all, f)
		}
	}
	return all
}

// listConverter takes a repeated value. A single one that is a JSON array gives
// its elements.
func listConverter(t reflect.Type, slice func(unsafe.Pointer, []string) []fault) converter {
	fromJSON := jsonText(t)
	many := func(p unsafe.Pointer, texts []string) []fault {
		if len(texts) == 1 && strings.HasPrefix(texts[0], "[") && json.Valid([]byte(texts[0])) {
			return fromJSON(p, texts[0])
		}
		return slice(p, texts)
	}
	return converter{
		one:  func(p unsafe.Pointer, text string) []fault { return many(p, []string{text}) },
		many: many,
	}
}

// jsonText takes JSON text.
func jsonText(t reflect.Type) func(unsafe.Pointer, string) []fault {
	set := jsonSetterFor(t)
	return func(p unsafe.Pointer, text string) []fault { return set(p, []byte(text)) }
}

func parseTime(text string) (time.Time, []fault) {
	v, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return v, []fault{{code: codeFormat, message: "expected a time in RFC 3339"}}
	}
	return v, nil
}

func parseBool(text string, t reflect.Type) (bool, []fault) {
	switch text {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, wrongType(t)
}

func parseInt[T int | int8 | int16 | int32 | int64](t reflect.Type) func(string) (T, []fault) {
	bits := t.Bits()
	return func(text string) (T, []fault) {
		v, err := strconv.ParseInt(text, 10, bits)
		if err != nil {
			return 0, numberFault(err, t)
		}
		return T(v), nil
	}
}

func parseUint[T uint | uint8 | uint16 | uint32 | uint64](t reflect.Type) func(string) (T, []fault) {
	bits := t.Bits()
	return func(text string) (T, []fault) {
		v, err := strconv.ParseUint(text, 10, bits)
		if err != nil {
			return 0, numberFault(err, t)
		}
		return T(v), nil
	}
}

// parseFloat takes decimal numbers only: no hexadecimal ones, infinities or NaN,
// which an answer in JSON could not hold.
func parseFloat[T float32 | float64](t reflect.Type) func(string) (T, []fault) {
	bits := t.Bits()
	return func(text string) (T, []fault) {
		if strings.Trim(text, "0123456789+-.eE") != "" {
			return 0, wrongType(t)
		}
		v, err := strconv.ParseFloat(text, bits)
		if err != nil {
			return 0, numberFault(err, t)
		}
		return T(v), nil
	}
}

func numberFault(err error, t reflect.Type) []fault {
	if errors.Is(err, strconv.ErrRange) {
		return outOfRange(t)
	}
	return wrongType(t)
}

package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/vonago/vonago/onion"
)

// Codes of conversion errors in the list of a 422 (contract C2).
const (
	codeType   = "invalid_type"   // another type than the field has
	codeRange  = "out_of_range"   // a number that the field's type cannot hold
	codeFormat = "invalid_format" // text that the field's type refuses
	codeJSON   = "invalid_json"   // text that should be JSON
	codeMany   = "too_many"       // the list of an argument's errors ends here
)

// maxFaults bounds the conversion errors listed of one argument. Looking for
// them ends with the first that is not listed.
const maxFaults = 100

// fault is one conversion error; path is below the argument.
type fault struct {
	path          []any
	code, message string
}

// fieldErrors gives the faults of an argument as a client sees them: the path
// begins with the argument's name, save for a whole body, whose keys are the
// client's own. Where the bound cuts them the argument itself is the last: what
// comes after was not looked at, and no pipe has anything to say of it.
func fieldErrors(arg onion.Arg, faults []fault) []onion.FieldError {
	if len(faults) > maxFaults {
		message := fmt.Sprintf("more is wrong than the %d errors listed", maxFaults)
		faults = append(faults[:maxFaults:maxFaults], fault{code: codeMany, message: message})
	}
	list := make([]onion.FieldError, len(faults))
	for i, f := range faults {
		path := make([]any, 0, len(f.path)+1)
		if arg.Source != onion.SourceBody {
			path = append(path, arg.Name)
		}
		list[i] = onion.FieldError{Code: f.code, Path: append(path, f.path...), Message: f.message}
	}
	return list
}

func wrongType(t reflect.Type) []fault {
	return []fault{{code: codeType, message: "expected " + kindWord(t)}}
}

func outOfRange(t reflect.Type) []fault {
	return []fault{{code: codeRange, message: "out of range for " + t.Kind().String()}}
}

func wrongFormat(err error) []fault {
	const longest = 200
	text := err.Error()
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "")
	}
	return []fault{{code: codeFormat, message: text}}
}

// kindWord names what a client should have sent.
func kindWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return "integer of at least 0"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Pointer:
		return kindWord(t.Elem())
	}
	return t.String()
}

// jsonFault describes an error of encoding/json about a value meant for a t.
func jsonFault(err error, t reflect.Type) fault {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fault{code: codeJSON, message: "not valid JSON"}
	case !errors.As(err, &wrong):
		return wrongFormat(err)[0]
	}
	received, number, isNumber := strings.Cut(wrong.Value, " ")
	if isNumber && !strings.ContainsAny(number, ".eE") {
		return outOfRange(wrong.Type)[0]
	}
	if wrong.Type != nil {
		t = wrong.Type
	}
	return fault{code: codeType, message: "expected " + kindWord(t) + ", received " + received}
}

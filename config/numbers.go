package config

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
)

// integer decodes a whole number for the integer type of dst; a fraction is never cut off and nothing wraps round.
func (d *decoder) integer(dst reflect.Value, raw any, path []string) {
	n := wholeNumber(raw)
	switch {
	case n == nil:
		d.fail(path, "must be a whole number, is %s", show(raw, path))
	case dst.CanInt() && n.IsInt64() && !dst.OverflowInt(n.Int64()):
		dst.SetInt(n.Int64())
	case dst.CanUint() && n.IsUint64() && !dst.OverflowUint(n.Uint64()):
		dst.SetUint(n.Uint64())
	default:
		d.fail(path, "must be a whole number %s, is %s", bounds(dst), show(raw, path))
	}
}

// wholeNumber gives nil for anything that is none.
func wholeNumber(raw any) *big.Int {
	switch v := reflect.ValueOf(raw); {
	case raw == nil:
	case v.CanInt():
		return big.NewInt(v.Int())
	case v.CanUint():
		return new(big.Int).SetUint64(v.Uint())
	case v.CanFloat() && v.Float() == math.Trunc(v.Float()) && !math.IsInf(v.Float(), 0):
		n, _ := big.NewFloat(v.Float()).Int(nil)
		return n
	}
	return nil
}

// bounds words what an integer type holds.
func bounds(dst reflect.Value) string {
	bits := dst.Type().Bits()
	if dst.CanUint() {
		return fmt.Sprintf("from 0 to %d", uint64(math.MaxUint64)>>(64-bits))
	}
	return fmt.Sprintf("from %d to %d", int64(math.MinInt64)>>(64-bits), int64(math.MaxInt64)>>(64-bits))
}

func (d *decoder) float(dst reflect.Value, raw any, path []string) {
	value := reflect.ValueOf(raw)
	var f float64
	switch {
	case raw != nil && value.CanInt():
		f = float64(value.Int())
	case raw != nil && value.CanUint():
		f = float64(value.Uint())
	case raw != nil && value.CanFloat():
		f = value.Float()
	default:
		d.fail(path, "must be a number, is %s", show(raw, path))
		return
	}
	if dst.OverflowFloat(f) {
		d.fail(path, "is too large: %s", show(raw, path))
		return
	}
	dst.SetFloat(f)
}

// kindOf words what kind of value was given, without the value.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "text"
	case bool:
		return "true or false"
	}
	return "a number"
}

// show words a value for a message: itself if it is short and no secret by its name, else its kind. Passwords in URLs
// are masked.
func show(value any, path []string) string {
	if sensitivePath(path) {
		return kindOf(value)
	}
	switch v := value.(type) {
	case string:
		const most = 60
		if text := strconv.Quote(maskURL(v)); len(text) <= most {
			return text
		}
		return "a text of " + strconv.Itoa(len(v)) + " bytes"
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case nil, map[string]any, []any:
		return kindOf(value)
	}
	return fmt.Sprint(value)
}

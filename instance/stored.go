package instance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decodeStored reads a JSON object; nothing and null are an empty one. It is as
// strict as a file is read: no key twice, of which encoding/json would take the
// last, and no text that is none.
func decodeStored(stored []byte) (map[string]any, error) {
	object := map[string]any{}
	if len(bytes.TrimSpace(stored)) == 0 {
		return object, nil
	}
	if !utf8.Valid(stored) {
		return nil, errors.New("malformed JSON: it is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(stored))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, fmt.Errorf("malformed JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("malformed JSON: something follows the object")
	}
	if twice := keyTwice(json.NewDecoder(bytes.NewReader(stored))); twice != nil {
		return nil, fmt.Errorf("%s: is given twice", strings.Join(twice, "."))
	}
	switch v := plain(value).(type) {
	case nil:
		return object, nil
	case map[string]any:
		return v, nil
	}
	return nil, errors.New("must be a JSON object")
}

// plain gives numbers the types that YAML gives them, so that a stored value is
// judged like one of a file.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String() // beyond any number: refused as text where a number is wanted
	}
	return value
}

// keyTwice walks a value of valid JSON and gives the path of the first key that its
// object has twice; nil if there is none.
func keyTwice(dec *json.Decoder) []string {
	token, err := dec.Token()
	if err != nil {
		return nil // it is valid, so this is its end
	}
	switch token {
	case json.Delim('{'):
		seen := map[string]bool{}
		for dec.More() {
			token, _ := dec.Token()
			key, _ := token.(string)
			if seen[key] {
				return []string{key}
			}
			seen[key] = true
			if below := keyTwice(dec); below != nil {
				return append([]string{key}, below...)
			}
		}
	case json.Delim('['):
		for i := 0; dec.More(); i++ {
			if below := keyTwice(dec); below != nil {
				return append([]string{strconv.Itoa(i)}, below...)
			}
		}
	default:
		return nil
	}
	_, _ = dec.Token() // the closing bracket
	return nil
}

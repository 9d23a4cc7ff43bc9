package passport

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Bounds of the JSON in a token, far above what tokens need. They keep the cost of a hostile header small: a header is
// read before its signature is known.
const (
	maxKeys  = 64 // of one object
	maxDepth = 8
)

// parseObject reads one JSON object, strictly: keys stay in their own case, an object with a key twice is refused
// (also in another case, since encoding/json and others take CLIENT for client, and readers must not disagree on what
// was signed), and so is anything after it. Numbers stay json.Number, with their own text. The reason is "" for success.
func parseObject(data []byte) (map[string]any, Reason) {
	if !utf8.Valid(data) || !json.Valid(data) {
		return nil, ReasonMalformed
	}
	r := objectReader{dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	value := r.value(0)
	object, ok := value.(map[string]any)
	if r.reason == "" && !ok {
		r.reason = ReasonMalformed
	}
	return object, r.reason
}

// objectReader walks tokens of valid JSON; the first reason to refuse it ends the walk.
type objectReader struct {
	dec    *json.Decoder
	reason Reason
}

func (r *objectReader) value(depth int) any {
	token, err := r.dec.Token()
	if err != nil {
		r.reason = ReasonMalformed
		return nil
	}
	delim, nested := token.(json.Delim)
	switch {
	case !nested:
		return token
	case depth == maxDepth:
		r.reason = ReasonMalformed
		return nil
	case delim == '{':
		return r.object(depth + 1)
	default:
		return r.list(depth + 1)
	}
}

func (r *objectReader) object(depth int) map[string]any {
	object := map[string]any{}
	keys := make([]string, 0, 8) // faster to walk than the map
	for r.dec.More() {
		token, err := r.dec.Token()
		key, ok := token.(string)
		if err != nil || !ok || len(keys) == maxKeys {
			r.reason = ReasonMalformed
			return nil
		}
		for _, other := range keys {
			if strings.EqualFold(key, other) {
				r.reason = ReasonDuplicate
				return nil
			}
		}
		keys = append(keys, key)
		value := r.value(depth)
		if r.reason != "" {
			return nil
		}
		object[key] = value
	}
	r.end()
	return object
}

func (r *objectReader) list(depth int) []any {
	list := []any{}
	for r.dec.More() {
		list = append(list, r.value(depth))
		if r.reason != "" {
			return nil
		}
	}
	r.end()
	return list
}

// end passes over a closing bracket.
func (r *objectReader) end() {
	if _, err := r.dec.Token(); err != nil {
		r.reason = ReasonMalformed
	}
}

package executor

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Pair is one field of a query, in the order given.
type Pair struct {
	Name  string
	Value any
}

// SerializePath makes a URL of a path template, its parameters and a query
// (contract F1). ":name", up to the next slash, and "{name}" become the value
// escaped as JavaScript's encodeURIComponent does, an absent one nothing; a "?"
// behind the name only says that it is optional. The query has scalars first,
// then objects and lists as JSON, each in the order given, nulls left out. A
// value that JSON cannot hold is an error.
func SerializePath(template string, params map[string]any, query []Pair) (string, error) {
	base, tail, hasTail := strings.Cut(template, "?")
	path, err := fillTemplate(base, params)
	if err != nil {
		return "", err
	}
	if path == "" {
		path = "/"
	}
	text, err := serializeQuery(query)
	if err != nil {
		return "", err
	}
	switch {
	case hasTail && tail != "" && text != "":
		return path + "?" + tail + "&" + text, nil
	case tail != "" || text != "":
		return path + "?" + tail + text, nil
	}
	return path, nil
}

// fillTemplate puts the values of parameters in their places.
func fillTemplate(template string, params map[string]any) (string, error) {
	var out strings.Builder
	for template != "" {
		i := strings.IndexAny(template, ":{")
		if i < 0 {
			break
		}
		out.WriteString(template[:i])
		name, rest := cutName(template[i:])
		if name == "" { // a mark that begins no name stands for itself
			out.WriteByte(template[i])
			template = template[i+1:]
			continue
		}
		text, _, err := valueText(params[name])
		if err != nil {
			return "", fmt.Errorf("parameter %q: %w", name, err)
		}
		out.WriteString(encodeURIComponent(text))
		template = rest
	}
	out.WriteString(template)
	return out.String(), nil
}

// cutName takes ":name" or "{name}" off the front of a template.
func cutName(template string) (name, rest string) {
	if template[0] == '{' {
		name, rest, found := strings.Cut(template[1:], "}")
		if !found || strings.Contains(name, "/") {
			return "", template
		}
		return name, rest
	}
	end := strings.IndexByte(template, '/')
	if end < 0 {
		end = len(template)
	}
	return template[1:end], template[end:]
}

// serializeQuery is contract F1's order of a query.
func serializeQuery(query []Pair) (string, error) {
	var scalars, objects []string
	for _, p := range query {
		text, kind, err := valueText(p.Value)
		if err != nil {
			return "", fmt.Errorf("query %q: %w", p.Name, err)
		}
		field := encodeURIComponent(p.Name) + "=" + encodeURIComponent(text)
		switch kind {
		case scalarValue:
			scalars = append(scalars, field)
		case objectValue:
			objects = append(objects, field)
		case noValue:
		}
	}
	return strings.Join(append(scalars, objects...), "&"), nil
}

// valueKind tells how a value stands in a URL.
type valueKind int

const (
	noValue valueKind = iota
	scalarValue
	objectValue
)

// valueText is a value as it stands in a URL before it is escaped: a text as it
// is, anything else as JSON.
func valueText(value any) (string, valueKind, error) {
	switch v := value.(type) {
	case nil:
		return "", noValue, nil
	case string:
		return v, scalarValue, nil
	}
	b := getBuffer()
	defer putBuffer(b)
	if err := b.encoder.Encode(value); err != nil {
		return "", noValue, fmt.Errorf("encode a %T as JSON: %w", value, err)
	}
	b.Truncate(b.Len() - 1)
	switch raw := b.Bytes(); {
	case isNull(raw):
		return "", noValue, nil
	case raw[0] == '"':
		var text string
		err := json.Unmarshal(raw, &text)
		return text, scalarValue, err
	case raw[0] == '{' || raw[0] == '[':
		return string(raw), objectValue, nil
	default:
		return string(raw), scalarValue, nil
	}
}

// encodeURIComponent escapes as JavaScript's function of that name does.
func encodeURIComponent(text string) string {
	const unescaped = "-_.!~*'()"
	const hex = "0123456789ABCDEF"
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	var out strings.Builder
	for i := range len(text) {
		b := text[i]
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
		if letter || strings.IndexByte(unescaped, b) >= 0 {
			out.WriteByte(b)
			continue
		}
		out.WriteByte('%')
		out.WriteByte(hex[b>>4])
		out.WriteByte(hex[b&15])
	}
	return out.String()
}

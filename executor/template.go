package executor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// segmentKind tells the four kinds of a template's segments apart (contract D5).
type segmentKind int

const (
	literalSegment segmentKind = iota
	paramSegment
	optionalSegment
	restSegment
)

// restName is the parameter name of a "*" segment.
const restName = "*"

// segment is one part of a route template between two slashes. text is the
// literal, or the parameter's name.
type segment struct {
	kind segmentKind
	text string
}

// parseTemplate splits a route template. Literals are decoded text; what a
// request sends is decoded before it is compared.
func parseTemplate(path string) ([]segment, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("path %q: must begin with a slash", path)
	}
	parts := strings.Split(path[1:], "/")
	segments := make([]segment, len(parts))
	var names []string
	for i, part := range parts {
		s, err := parseSegment(part, i == len(parts)-1)
		if err != nil {
			return nil, fmt.Errorf("path %q: segment %q: %w", path, part, err)
		}
		if s.kind != literalSegment {
			if slices.Contains(names, s.text) {
				return nil, fmt.Errorf("path %q: the name %q stands twice", path, s.text)
			}
			names = append(names, s.text)
		}
		segments[i] = s
	}
	return segments, nil
}

func parseSegment(text string, last bool) (segment, error) {
	name, isParam := strings.CutPrefix(text, ":")
	if isParam {
		name, optional := strings.CutSuffix(name, "?")
		switch {
		case !isParamName(name):
			return segment{}, errors.New("a parameter's name is made of letters, digits and '_', and a segment holds nothing beside it")
		case optional && !last:
			return segment{}, errors.New("an optional parameter must be the last segment")
		case optional:
			return segment{optionalSegment, name}, nil
		}
		return segment{paramSegment, name}, nil
	}
	if text == restName {
		if !last {
			return segment{}, errors.New("'*' must be the last segment")
		}
		return segment{restSegment, restName}, nil
	}
	if i := strings.IndexAny(text, ":*?#%{}"); i >= 0 {
		return segment{}, fmt.Errorf("%q cannot stand in a literal: write ':name', ':name?' or '*' as a segment of its own, and other text unescaped", text[i])
	}
	return segment{literalSegment, text}, nil
}

func isParamName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// paramNames are the names of a template's parameters in the order of the path;
// a template that does not parse has none.
func paramNames(path string) []string {
	segments, err := parseTemplate(path)
	if err != nil {
		return nil
	}
	var names []string
	for _, s := range segments {
		if s.kind != literalSegment {
			names = append(names, s.text)
		}
	}
	return names
}

package onion

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parsePolicy reads the value of a policy tag into a patch (contract D9): items
// separated by commas, "name" meaning true or "name=value", lists by '|', values
// with either mark in single quotes, a quote inside doubled. A bare name means
// the one outer or nested option so called; one with a dot, which may lead, is
// its path: "rateLimit.limit", ".enable".
func parsePolicy(s *spec, text string) (map[string]any, error) {
	patch := map[string]any{}
	if strings.TrimSpace(text) == "" {
		return patch, nil
	}
	items, err := splitQuoted(text, ',')
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		name, value, hasValue := strings.Cut(item, "=")
		name = strings.TrimSpace(name)
		if name == "" {
			return nil, fmt.Errorf("an item without a name in %q", text)
		}
		path, n, err := findOption(s, name)
		if err != nil {
			return nil, err
		}
		if !hasValue && !n.isSwitch() {
			return nil, fmt.Errorf("%s: a name alone means true: want %s, so %s=value", name, kindWords[n.throughPointer().kind], name)
		}
		if !hasValue {
			value = "true"
		}
		parsed, err := n.parse(strings.TrimSpace(value))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := setAt(patch, path, parsed); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return patch, nil
}

// setAt stores a value at a path; a second one there is an error.
func setAt(patch map[string]any, path []string, value any) error {
	for _, key := range path[:len(path)-1] {
		child, ok := patch[key].(map[string]any)
		if !ok {
			child = map[string]any{}
			patch[key] = child
		}
		patch = child
	}
	last := path[len(path)-1]
	if _, ok := patch[last]; ok {
		return fmt.Errorf("is given twice")
	}
	patch[last] = value
	return nil
}

// outerNode is the schema of the outer options as tags see them.
var outerNode = &node{kind: kindStruct, fields: []field{
	{name: optEnable, node: &node{kind: kindToggle}},
	{name: optMeta, node: &node{kind: kindStruct, fields: []field{
		{name: metaKeyMode, node: textListNode}, {name: metaKeyFlavor, node: textListNode},
		{name: metaKeyInstanceName, node: textListNode}, {name: metaKeyHost, node: textListNode},
	}}},
	{name: optMatch, node: textListNode},
	{name: optIgnore, node: textListNode},
}}

var textListNode = &node{kind: kindList, elem: &node{kind: kindString}}

// findOption finds the option that a tag's name means: a path from the top, or
// the only option of that name at any depth of the onion's own options.
func findOption(s *spec, name string) ([]string, *node, error) {
	// A leading dot says that the name is a path already.
	path := strings.Split(strings.TrimPrefix(name, "."), ".")
	var found [][]string
	if len(path) == 1 && path[0] == name {
		if lookup(outerNode, path) != nil {
			found = append(found, path)
		}
		findNamed(s.schema.root, name, nil, &found)
	} else if lookup(outerNode, path) != nil || lookup(s.schema.root, path) != nil {
		found = append(found, path)
	}
	switch len(found) {
	case 0:
		known := append([]string{optEnable, optMatch, optIgnore, "meta.mode", "meta.flavor", "meta.instanceName", "meta.host"}, leaves(s.schema.root, "")...)
		return nil, nil, fmt.Errorf("unknown option %q%s", name, hint(name, known))
	case 1:
		if n := lookup(outerNode, found[0]); n != nil {
			return found[0], n, nil
		}
		return found[0], lookup(s.schema.root, found[0]), nil
	}
	all := make([]string, len(found))
	for i, p := range found {
		all[i] = strings.Join(p, ".")
		if len(p) == 1 {
			all[i] = "." + all[i]
		}
	}
	return nil, nil, fmt.Errorf("%q is ambiguous: say one of %s", name, strings.Join(all, ", "))
}

func lookup(n *node, path []string) *node {
	for _, key := range path {
		f, ok := n.throughPointer().field(key)
		if !ok {
			return nil
		}
		n = f.node
	}
	return n
}

func (n *node) throughPointer() *node {
	if n.kind == kindPointer {
		return n.elem
	}
	return n
}

// isSwitch tells an option that is true or false.
func (n *node) isSwitch() bool {
	kind := n.throughPointer().kind
	return kind == kindToggle || kind == kindBool
}

func findNamed(n *node, name string, at []string, found *[][]string) {
	for _, f := range n.throughPointer().fields {
		path := append(slices.Clone(at), f.name)
		if f.name == name {
			*found = append(*found, path)
		}
		findNamed(f.node, name, path, found)
	}
}

func leaves(n *node, prefix string) []string {
	var names []string
	for _, f := range n.throughPointer().fields {
		if child := f.node.throughPointer(); child.kind == kindStruct {
			names = append(names, leaves(child, prefix+f.name+".")...)
		} else {
			names = append(names, prefix+f.name)
		}
	}
	return names
}

// parse reads a tag's value as an option of this shape.
func (n *node) parse(text string) (any, error) {
	switch n.kind {
	case kindPointer:
		return n.elem.parse(text)
	case kindToggle, kindBool:
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("want true or false, got %q", text)
		}
		return text == "true", nil
	case kindInt:
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i, nil
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("want a whole number, got %q", text)
		}
		return toInt(f) // 5.0 is one, as it is in YAML (contract A3)
	case kindFloat:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("want a number, got %q", text)
		}
		return f, nil
	case kindString, kindAny:
		return unquote(text)
	case kindList:
		parts, err := splitQuoted(text, '|')
		if err != nil {
			return nil, err
		}
		list := make([]any, len(parts))
		for i, part := range parts {
			if list[i], err = n.elem.parse(strings.TrimSpace(part)); err != nil {
				return nil, err
			}
		}
		return list, nil
	default:
		return nil, fmt.Errorf("%s cannot be written in a tag: name an option inside it", kindWords[n.kind])
	}
}

// splitQuoted splits at sep outside single quotes; the quotes stay.
func splitQuoted(text string, sep byte) ([]string, error) {
	var parts []string
	start, quoted := 0, false
	for i := range len(text) {
		switch {
		case text[i] == '\'':
			quoted = !quoted
		case text[i] == sep && !quoted:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	if quoted {
		return nil, fmt.Errorf("a quote is not closed in %q", text)
	}
	return append(parts, text[start:]), nil
}

func unquote(text string) (string, error) {
	if !strings.Contains(text, "'") {
		return text, nil
	}
	if len(text) < 2 || text[0] != '\'' || text[len(text)-1] != '\'' {
		return "", fmt.Errorf("want the whole value in single quotes, got %q", text)
	}
	body := text[1 : len(text)-1]
	plain := strings.ReplaceAll(body, "''", "")
	if strings.Contains(plain, "'") {
		return "", fmt.Errorf("a quote inside a value is written twice, got %q", text)
	}
	return strings.ReplaceAll(body, "''", "'"), nil
}

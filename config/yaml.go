package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds what one file may expand to, so that aliases of aliases cannot fill the memory.
const maxNodes = 300_000

// parseYAML turns the bytes of a file into a layer: plain values (map[string]any, []any, string, bool, int, int64,
// uint64, float64, nil) and the position of each. Stricter than YAML: one document whose top is an object, text keys, no
// key twice, no foreign tags, no infinite or ambiguous numbers. Dates stay text. An empty file is an empty object.
func parseYAML(at Position, data []byte) (layer, Errors) {
	out := layer{whole: at, root: map[string]any{}, at: map[string]Position{}}
	b := &yamlBuilder{layer: out, open: map[*yaml.Node]bool{}}
	if bad := badByte(data); bad >= 0 {
		b.fail(1+bytes.Count(data[:bad], []byte("\n")), 0, nil, "must be UTF-8 text without control characters")
		return out, b.errs
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		out.parsed = true
		return out, nil
	} else if err != nil {
		b.syntax(err, data)
		return out, b.errs
	}
	out.parsed = true
	switch err := dec.Decode(&next); {
	case errors.Is(err, io.EOF):
	case err != nil:
		b.syntax(err, data)
		out.parsed = false
	default:
		b.fail(next.Line, 0, nil, "must hold one YAML document, a second one begins here")
	}
	top := deref(doc.Content[0])
	if top.Kind == yaml.ScalarNode && top.ShortTag() == "!!null" && top.Value == "" {
		return out, b.errs.sorted() // only comments, or only "---"
	}
	value := b.value(top, nil)
	root, ok := value.(map[string]any)
	out.parsed = out.parsed && ok
	if !ok && len(b.errs) == 0 {
		b.fail(top.Line, 0, nil, "must be an object at the top, is %s", kindOf(value))
	}
	if ok {
		out.root = root
	}
	return out, b.errs.sorted()
}

type yamlBuilder struct {
	layer
	errs  Errors
	open  map[*yaml.Node]bool // the nodes being built, to see an anchor that contains itself
	nodes int
	full  bool // nodes has passed its bound, and it was said
}

func (b *yamlBuilder) fail(line, column int, path []string, format string, args ...any) {
	pos := b.whole
	pos.Line, pos.Column = line, column
	b.errs = append(b.errs, &Error{At: pos, Path: slices.Clone(path), Message: fmt.Sprintf(format, args...)})
}

// value builds what a node stands for and notes the positions of everything beneath it.
func (b *yamlBuilder) value(n *yaml.Node, path []string) any {
	n = deref(n)
	if !b.enter(n, path) {
		return nil
	}
	defer delete(b.open, n)
	switch {
	case n.Kind == yaml.MappingNode && n.ShortTag() == "!!map":
		out := map[string]any{}
		for _, p := range b.pairs(n, path) {
			at := child(path, p.name)
			b.note(p.key, at)
			out[p.name] = b.value(p.value, at)
		}
		return out
	case n.Kind == yaml.SequenceNode && n.ShortTag() == "!!seq":
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			at := child(path, stepOf(i))
			b.note(item, at)
			out[i] = b.value(item, at)
		}
		return out
	case n.Kind == yaml.ScalarNode:
		return b.scalar(n, path)
	}
	return b.foreignTag(n, path)
}

// enter counts a node and marks it as being built; false if there are too many or it is being built already.
func (b *yamlBuilder) enter(n *yaml.Node, path []string) bool {
	if b.nodes += 1 + len(n.Content)/2; b.nodes > maxNodes { // the content counts too: merging costs where it adds nothing
		if !b.full {
			b.fail(n.Line, n.Column, path, "expands to more than %d values", maxNodes)
		}
		b.full = true
		return false
	}
	if b.open[n] {
		b.fail(n.Line, n.Column, path, "the anchor %q contains itself", n.Anchor)
		return false
	}
	b.open[n] = true
	return true
}

// foreignTag does not name the tag: it may be a password that begins with "!".
func (b *yamlBuilder) foreignTag(n *yaml.Node, path []string) any {
	b.fail(n.Line, n.Column, path, "this YAML tag is not supported; put text that begins with ! in quotes")
	return nil
}

func (b *yamlBuilder) note(n *yaml.Node, path []string) {
	pos := b.whole
	pos.Line, pos.Column = n.Line, n.Column
	b.at[join(path)] = pos
}

type yamlPair struct {
	name       string
	key, value *yaml.Node
}

// pairs lists the entries of an object: its own in the order written, then those merged in by "<<" that it has not.
func (b *yamlBuilder) pairs(n *yaml.Node, path []string) []yamlPair {
	var out, merged []yamlPair
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := deref(n.Content[i]), n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merged = append(merged, b.merged(value, path)...)
			continue
		}
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			b.fail(key.Line, key.Column, path, "a key must be text, put %s in quotes", keyText(key))
			continue
		}
		if strings.ContainsFunc(key.Value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			b.fail(key.Line, key.Column, path, "the key %q has control characters", key.Value)
			continue
		}
		if line, ok := first[key.Value]; ok {
			b.fail(key.Line, key.Column, child(path, key.Value),
				"the key is given twice, first on line %d", line)
			continue
		}
		first[key.Value] = key.Line
		out = append(out, yamlPair{key.Value, key, value})
	}
	for _, p := range merged {
		if _, ok := first[p.name]; !ok {
			first[p.name] = p.key.Line
			out = append(out, p)
		}
	}
	return out
}

// merged lists the entries that the value of "<<" gives: an object, or a list of objects of which the first wins.
func (b *yamlBuilder) merged(n *yaml.Node, path []string) []yamlPair {
	n = deref(n)
	if !b.enter(n, path) {
		return nil
	}
	defer delete(b.open, n)
	switch n.Kind {
	case yaml.MappingNode:
		return b.pairs(n, path)
	case yaml.SequenceNode:
		var out []yamlPair
		for _, item := range n.Content {
			if deref(item).Kind != yaml.MappingNode {
				b.fail(item.Line, item.Column, path, "<< merges objects only")
				continue
			}
			out = append(out, b.merged(item, path)...)
		}
		return out
	default:
		b.fail(n.Line, n.Column, path, "<< merges objects only")
		return nil
	}
}

var (
	leadingZero = regexp.MustCompile(`^[-+]?0[0-9_]+$`)
	digitsOnly  = regexp.MustCompile(`^[-+]?[0-9_]+$`)
)

func (b *yamlBuilder) scalar(n *yaml.Node, path []string) any {
	tag := n.ShortTag()
	switch tag {
	case "!!str", "!!timestamp", "!!merge":
		return n.Value
	case "!!null":
		return nil
	case "!!bool", "!!int", "!!float":
	default:
		return b.foreignTag(n, path)
	}
	if leadingZero.MatchString(n.Value) { // octal in YAML 1.1, decimal in 1.2
		b.fail(n.Line, n.Column, path, "a number must not begin with 0; put it in quotes if it is text")
		return nil
	}
	var v any
	if err := n.Decode(&v); err != nil {
		b.fail(n.Line, n.Column, path, "is no valid %s", strings.TrimPrefix(tag, "!!"))
		return nil
	}
	if f, ok := v.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f) || digitsOnly.MatchString(n.Value) && tag == "!!float" && math.Abs(f) >= math.MaxInt64) {
		b.fail(n.Line, n.Column, path, "the number is too large")
		return nil
	}
	return v
}

// deref follows an alias to what it stands for.
func deref(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func keyText(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && n.Value != "" {
		return n.Value
	}
	return "it"
}

// badByte finds the first byte that is not text, -1 if there is none. The parser would refuse it without a line.
func badByte(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 || r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f {
			return i
		}
		i += size
	}
	return -1
}

var (
	yamlLine   = regexp.MustCompile(`^line (\d+): `)
	yamlAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)
	// The faults that the library counts lines of from 0 (they are the grammar's, not the scanner's).
	yamlFromZero = regexp.MustCompile(`^(did not find expected (<|node content|key|'-' indicator|',' or)|found (undefined tag|duplicate %|incompatible))`)
)

// syntax reports what the YAML library says, with the line it means: it counts some from 0 and leaves out the first.
func (b *yamlBuilder) syntax(err error, data []byte) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
		if yamlFromZero.MatchString(text) {
			line++
		}
	} else if m := yamlAnchor.FindStringSubmatch(text); m != nil {
		if i := bytes.Index(data, []byte("*"+m[1])); i >= 0 {
			line += bytes.Count(data[:i], []byte("\n"))
		}
		text = "no such anchor; put text that begins with * in quotes" // its name may be a password
	}
	lines := 1 + bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n")) // the end of the file counts as the line after it
	b.fail(min(line, lines), 0, nil, "malformed YAML: %s", text)
}

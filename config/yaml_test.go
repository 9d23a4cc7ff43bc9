package config

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func parse(text string) (layer, Errors) {
	return parseYAML(Position{Layer: LayerBase, File: "f.yaml"}, []byte(text))
}

func TestYAMLValues(t *testing.T) {
	most := any(int64(math.MaxInt64))
	if strconv.IntSize == 64 {
		most = math.MaxInt
	}
	cases := []struct {
		name, text string
		want       map[string]any
	}{
		{"empty", "", map[string]any{}},
		{"comments", "# nothing\n", map[string]any{}},
		{"only a marker", "---\n", map[string]any{}},
		{"scalars", "i: 5\nh: 0x1f\nu: 1_000\nf: 1.5\nw: 60000.0\nb: true\nn: null\ne:\ns: yes\nd: 2026-01-02\nz: 0\nq: '017'",
			map[string]any{"i": 5, "h": 31, "u": 1000, "f": 1.5, "w": 60000.0, "b": true, "n": nil, "e": nil, "s": "yes", "d": "2026-01-02", "z": 0, "q": "017"}},
		{"large", "a: 9223372036854775807\nb: 9223372036854775808", map[string]any{"a": most, "b": uint64(9223372036854775808)}},
		{"keys", "a.b: 1\n'x:y': 2\n'': 3\non: 4\n'5': 5", map[string]any{"a.b": 1, "x:y": 2, "": 3, "on": 4, "5": 5}},
		{"alias", "a: &x {k: 1}\nb: *x\nc: [*x]", map[string]any{"a": map[string]any{"k": 1}, "b": map[string]any{"k": 1}, "c": []any{map[string]any{"k": 1}}}},
		{"merge", "d: &d {x: 1, y: {p: 1}}\na:\n  y: 2\n  <<: *d\nb:\n  <<: [{x: 5}, *d]\n",
			map[string]any{"d": map[string]any{"x": 1, "y": map[string]any{"p": 1}}, "a": map[string]any{"x": 1, "y": 2}, "b": map[string]any{"x": 5, "y": map[string]any{"p": 1}}}},
		{"byte order mark", "\ufeffa: 1", map[string]any{"a": 1}},
		{"end marker", "a: 1\n...\n", map[string]any{"a": 1}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			l, errs := parse(tc.text)
			wantLines(t, errs.orNil())
			if !reflect.DeepEqual(l.root, tc.want) {
				t.Errorf("got  %#v\nwant %#v", l.root, tc.want)
			}
		})
	}
}

func TestYAMLFaults(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	mergeBomb := "a0: &a0 {x: 1}\n"
	for i := 1; i < 9; i++ {
		mergeBomb += fmt.Sprintf("a%d: &a%d {<<: [%s]}\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	cases := []struct {
		name, text string
		want       []string
	}{
		{"flow list not closed", "a: 1\nb: [1, 2\nc: 3", []string{"f.yaml:2: malformed YAML: did not find expected ',' or ']'"}},
		{"flow list not closed in the first line", "b: [1, 2\nc: 3", []string{"f.yaml:2: malformed YAML: did not find expected ',' or ']'"}},
		{"indentation", "a:\n  - x\n b: 3", []string{"f.yaml:3: malformed YAML: did not find expected key"}},
		{"tab", "a:\n\tb: 2", []string{"f.yaml:2: malformed YAML: found character that cannot start any token"}},
		{"two colons in the first line", "a: b: c", []string{"f.yaml:1: malformed YAML: mapping values are not allowed in this context"}},
		{"two colons", "x: 1\na: b: c", []string{"f.yaml:2: malformed YAML: mapping values are not allowed in this context"}},
		{"quote not closed", "x: 1\ny: 1\na: 'b\nc: d\n", []string{"f.yaml:3: malformed YAML: found unexpected end of stream"}},
		{"unknown anchor", "x: 1\na: *hunter2\n", []string{"f.yaml:2: malformed YAML: no such anchor; put text that begins with * in quotes"}},
		{"foreign tag", "x: 1\na: !hunter2\nb: !!binary aGk=\nc: !x {}", []string{
			"f.yaml:2: a: this YAML tag is not supported; put text that begins with ! in quotes",
			"f.yaml:3: b: this YAML tag is not supported; put text that begins with ! in quotes",
			"f.yaml:4: c: this YAML tag is not supported; put text that begins with ! in quotes"}},
		{"key twice", "a:\n  b: 1\n  c: 1\n  b: 2", []string{"f.yaml:4: a.b: the key is given twice, first on line 2"}},
		{"key twice in an anchor", "a: &x {b: 1, b: 2}\nc: *x", []string{
			"f.yaml:1: a.b: the key is given twice, first on line 1", "f.yaml:1: c.b: the key is given twice, first on line 1"}},
		{"keys that are no text", "1: a\ntrue: b\n~: c\n1.5: d\n[x]: e", []string{
			"f.yaml:1: a key must be text, put 1 in quotes", "f.yaml:2: a key must be text, put true in quotes",
			"f.yaml:3: a key must be text, put ~ in quotes", "f.yaml:4: a key must be text, put 1.5 in quotes",
			"f.yaml:5: a key must be text, put it in quotes"}},
		{"control character in a key", `"a\x1fb": 1`, []string{`f.yaml:1: the key "a\x1fb" has control characters`}},
		{"control character", "a: 1\nb: \x01", []string{"f.yaml:2: must be UTF-8 text without control characters"}},
		{"no UTF-8", "a: 1\nb: \xff", []string{"f.yaml:2: must be UTF-8 text without control characters"}},
		{"two documents", "a: 1\n---\nb: 2", []string{"f.yaml:2: must hold one YAML document, a second one begins here"}},
		{"list at the top", "# c\n- 1", []string{"f.yaml:2: must be an object at the top, is a list"}},
		{"text at the top", "hunter2", []string{"f.yaml:1: must be an object at the top, is text"}},
		{"null at the top", "null", []string{"f.yaml:1: must be an object at the top, is null"}},
		{"number at the top", "5", []string{"f.yaml:1: must be an object at the top, is a number"}},
		{"infinite", "a: .inf\nb: .nan\nc: 99999999999999999999", []string{
			"f.yaml:1: a: the number is too large", "f.yaml:2: b: the number is too large", "f.yaml:3: c: the number is too large"}},
		{"octal or not", "a: 017", []string{"f.yaml:1: a: a number must not begin with 0; put it in quotes if it is text"}},
		{"number that is none", "a: !!int x", []string{"f.yaml:1: a: is no valid int"}},
		{"merge of a text", "a: {<<: x}\nb: {<<: [1]}", []string{"f.yaml:1: a: << merges objects only", "f.yaml:2: b: << merges objects only"}},
		{"anchor in itself", "a: &x\n  b: *x", []string{`f.yaml:1: a.b: the anchor "x" contains itself`}},
		{"anchor merged into itself", "a: &x\n  <<: *x", []string{`f.yaml:1: a: the anchor "x" contains itself`}},
		{"aliases without end", bomb, []string{"f.yaml:1: a5[0][6][8][8][8]: expands to more than 300000 values"}},
		{"merges without end", mergeBomb, []string{"f.yaml:1: a5: expands to more than 300000 values"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			_, errs := parse(tc.text)
			wantLines(t, errs.orNil(), tc.want...)
		})
	}
}

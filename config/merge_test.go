package config

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"
)

// TestMergeVectors runs the recorded cases that need application and instance only; the grouping of controller and
// action (contract A4) is the onion's.
func TestMergeVectors(t *testing.T) {
	data, err := os.ReadFile("../testdata/vectors/merge.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Cases []map[string]any `json:"cases"`
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, tc := range vectors.Cases {
		if tc["controller"] != nil || tc["action"] != nil || tc["dynamic"] != nil {
			continue
		}
		ran++
		app, _ := tc["app"].(map[string]any)
		instance, _ := tc["instance"].(map[string]any)
		if got := FromMap("app", app).Overlay(FromMap("instance", instance)).Map(); !reflect.DeepEqual(got, tc["want"]) {
			t.Errorf("%s:\n got  %v\n want %v", tc["name"], got, tc["want"])
		}
	}
	if ran < 8 {
		t.Errorf("only %d cases were run", ran)
	}
}

// FuzzMerge reads two files and compares what the layers come to with the rule written down plainly, and every value with
// the layer that is said to have set it.
func FuzzMerge(f *testing.F) {
	for _, seed := range [][2]string{
		{"a: {b: 1, c: {d: 2}}", "a: {c: {e: 3}}"},
		{"a: {b: 1}", "a: null"},
		{"a: null", "a: {b: 1}"},
		{"a: [1, {x: null}]", "a: []"},
		{"a: 5\nb: {}", "a: {}\nb: {c: {}}"},
		{"x: &x {p: 1, q: [*y]}\n", "a: &a {k: {v: 1}}\nb:\n  <<: *a\n  k: {w: 2}\n"},
		{"acme.eu: {'a-b:c': 1}", "acme.eu: {'a-b:c': {'': 2}}"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, low, high string) {
		if len(low) > 4096 || len(high) > 4096 {
			return // longer texts say nothing more
		}
		a, errs := parseYAML(Position{Layer: LayerBase, File: "low"}, []byte(low))
		b, moreErrs := parseYAML(Position{Layer: LayerLocal, File: "high"}, []byte(high))
		if len(errs)+len(moreErrs) > 0 {
			if slices.Concat(errs, moreErrs).Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		before := deepCopy(a.root)
		tree := newTree([]layer{a, b})
		if want := plainMerge(a.root, b.root); !reflect.DeepEqual(tree.merged, want) {
			t.Errorf("merged %v, want %v", tree.merged, want)
		}
		if !reflect.DeepEqual(a.root, before) {
			t.Error("the lower layer was written to")
		}
		for _, path := range tree.Paths() {
			value, _ := tree.Get(path...)
			from := map[string]layer{"low": a, "high": b}[tree.Source(path...).File]
			said, at, ok := from.position(path)
			if !ok || !reflect.DeepEqual(said, value) || at.Line == 0 {
				t.Errorf("%s = %v is said to be from %v, which has %v", PathString(path...), value, tree.Source(path...), said)
			}
		}
	})
}

// plainMerge is the rule: objects key by key, everything else replaces.
func plainMerge(low, high any) any {
	a, aObject := low.(map[string]any)
	b, bObject := high.(map[string]any)
	if !aObject || !bObject {
		return high
	}
	out := map[string]any{}
	maps.Copy(out, a)
	for key, value := range b {
		if old, ok := out[key]; ok {
			value = plainMerge(old, value)
		}
		out[key] = value
	}
	return out
}

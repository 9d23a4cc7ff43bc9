package onion

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// loadVectors reads recorded inputs and outputs into v.
func loadVectors(t *testing.T, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func TestMergeVectors(t *testing.T) {
	var file struct {
		Cases []struct {
			Name                                       string
			App, Instance, Controller, Action, Dynamic map[string]any
			Want                                       map[string]any
		}
	}
	loadVectors(t, "merge.json", &file)
	if len(file.Cases) < 30 {
		t.Fatalf("read %d cases only", len(file.Cases))
	}
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			layers := []layer{
				{kind: LayerApp, patch: c.App}, {kind: LayerInstance, patch: c.Instance},
				{kind: LayerController, patch: c.Controller}, {kind: LayerAction, patch: c.Action},
				{kind: LayerDynamic, patch: c.Dynamic},
			}
			if got := merge(layers).options; !reflect.DeepEqual(got, c.Want) {
				t.Errorf("got  %v\nwant %v", got, c.Want)
			}
		})
	}
}

type orderCase struct {
	Name   string
	Onions []struct {
		Name                     string
		Dependencies, Dependents any
	}
	Want      []string
	WantError bool `json:"want_error"`
}

func (c orderCase) items(t *testing.T) []orderItem {
	t.Helper()
	items := make([]orderItem, len(c.Onions))
	for i, o := range c.Onions {
		dependencies, err := parseNames(o.Dependencies)
		if err != nil {
			t.Fatal(err)
		}
		dependents, err := parseNames(o.Dependents)
		if err != nil {
			t.Fatal(err)
		}
		items[i] = orderItem{o.Name, dependencies, dependents}
	}
	return items
}

func TestOrderVectors(t *testing.T) {
	var file struct{ Cases []orderCase }
	loadVectors(t, "order.json", &file)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			got, _, err := order(c.items(t))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Join(got, ",") != strings.Join(c.Want, ",") {
				t.Errorf("got %v, want %v", got, c.Want)
			}
		})
	}
}

func TestOrderCycleVectors(t *testing.T) {
	var file struct{ Cases []orderCase }
	loadVectors(t, "order_cycles.json", &file)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			_, _, err := order(c.items(t))
			if (err != nil) != c.WantError {
				t.Fatalf("error %v, want one: %v", err, c.WantError)
			}
			if err != nil && !strings.Contains(err.Error(), "a after ") {
				t.Errorf("the error does not name the cycle: %v", err)
			}
		})
	}
}

// The flags of contract D6, of which the vectors have i only.
func TestRegexpFlags(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"regexp:///^b/", "a\nb", false}, {"regexp:///^b/m", "a\nb", true},
		{"regexp:///a.b/", "a\nb", false}, {"regexp:///a.b/s", "a\nb", true},
		{"regexp:///A/", "a", false}, {"regexp:///A/i", "a", true}, {"regexp:///^A.B$/ims", "x\na\nb\ny", true},
		{"regexp:///a/g", "aa", true}, {"regexp:///a/u", "a", true}, {"regexp:///^A/gu", "a", false},
		{"regexp:///a/b/", "xa/bx", true}, // the source ends at the last slash
	} {
		p, bad := parsePatterns(optMatch, c.pattern)
		if bad != nil || p.hit(c.text) != c.want {
			t.Errorf("%s on %q: want %v; %v", c.pattern, c.text, c.want, bad)
		}
	}
	for _, pattern := range []string{"regexp:///a/x", "regexp:///a/I", "regexp:///a", "regexp://a/", "regexp:///(?<=a)b/"} {
		if _, bad := parsePatterns(optMatch, pattern); bad == nil {
			t.Errorf("%s is taken", pattern)
		}
	}
}

func TestMatchVectors(t *testing.T) {
	var file struct {
		Cases []struct {
			Name     string
			Options  map[string]any
			Selector *string
			Want     bool
		}
	}
	loadVectors(t, "match.json", &file)
	env := NewEnv("app", ModeDev, "normal", nil, nil)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			r := &resolved{merged: &merged{options: c.Options}}
			var err error
			if r.selection, err = parseSelection(c.Options); err != nil {
				t.Fatal(err)
			}
			var route *RouteInfo
			if c.Selector != nil {
				route = &RouteInfo{Raw: *c.Selector}
			}
			r.settle(env)
			active, _ := r.activeAt("", route)
			active = active && r.condition(false).holds(&Call{Host: "127.0.0.1:7102"})
			if active != c.Want {
				t.Errorf("got %v, want %v", active, c.Want)
			}
		})
	}
}

func TestMetaVectors(t *testing.T) {
	var file struct {
		Cases []struct {
			Meta any
			Data map[string]any
			Want bool
		}
	}
	loadVectors(t, "meta.json", &file)
	for _, c := range file.Cases {
		options := map[string]any{"meta": c.Meta}
		got := true
		for _, key := range metaNames {
			got = got && metaHolds(metaCondition(options, key), c.Data[key])
		}
		if got != c.Want {
			t.Errorf("meta %v against %v: got %v, want %v", c.Meta, c.Data, got, c.Want)
		}
	}
}

func TestPathVectors(t *testing.T) {
	var file struct {
		Cases []struct {
			Fn   string
			Args []any
			Want string
		}
	}
	loadVectors(t, "path.json", &file)
	text := func(v any) string { s, _ := v.(string); return s }
	for _, c := range file.Cases {
		var module, controller, action string
		var prefixArg, simplifyArg, global any
		switch c.Fn {
		case "combineApiPath":
			controller, module = text(c.Args[0]), text(c.Args[1])
			prefixArg, simplifyArg, global = c.Args[2], c.Args[3], c.Args[4]
		case "combineApiPathControllerAndAction":
			module, controller, action = text(c.Args[0]), text(c.Args[1]), text(c.Args[2])
			prefixArg, simplifyArg, global = c.Args[3], c.Args[4], c.Args[5]
		case "combineApiPathControllerAndActionRaw":
			module, controller, action = text(c.Args[0]), text(c.Args[1]), text(c.Args[2])
			simplifyArg = c.Args[3]
		default:
			t.Fatalf("unknown function %s", c.Fn)
		}
		prefix := text(global)
		switch p := prefixArg.(type) {
		case string:
			prefix = p
		case bool:
			if !p {
				prefix = ""
			}
		}
		got := rawPath(module, joinPath(controller, action), simplifyArg != false)
		if !strings.HasSuffix(c.Fn, "Raw") {
			got = fullPath(got, prefix)
		}
		if got != c.Want {
			t.Errorf("%s%v: got %q, want %q", c.Fn, c.Args, got, c.Want)
		}
	}
}

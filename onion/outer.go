package onion

import (
	"fmt"
	"maps"
	"slices"
)

// The outer options, those of every onion (contract A3).
const (
	optEnable       = "enable"
	optMeta         = "meta"
	optMatch        = "match"
	optIgnore       = "ignore"
	optDependencies = "dependencies"
	optDependents   = "dependents"

	metaKeyMode         = "mode"
	metaKeyFlavor       = "flavor"
	metaKeyInstanceName = "instanceName"
	metaKeyHost         = "host"
)

var outerNames = []string{optEnable, optMeta, optMatch, optIgnore, optDependencies, optDependents}

var modes = []Mode{ModeDev, ModeTest, ModeProd}

var metaNames = []string{metaKeyMode, metaKeyFlavor, metaKeyInstanceName, metaKeyHost}

func isOuter(name string) bool { return slices.Contains(outerNames, name) }

// inner is a patch without the outer options: what the onion's own schema sees.
func inner(patch map[string]any) map[string]any {
	own := maps.Clone(patch)
	for _, name := range outerNames {
		delete(own, name)
	}
	return own
}

// checkOuter checks the outer options of one layer. null means "not given" for
// each of them (contract A3). The order of onions is decided once, from defaults
// and application config, so a higher layer that speaks of it is refused.
func checkOuter(kind LayerKind, patch map[string]any) problems {
	var found problems
	add := func(text string, path ...string) { found = append(found, problem{path: path, text: text}) }
	if v, ok := patch[optEnable]; ok && v != nil {
		if _, ok := v.(bool); !ok {
			add("want true or false, got "+describe(v), optEnable)
		}
	}
	for _, name := range []string{optMatch, optIgnore} {
		_, bad := parsePatterns(name, patch[name])
		found = append(found, bad...)
	}
	for _, name := range []string{optDependencies, optDependents} {
		v := patch[name]
		if _, err := parseNames(v); err != nil {
			add(err.Error(), name)
		} else if v != nil && kind > LayerApp {
			add("the order of onions is decided by application config, once for all instances and routes", name)
		}
	}
	return append(found, checkMeta(patch[optMeta])...)
}

// checkMandatory refuses what would let an instance switch an onion off.
func checkMandatory(patch map[string]any) problems {
	var found problems
	for _, name := range []string{optEnable, optMeta, optMatch, optIgnore} {
		if patch[name] != nil {
			found = append(found, problem{path: []string{name}, text: "an instance may not decide whether this onion runs"})
		}
	}
	return found
}

func checkMeta(v any) problems {
	if v == nil {
		return nil
	}
	meta, ok := v.(map[string]any)
	if !ok {
		return problems{{path: []string{optMeta}, text: "want an object, got " + describe(v)}}
	}
	var found problems
	for _, key := range sortedKeys(meta) {
		path := []string{optMeta, key}
		if !slices.Contains(metaNames, key) {
			found = append(found, problem{path: path, text: "unknown option" + hint(key, metaNames)})
			continue
		}
		list, ok := meta[key].([]any)
		if !ok {
			list = []any{meta[key]}
		}
		for _, item := range list {
			text, ok := item.(string)
			switch {
			case item == nil:
			case !ok:
				found = append(found, problem{path: path, text: fmt.Sprintf("want a string or a list of strings, got %s", describe(item))})
			case key == metaKeyMode && !slices.Contains(modes, Mode(text)):
				found = append(found, problem{path: path, text: fmt.Sprintf("want %s, %s or %s, got %q", ModeDev, ModeTest, ModeProd, text)})
			}
		}
	}
	return found
}

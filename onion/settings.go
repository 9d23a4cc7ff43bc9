package onion

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// settings are parsed Settings: one layer for each onion they speak of.
type settings struct {
	layers map[*spec]layer
	// key tells settings with the same content, for sharing.
	key string
}

func (s *settings) layer(of *spec) (layer, bool) {
	if s == nil {
		return layer{}, false
	}
	l, ok := s.layers[of]
	return l, ok
}

func newOptions(s *spec) reflect.Value {
	return reflect.New(s.schema.root.typ).Elem()
}

func (b *builder) readSettings(in Settings) *settings {
	parsed, errs := b.parseSettings(in, func(w string) { b.warns = append(b.warns, w) })
	b.errs = append(b.errs, errs...)
	for _, l := range parsed.layers {
		instanceNamesIn(l.patch, b.named)
	}
	return parsed
}

// parseSettings reads a section "onions: {<scene>: {<name>: {...}}}" and checks
// every layer in it on its own.
func (e *Engine) parseSettings(in Settings, warn func(string)) (*settings, Errors) {
	parsed := &settings{layers: map[*spec]layer{}}
	if in.Onions == nil {
		return parsed, nil
	}
	var errs Errors
	fail := func(path []string, format string, args ...any) {
		at := layer{label: in.Label, source: in.source}.place(path...)
		errs = append(errs, fmt.Errorf("%s: onions%s: %s", at, dotted(path), fmt.Sprintf(format, args...)))
	}
	scenes, ok := in.Onions.(map[string]any)
	if !ok {
		fail(nil, "want an object of scenes, got %s", describe(in.Onions))
		return parsed, errs
	}
	for _, scene := range sortedKeys(scenes) {
		if !Scene(scene).Valid() {
			fail([]string{scene}, "unknown scene%s", hint(scene, sceneNames()))
			continue
		}
		onions, ok := scenes[scene].(map[string]any)
		if !ok && scenes[scene] != nil {
			fail([]string{scene}, "want an object of onions, got %s", describe(scenes[scene]))
			continue
		}
		for _, name := range sortedKeys(onions) {
			path := []string{scene, name}
			s, problem := e.findOnion(Scene(scene), name, in.Kind)
			if problem != "" {
				fail(path, "%s", problem)
				continue
			}
			patch, ok := onions[name].(map[string]any)
			if !ok {
				fail(path, "want an object of options, got %s", describe(onions[name]))
				continue
			}
			l := layer{kind: in.Kind, label: in.Label, patch: patch, source: below(in.source, path)}
			errs = append(errs, e.checkLayer(s, l, warn)...)
			parsed.layers[s] = l
		}
	}
	parsed.key = settingsKey(in.Onions)
	return parsed, errs
}

func (e *Engine) findOnion(scene Scene, name string, kind LayerKind) (s *spec, problem string) {
	s, ok := e.specs[Name(name)]
	switch {
	case !ok:
		var known []string
		for n, other := range e.specs {
			if other.scene == scene {
				known = append(known, string(n))
			}
		}
		return nil, "unknown onion" + closest(name, known)
	case s.scene != scene:
		return nil, fmt.Sprintf("the onion is of scene %s", s.scene)
	case scene == SceneMiddlewareSystem && kind != LayerApp:
		return nil, "system middleware takes its options from application config only"
	}
	return s, ""
}

// closest is hint for lists too long to print.
func closest(name string, known []string) string {
	if text := hint(name, known); len(known) <= 12 || len(text) < 80 {
		return text
	}
	return ""
}

func sceneNames() []string {
	names := make([]string, 0, len(Scenes()))
	for _, s := range Scenes() {
		names = append(names, string(s))
	}
	return names
}

func below(source func(...string) string, prefix []string) func(...string) string {
	return func(path ...string) string {
		return source(append(append([]string(nil), prefix...), path...)...)
	}
}

func dotted(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return "." + strings.Join(path, ".")
}

// settingsKey is a text that is the same for settings with the same content.
// What JSON cannot hold (NaN) never passes the checks of a layer.
func settingsKey(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%#v", v)
	}
	return string(text)
}

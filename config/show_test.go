package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParsePath(t *testing.T) {
	for _, path := range [][]string{
		{"a"}, {"a", "b-c", "d"}, {"server", "keys", "[0]"}, {"l", "[1]", "[2]", "x"}, {"instance", "instances", "acme.eu", "id"},
		{"instance", "instances", "", "id"}, {"q", `say "hi" [x]`, "y"}, {"onions", "guard", "a-user:passport"}, {"[0]", "a"},
	} {
		got, err := ParsePath(PathString(path...))
		if err != nil || !slices.Equal(got, path) {
			t.Errorf("%s: got %q, %v, want %q", PathString(path...), got, err, path)
		}
	}
	if got, err := ParsePath(""); err != nil || len(got) != 0 {
		t.Errorf("nothing: got %q, %v", got, err)
	}
	for text, want := range map[string]string{
		"a.": "want a dot and a key", "a..b": "empty step", ".a": "empty step", `a."b`: "a quote without its end", "a[x]": "no list index",
		"a[0": "no list index", `"a"b`: "want a dot and a key", "a[0]b": "want a dot and a key",
	} {
		if got, err := ParsePath(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, %v, want %s", text, got, err, want)
		}
	}
}

func TestPathsAt(t *testing.T) {
	c := base(t, "a: {b: 1, c: {d: [1, 2], e: {}}}\nf: null\n")
	for at, want := range map[string]string{
		"": "a.b a.c.d a.c.e f", "a": "a.b a.c.d a.c.e", "a.c.d": "a.c.d", "a.c.d[1]": "a.c.d[1]", "a.c.e": "a.c.e", "f": "f", "a.x": "",
	} {
		path, err := ParsePath(at)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range c.PathsAt(path...) {
			got = append(got, PathString(p...))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("at %q: %q, want %q", at, got, want)
		}
	}
}

// What Decode has learnt to be a secret stays one in trees made of the tree.
func TestSecretsOfDerivedTrees(t *testing.T) {
	c := base(t, "s: {pin: hunter2, open: x}")
	var s struct {
		Pin  Secret `koanf:"pin"`
		Open string `koanf:"open"`
	}
	if err := c.Decode(&s, "s"); err != nil {
		t.Fatal(err)
	}
	over := c.Overlay(FromMap("record", map[string]any{"s": map[string]any{"pin": "hunter3"}}))
	for name, got := range map[string]any{
		"itself": c.Redacted("s"), "overlay": over.Redacted("s"), "sub": c.Sub("s").Redacted(), "sub of overlay": over.Sub("s").Redacted(),
	} {
		if want := map[string]any{"pin": "***", "open": "x"}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestRedact(t *testing.T) {
	for _, tc := range []struct {
		path  string
		value any
		want  any
	}{
		{"limit", 30, 30},
		{"upstream.password", "hunter2", "***"},
		{"urls", []any{"redis://user:hunter2@host/1", "http://host"}, []any{"redis://user:***@host/1", "http://host"}},
		{"x", map[string]any{"clientSecret": "hunter2", "n": nil}, map[string]any{"clientSecret": "***", "n": nil}},
	} {
		if got := Redact(tc.value, strings.Split(tc.path, ".")...); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.path, got, tc.want)
		}
	}
}

func TestValues(t *testing.T) {
	type inner struct {
		Port  int           `koanf:"port"`
		Wait  time.Duration `koanf:"wait"`
		Token *Secret       `koanf:"token"`
	}
	type lent struct {
		Rate float64 `koanf:"rate"`
	}
	type section struct {
		lent
		Name   string           `koanf:"name"`
		Key    Secret           `koanf:"key"`
		Keys   []Secret         `koanf:"keys"`
		None   Secret           `koanf:"none"`
		In     inner            `koanf:"in"`
		Absent *inner           `koanf:"absent"`
		Empty  []string         `koanf:"empty"`
		Some   []string         `koanf:"some"`
		Map    map[string]inner `koanf:"map"`
		Any    any              `koanf:"any"`
		On     bool             `koanf:"on"`
		Left   int              `koanf:"-"`
	}
	token := NewSecret("hunter2")
	got := Values(&section{
		lent: lent{0.5}, Name: "n", Key: token, Keys: []Secret{token, {}}, In: inner{1, time.Second, &token},
		Some: []string{}, Map: map[string]inner{"x": {Port: 2}}, Any: []any{1, "t"}, Left: 3,
	})
	want := map[string]any{
		"rate": 0.5, "name": "n", "key": "***", "keys": []any{"***", ""}, "none": "",
		"in": map[string]any{"port": 1, "wait": "1s", "token": "***"}, "some": []any{},
		"map": map[string]any{"x": map[string]any{"port": 2, "wait": "0s"}}, "any": []any{1, "t"}, "on": false,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v, want\n%v", got, want)
	}
	// They can be decoded again, but for secrets.
	var again section
	if err := FromMap("x", got).Decode(&again); err != nil {
		t.Error(err)
	}
	for _, none := range []any{nil, 7, (*section)(nil), struct{ X int }{1}} {
		if got := Values(none); got != nil {
			t.Errorf("%v: %v", none, got)
		}
	}
}

func TestAgain(t *testing.T) {
	c := base(t, "a: 1")
	writeFile(t, "config/config.yaml", "a: 2")
	again, err := c.Again()
	if err != nil {
		t.Fatal(err)
	}
	if was, is := value(c, "a"), value(again, "a"); was != 1 || is != 2 {
		t.Errorf("got %v and %v, want 1 and 2", was, is)
	}
}

func value(c *Config, path ...string) any {
	v, _ := c.Get(path...)
	return v
}

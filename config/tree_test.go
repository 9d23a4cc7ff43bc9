package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestSourceThroughMerges(t *testing.T) {
	c := mustLoad(t, map[string]string{
		"config.yaml": `server:
  keys: [a, b]
  listen:
    port: 1
replaced:
  x: 1
  y: 1
onions:
  interceptor:
    "a-ratelimit:rateLimit":
      rateLimit:
        limit: 1
        mode: observe
`,
		"config.dev.yaml": "# first\nreplaced: 5\nonions:\n  interceptor: {\"a-ratelimit:rateLimit\": {rateLimit: {limit: 2}}}\n",
		"config.local.yaml": `replaced:
  y: 2
anchor: &a
  deep: 1
use:
  <<: *a
  own: 2
`,
	}, "SERVER_LISTEN_HOSTNAME=h")
	onion := "onions/interceptor/a-ratelimit:rateLimit"
	cases := []struct{ path, want string }{
		{"server", "config/config.yaml:1"},
		{"server/keys", "config/config.yaml:2"},
		{"server/keys/[1]", "config/config.yaml:2"},
		{"server/listen", "config/config.yaml:3"}, // not the variable that only adds to it
		{"server/listen/port", "config/config.yaml:4"},
		{"server/listen/hostname", "environment SERVER_LISTEN_HOSTNAME"},
		{"server/listen/missing", "config/config.yaml:3"},
		{"nothing/here", "config/config.yaml"},
		{"", "config/config.yaml"},
		{"replaced", "config/config.local.yaml:1"},
		{"replaced/y", "config/config.local.yaml:2"},
		{"replaced/x", "config/config.local.yaml:1"}, // the base's x is gone
		{onion, "config/config.dev.yaml:4"},
		{onion + "/rateLimit/limit", "config/config.dev.yaml:4"},
		{onion + "/rateLimit/mode", "config/config.yaml:13"},
		{"use", "config/config.local.yaml:5"},
		{"use/deep", "config/config.local.yaml:4"},
		{"use/own", "config/config.local.yaml:7"},
	}
	for _, tc := range cases {
		var path []string
		if tc.path != "" {
			path = strings.Split(tc.path, "/")
		}
		if got := c.Source(path...).String(); got != tc.want {
			t.Errorf("%s is from %s, want %s", tc.path, got, tc.want)
		}
	}
	if c.Has("replaced", "x") {
		t.Error("an object above a number brought back what the number replaced")
	}
}

func TestAccess(t *testing.T) {
	c := base(t, "a: {b: [{c: 1}, null], n: null, e: {}}\ns: text")
	if v, ok := c.Get("a", "b", "[0]", "c"); v != 1 || !ok {
		t.Errorf("Get in a list: %v %v", v, ok)
	}
	if v, ok := c.Get("a", "n"); v != nil || !ok {
		t.Errorf("a null is a value: %v %v", v, ok)
	}
	for _, path := range [][]string{{"x"}, {"a", "b", "[2]"}, {"a", "b", "0"}, {"s", "t"}, {"a", "n", "x"}} {
		if _, ok := c.Get(path...); ok || c.Has(path...) {
			t.Errorf("%v is there", path)
		}
	}
	if c.Map("s") != nil || c.Map("x") != nil || c.Map("a", "e") == nil {
		t.Error("Map of a text, of nothing or of an empty object")
	}
	want := [][]string{{"a", "b"}, {"a", "e"}, {"a", "n"}, {"s"}}
	if got := c.Paths(); !reflect.DeepEqual(got, want) {
		t.Errorf("Paths %v, want %v", got, want)
	}
}

func TestWhatIsReturnedBelongsToTheCaller(t *testing.T) {
	c := base(t, "a: {b: [{c: 1}]}")
	c.Map("a")["b"].([]any)[0].(map[string]any)["c"] = 2
	v, _ := c.Get("a", "b")
	v.([]any)[0] = "x"
	var into struct {
		A any `koanf:"a"`
	}
	if err := c.Decode(&into); err != nil {
		t.Fatal(err)
	}
	into.A.(map[string]any)["b"] = nil
	if got, _ := c.Get("a", "b", "[0]", "c"); got != 1 {
		t.Errorf("the tree changed: %v", c.Map())
	}
}

func TestUnclaimed(t *testing.T) {
	c := mustLoad(t, map[string]string{
		"config.yaml": `server: {anything: {goes: 1}}
modules:
  a-ratelimit: {ipv6Prefix: 64}
  a-ratelimiit: {x: 1}
Instance: {}
"": 1
deep: {er: 5}
`,
		"config.local.yaml": "sevrer: 1\n",
	})
	err := c.Unclaimed("server", "modules.a-ratelimit", "modules.a-user", "instance", "deep.er.still")
	wantLines(t, err,
		"config/config.yaml:4: modules.a-ratelimiit: unknown key, known here: a-ratelimit, a-user",
		"config/config.yaml:5: Instance: unknown key, it is written instance",
		`config/config.yaml:6: "": unknown key, known here: deep, instance, modules, server`,
		"config/config.yaml:7: deep.er: must be an object, is a number",
		"config/config.local.yaml:1: sevrer: unknown key, known here: deep, instance, modules, server")
	asErrors(t, err)
	if err := c.Unclaimed("server", "modules", "Instance", "deep", "sevrer", ""); len(asErrors(t, err)) != 1 {
		t.Errorf("all but the empty key are claimed: %v", err)
	}
	if err := base(t, "a: {b: 1}").Unclaimed("a", "a.c"); err != nil {
		t.Errorf("a claim of the whole covers what other claims leave out: %v", err)
	}
}

func TestPathString(t *testing.T) {
	cases := map[string][]string{
		"server.keys[0]":                         {"server", "keys", "[0]"},
		`instance.instances."acme.eu".id`:        {"instance", "instances", "acme.eu", "id"},
		`instance.instances."".id`:               {"instance", "instances", "", "id"},
		"onions.guard.a-user:passport.enable":    {"onions", "guard", "a-user:passport", "enable"},
		`"a b"."[x]"`:                            {"a b", "[x]"},
		"":                                       nil,
		"modules.a-ratelimit.maxEventsPerSecond": {"modules", "a-ratelimit", "maxEventsPerSecond"},
	}
	for want, path := range cases {
		if got := PathString(path...); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestPositionString(t *testing.T) {
	for want, p := range map[string]Position{
		"configuration": {}, "stored record acme": {Layer: "stored record acme"}, "f.yaml": {File: "f.yaml", Layer: LayerBase},
		"f.yaml:3": {File: "f.yaml", Line: 3}, "environment X": {Env: "X", Layer: LayerEnvironment},
	} {
		if p.String() != want {
			t.Errorf("%q, want %q", p, want)
		}
	}
}

func TestOverlayAndSub(t *testing.T) {
	c := mustLoad(t, map[string]string{
		"config.yaml":         "limit: 1\nname: app\nlist: [1]\ninstance:\n  instances:\n    acme.eu:\n      config: {name: static}\n",
		"instances/acme.yaml": "title: A\nconfig:\n  limit: 30\n  list: null\n",
	})
	file := c.Instances()[0].Sub("config")
	static := c.Sub("instance", "instances", "acme.eu", "config")
	record := map[string]any{"limit": 50, "more": map[string]any{"x": []any{1}}}
	stored := FromMap("stored record acme", record)
	record["more"].(map[string]any)["x"].([]any)[0] = 2
	got := c.Overlay(static, file, stored)
	for path, want := range map[string]struct {
		value any
		at    string
	}{
		"limit":  {50, "stored record acme"},
		"name":   {"static", "config/config.yaml:7"},
		"list":   {nil, "config/instances/acme.yaml:4"},
		"more/x": {[]any{1}, "stored record acme"},
	} {
		steps := strings.Split(path, "/")
		if v, _ := got.Get(steps...); !reflect.DeepEqual(v, want.value) || got.Source(steps...).String() != want.at {
			t.Errorf("%s = %v from %v, want %v from %v", path, v, got.Source(steps...), want.value, want.at)
		}
	}
	if v, _ := c.Get("limit"); v != 1 || c.Has("more") {
		t.Error("Overlay changed the tree beneath")
	}
	var into struct {
		Limit string `koanf:"limit"`
	}
	wantLines(t, file.Decode(&into),
		"config/instances/acme.yaml:3: limit: must be text, is 30",
		"config/instances/acme.yaml:4: list: unknown key, known here: limit")
}

func TestSubRespectsReplacement(t *testing.T) {
	c := mustLoad(t, map[string]string{
		"config.yaml": "a: {b: {x: 1}}\nn: 1", "config.dev.yaml": "a: null", "config.local.yaml": "a: {b: {y: 2}}",
	})
	if got := c.Sub("a", "b").Map(); !reflect.DeepEqual(got, map[string]any{"y": 2}) {
		t.Errorf("Sub brought back what null replaced: %v", got)
	}
	for _, path := range []string{"n", "missing"} {
		if got := c.Sub(path); len(got.Map()) != 0 || got.Source() != (Position{}) {
			t.Errorf("Sub(%s) = %v from %v", path, got.Map(), got.Source())
		}
	}
	if got := c.Sub().Map(); !reflect.DeepEqual(got, c.Map()) {
		t.Errorf("Sub() = %v", got)
	}
}

func TestFault(t *testing.T) {
	c := mustLoad(t, map[string]string{"config.yaml": "pool:\n  max: 1\n  hosts:\n    - a\n    - b\nserver:\n  keys: []\n"})
	for text, want := range map[string]string{
		"pool.max: is odd":         "config/config.yaml:2: pool.max: is odd",
		"pool.hosts[1]: a: b":      "config/config.yaml:5: pool.hosts[1]: a: b",
		"pool.min: must be given":  "config/config.yaml:1: pool.min: must be given",
		"pool: is empty":           "config/config.yaml:1: pool: is empty",
		"server.keys: none":        "config/config.yaml:7: server.keys: none", // of another section
		"broken":                   "config/config.yaml:1: pool: broken",
		"read a.pem: no such file": "config/config.yaml:1: pool: read a.pem: no such file",
		"caFile: no such file":     "config/config.yaml:1: pool: caFile: no such file",
		"pool.[: no path":          "config/config.yaml:1: pool: pool.[: no path",
	} {
		err := errors.New(text)
		if got := c.Fault(err, "pool"); got.Error() != want || !errors.Is(got, err) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}

	// What is missing may stand in the file that cannot be read.
	part, err := load(t, map[string]string{"config.yaml": "pool: {max: 1}\n", "config.local.yaml": "pool: ["})
	if err == nil {
		t.Fatal("no error")
	}
	if got := part.Fault(errors.New("pool.min: must be given"), "pool"); got != nil {
		t.Errorf("blamed for what is not known: %v", got)
	}
	if got := part.Fault(errors.New("pool.max: is odd"), "pool"); got == nil {
		t.Error("what is known is not blamed")
	}
}

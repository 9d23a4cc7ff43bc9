package onion

import (
	"encoding/json"
	"strings"
	"testing"
)

type hidden string

func (h hidden) Reveal() string { return string(h) }

type hiddenOptions struct {
	Token hidden            `json:"token"`
	List  []hidden          `json:"list"`
	Map   map[string]hidden `json:"map"`
	Deep  *struct {
		Token hidden `json:"token"`
		Open  string `json:"open"`
	} `json:"deep"`
}

// explained is an onion as text: active or why not, and its options.
func explained(list []ExplainedOnion, name Name) string {
	for _, o := range list {
		if o.Name != name {
			continue
		}
		text := "active"
		if !o.Active {
			text = "not active"
		}
		if o.Reason != "" {
			text += ": " + o.Reason
		}
		for _, opt := range o.Options {
			value, err := json.Marshal(opt.Value)
			if err != nil {
				return err.Error()
			}
			text += "; " + opt.Path + "=" + string(value)
		}
		return text
	}
	return "absent"
}

func TestExplanationsMaskSecrets(t *testing.T) {
	build := func(hiddenOptions, Env) (Wrap, error) { return func(next Next) Next { return next }, nil }
	def := Interceptor("demo-a:hidden", func() hiddenOptions { return hiddenOptions{} }, build, Global())
	in := testInput(Basic{ModuleName: "demo-a", ModuleOnions: []Onion{def}, ModuleControllers: []Declaration{Code(pingController{})}})
	in.App = Settings{Kind: LayerApp, Onions: map[string]any{"interceptor": map[string]any{"demo-a:hidden": map[string]any{
		"token": "s1", "list": []any{"s2", ""}, "map": map[string]any{"x": "s3"}, "deep": map[string]any{"token": "s4", "open": "o"},
	}}}}
	e := mustBuild(t, in)
	want := `active; deep.open="o"; deep.token="***"; list=["***",""]; map.x="***"; token="***"`
	if got := explained(mustSet(t, e, "").Explain(e.Routes()[0]).Onions, "demo-a:hidden"); got != want {
		t.Errorf("at the route: %s\nwant %s", got, want)
	}
	if got := explained(e.ExplainOnions(), "demo-a:hidden"); got != want {
		t.Errorf("of the application: %s\nwant %s", got, want)
	}
	if got := e.Masked("demo-a:hidden", "s5", "deep", "token"); got != "***" {
		t.Errorf("a value as written: %v", got)
	}
	if got := e.Masked("demo-a:other", "x", "deep"); got != "x" {
		t.Errorf("an onion that nobody knows: %v", got)
	}
}

// TestExplainSystem tells what is asked per request from what is known of it.
func TestExplainSystem(t *testing.T) {
	build := func(NoOptions, Env) (Wrap, error) { return func(next Next) Next { return next }, nil }
	def := SystemMiddleware("demo-a:sys", NoDefaults, build)
	text := func(s string) *string { return &s }
	for _, tc := range []struct {
		name    string
		options map[string]any
		known   Known
		want    string
	}{
		{"nothing to ask", nil, Known{}, "active"},
		{"off", map[string]any{"enable": false}, Known{}, "not active: enable is false"},
		{"another mode", map[string]any{"meta": map[string]any{"mode": "prod"}}, Known{}, "not active: meta.mode does not match"},
		{"another flavor", map[string]any{"meta": map[string]any{"flavor": "x"}}, Known{}, "not active: meta.flavor does not match"},
		{"all open", map[string]any{"match": "/a", "meta": map[string]any{"host": "h", "instanceName": "acme"}}, Known{},
			"active: asked per request: meta.host, meta.instanceName, match and ignore"},
		{"known to hold", map[string]any{"match": "/a", "meta": map[string]any{"instanceName": "acme"}},
			Known{Instance: text("acme"), Path: text("/a")}, "active"},
		{"another instance", map[string]any{"meta": map[string]any{"instanceName": "acme"}}, Known{Instance: text("")},
			"not active: meta.instanceName does not match"},
		{"another path", map[string]any{"match": "/a"}, Known{Path: text("/b")}, "not active: match and ignore leave this path out"},
		{"ignored", map[string]any{"ignore": "/b"}, Known{Path: text("/b")}, "not active: match and ignore leave this path out"},
		{"host is never known", map[string]any{"meta": map[string]any{"host": "h"}}, Known{Instance: text("acme"), Path: text("/a")},
			"active: asked per request: meta.host"},
	} {
		in := testInput(Basic{ModuleName: "demo-a", ModuleOnions: []Onion{def}})
		in.App = Settings{Kind: LayerApp, Onions: map[string]any{"middlewareSystem": map[string]any{"demo-a:sys": orEmpty(tc.options)}}}
		got, _, _ := strings.Cut(explained(mustBuild(t, in).ExplainSystem(tc.known), "demo-a:sys"), ";")
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

package onion

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func rateSettings(kind LayerKind, options map[string]any) Settings {
	return Settings{Kind: kind, Label: kind.String(), Onions: map[string]any{"interceptor": map[string]any{"a-ratelimit:rateLimit": options}}}
}

func TestLayersDecideWhetherAnOnionRuns(t *testing.T) {
	rate := rateOnion()
	on, off := []Use{rate.Use(policyOptions{}, Enable(true))}, []Use{rate.Use(policyOptions{}, Enable(false))}
	for _, c := range []struct {
		name               string
		app, instance      map[string]any
		controller, action []Use
		want               bool
	}{
		{name: "off by default"},
		{name: "application", app: map[string]any{"enable": true}, want: true},
		{name: "instance over application", app: map[string]any{"enable": true}, instance: map[string]any{"enable": false}},
		{name: "controller over instance", instance: map[string]any{"enable": false}, controller: on, want: true},
		{name: "action over controller", controller: on, action: off},
		{name: "action enables while all else is off", action: on, want: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			module := Basic{ModuleName: "demo-student", ModuleOnions: []Onion{bodyOnion(), rate},
				ModuleControllers: []Declaration{Code(pingController{uses: c.controller, action: c.action})}}
			in := testInput(module)
			if c.app != nil {
				in.App = rateSettings(LayerApp, c.app)
			}
			e := mustBuild(t, in)
			var settings []Settings
			if c.instance != nil {
				settings = append(settings, rateSettings(LayerInstance, c.instance))
			}
			got := runRoute(t, mustSet(t, e, "acme", settings...), e.Routes()[0], &Call{})
			want := []string{"bodyReq"}
			if c.want {
				want = []string{"rateLimit", "bodyReq"}
			}
			if !slices.Equal(got, want) {
				t.Errorf("ran %v, want %v", got, want)
			}
		})
	}
}

func TestSetsAreSharedByEqualOptions(t *testing.T) {
	module := Basic{ModuleName: "demo-student", ModuleOnions: []Onion{bodyOnion(), rateOnion()},
		ModuleControllers: []Declaration{Code(pingController{})}}
	e := mustBuild(t, testInput(module))
	plain, other := mustSet(t, e, "a"), mustSet(t, e, "b")
	if plain != other {
		t.Error("two instances without settings have two sets")
	}
	own := mustSet(t, e, "c", rateSettings(LayerInstance, map[string]any{"rateLimit": map[string]any{"limit": 5}}))
	if own == plain {
		t.Fatal("an instance with settings shares the set of those without")
	}
	// The override is of an onion that stays disabled, so the chains are the same.
	a, err := plain.Chain(e.Routes()[0])
	if err != nil {
		t.Fatal(err)
	}
	b, err := own.Chain(e.Routes()[0])
	if err != nil {
		t.Fatal(err)
	}
	if a != b {
		t.Error("equal chains of two sets are two chains")
	}
	runtime.KeepAlive(other)
}

func TestUnusedSetsAreForgotten(t *testing.T) {
	module := Basic{ModuleName: "demo-student", ModuleOnions: []Onion{bodyOnion(), rateOnion()},
		ModuleControllers: []Declaration{Code(pingController{})}}
	e := mustBuild(t, testInput(module))
	for i := range 100 {
		s := mustSet(t, e, "a", rateSettings(LayerInstance, map[string]any{"enable": true, "rateLimit": map[string]any{"limit": i + 1}}))
		runRoute(t, s, e.Routes()[0], &Call{})
	}
	for range 50 {
		if e.sets.size() < 5 && e.chains.size() < 5 && e.steps.size() < 10 {
			return
		}
		runtime.GC()
	}
	t.Errorf("still held: %d sets, %d chains, %d steps", e.sets.size(), e.chains.size(), e.steps.size())
}

func TestMetaInstanceNameTellsInstancesApart(t *testing.T) {
	module := Basic{ModuleName: "demo-student", ModuleOnions: []Onion{bodyOnion(), rateOnion()},
		ModuleControllers: []Declaration{Code(pingController{})}}
	in := testInput(module)
	in.App = rateSettings(LayerApp, map[string]any{"enable": true, "meta": map[string]any{"instanceName": []any{"acme", nil}}})
	e := mustBuild(t, in)
	for name, want := range map[string]int{"acme": 2, "other": 1, "": 1} {
		if got := runRoute(t, mustSet(t, e, name), e.Routes()[0], &Call{}); len(got) != want {
			t.Errorf("instance %q ran %v", name, got)
		}
	}
	none, err := e.Set("", true)
	if err != nil {
		t.Fatal(err)
	}
	if got := runRoute(t, none, e.Routes()[0], &Call{NoInstance: true}); len(got) != 2 {
		t.Errorf("the null instance ran %v", got)
	}
}

func TestHostIsAskedPerRequest(t *testing.T) {
	module := Basic{ModuleName: "demo-student", ModuleOnions: []Onion{bodyOnion(), rateOnion()},
		ModuleControllers: []Declaration{Code(pingController{})}}
	in := testInput(module)
	in.App = rateSettings(LayerApp, map[string]any{"enable": true, "meta": map[string]any{"host": "a.test:80"}})
	e := mustBuild(t, in)
	s := mustSet(t, e, "")
	for host, want := range map[string]int{"a.test:80": 2, "a.test": 1} {
		if got := runRoute(t, s, e.Routes()[0], &Call{Host: host}); len(got) != want {
			t.Errorf("host %s ran %v", host, got)
		}
	}
}

func TestDynamicOverride(t *testing.T) {
	module := Basic{ModuleName: "demo-student", ModuleOnions: []Onion{bodyOnion(), rateOnion()},
		ModuleControllers: []Declaration{Code(pingController{})}}
	e := mustBuild(t, testInput(module))
	s := mustSet(t, e, "")
	chain, err := s.Dynamic(e.Routes()[0], "", false, map[string]map[string]any{"a-ratelimit:rateLimit": {"enable": true}})
	if err != nil {
		t.Fatal(err)
	}
	c := &Call{}
	if _, err := chain.Run(t.Context(), c); err != nil || len(trail(c)) != 2 {
		t.Errorf("ran %v, %v", trail(c), err)
	}
	if got := runRoute(t, s, e.Routes()[0], &Call{}); len(got) != 1 {
		t.Errorf("the override outlived its call: ran %v", got)
	}
	for name, options := range map[string]map[string]any{
		"a-x:y": {}, "a-ratelimit:rateLimit": {"rateLimit": map[string]any{"limit": 0}},
	} {
		if _, err := s.Dynamic(e.Routes()[0], "", false, map[string]map[string]any{name: options}); err == nil {
			t.Errorf("dynamic %s %v: no error", name, options)
		}
	}
}

// An override that asks for an instance is heard at that instance, though nothing
// else tells it from others with the same options.
func TestDynamicOverrideAsksForInstance(t *testing.T) {
	module := Basic{ModuleName: "demo-student", ModuleOnions: []Onion{bodyOnion(), rateOnion()},
		ModuleControllers: []Declaration{Code(pingController{})}}
	e := mustBuild(t, testInput(module))
	override := map[string]map[string]any{"a-ratelimit:rateLimit": {"enable": true, "meta": map[string]any{"instanceName": "acme"}}}
	for name, want := range map[string]int{"acme": 2, "beta": 1, "": 1} {
		chain, err := mustSet(t, e, name).Dynamic(e.Routes()[0], name, false, override)
		if err != nil {
			t.Fatal(err)
		}
		c := &Call{}
		if _, err := chain.Run(t.Context(), c); err != nil || len(trail(c)) != want {
			t.Errorf("instance %q ran %v, %v, want %d onions", name, trail(c), err, want)
		}
	}
}

func TestSystemConditions(t *testing.T) {
	system := SystemMiddleware("a-core:probe", NoDefaults, tracing[NoOptions]("probe"))
	in := testInput(Basic{ModuleName: "a-core", ModuleOnions: []Onion{system}})
	in.App = Settings{Kind: LayerApp, Label: "application config", Onions: map[string]any{
		"middlewareSystem": map[string]any{"a-core:probe": map[string]any{
			"ignore": "regexp:///^\\/health/", "meta": map[string]any{"instanceName": "acme"}}},
	}}
	e := mustBuild(t, in)
	run := Compose([]Wrap{e.System()[0].Wrap}, func(context.Context, *Call) (any, error) { return nil, nil })
	for _, c := range []struct {
		call Call
		want int
	}{
		{Call{Path: "/api/x", Instance: "acme"}, 1},
		{Call{Path: "/api/x", Instance: "other"}, 0},
		{Call{Path: "/health/live", Instance: "acme"}, 0},
	} {
		call := c.call
		if _, err := run(t.Context(), &call); err != nil || len(trail(&call)) != c.want {
			t.Errorf("%s of %q: ran %v", c.call.Path, c.call.Instance, trail(&call))
		}
	}
	if !e.SystemActive("a-core:probe", "/x") || e.SystemActive("a-core:probe", "/health/live") {
		t.Error("SystemActive does not follow ignore")
	}
}

// However a client spells a path, an onion that is narrowed to it runs, and one that
// ignores it does not; an escaped slash is no slash.
func TestSystemSelectionOfSpellings(t *testing.T) {
	for _, c := range []struct {
		options map[string]any
		path    string
		active  bool
	}{
		{map[string]any{"match": "/api/pay"}, "/api/pay", true},
		{map[string]any{"match": "/api/pay"}, "/api/p%61y", true},
		{map[string]any{"match": "/api/pay"}, "/api%2Fpay", false},
		{map[string]any{"match": "/api/pay"}, "/api/p%2561y", false},
		{map[string]any{"match": "regexp:///^\\/api\\/pay/"}, "/%61pi/%70ay/1%2F2", true},
		{map[string]any{"match": "/caf%C3%A9"}, "/caf%C3%A9", true},
		{map[string]any{"match": "/café"}, "/caf%c3%a9", true},
		{map[string]any{"ignore": "/health/live"}, "/health/l%69ve", false},
		{map[string]any{"ignore": "/health/live"}, "/health%2Flive", true},
		{map[string]any{"ignore": "/caf%C3%A9"}, "/caf%C3%A9", false},
		{map[string]any{"ignore": "/health/live"}, "/health/live%zz", true},
	} {
		system := SystemMiddleware("a-core:probe", NoDefaults, tracing[NoOptions]("probe"))
		in := testInput(Basic{ModuleName: "a-core", ModuleOnions: []Onion{system}})
		in.App = Settings{Kind: LayerApp, Label: "application config", Onions: map[string]any{
			"middlewareSystem": map[string]any{"a-core:probe": c.options}}}
		run := mustBuild(t, in).System()[0].Wrap(func(context.Context, *Call) (any, error) { return nil, nil })
		call := &Call{Path: c.path}
		if _, err := run(t.Context(), call); err != nil || (len(trail(call)) == 1) != c.active {
			t.Errorf("%v at %s: ran %v, %v, want active %v", c.options, c.path, trail(call), err, c.active)
		}
	}
}

func TestLocalOnionsActionFirst(t *testing.T) {
	local := func(name string) *Def[NoOptions] {
		return Interceptor("demo-student:"+name, NoDefaults, tracing[NoOptions](name))
	}
	a, b, c := local("a"), local("b"), local("c")
	module := Basic{ModuleName: "demo-student", ModuleOnions: []Onion{a, b, c},
		ModuleControllers: []Declaration{Code(pingController{
			uses: []Use{a.Use(NoOptions{}), b.Use(NoOptions{})}, action: []Use{c.Use(NoOptions{}), b.Use(NoOptions{})}})}}
	e := mustBuild(t, testInput(module))
	got := runRoute(t, mustSet(t, e, ""), e.Routes()[0], &Call{})
	if want := []string{"c", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("ran %v, want %v", got, want)
	}
}

func TestExplainNamesLayers(t *testing.T) {
	rate := rateOnion()
	module := Basic{ModuleName: "demo-student", ModuleOnions: []Onion{bodyOnion(), rate},
		ModuleControllers: []Declaration{Code(pingController{action: []Use{rate.Use(policyOptions{}, Enable(true))}})}}
	e := mustBuild(t, testInput(module))
	settings := rateSettings(LayerInstance, map[string]any{"rateLimit": map[string]any{"limit": 30}})
	settings.Source = func(path ...string) string { return "acme.yaml " + strings.Join(path, "/") }
	ex := mustSet(t, e, "acme", settings).Explain(e.Routes()[0])
	if !ex.Onions[0].Active || ex.Onions[0].Name != "a-ratelimit:rateLimit" {
		t.Fatalf("first onion: %+v", ex.Onions[0])
	}
	sources := map[string]string{}
	for _, o := range ex.Onions[0].Options {
		sources[o.Path] = fmt.Sprintf("%v %v", o.Value, o.Layer)
		if o.Path == "rateLimit.limit" && o.Source != "acme.yaml interceptor/a-ratelimit:rateLimit/rateLimit/limit" {
			t.Errorf("source of the limit: %s", o.Source)
		}
	}
	for path, want := range map[string]string{
		"enable": "true action", "rateLimit.limit": "30 instance config", "rateLimit.mode": "enforce defaults",
	} {
		if sources[path] != want {
			t.Errorf("%s: %q, want %q", path, sources[path], want)
		}
	}
}

package onion

import (
	"context"
	"strings"
	"testing"
)

// buildErrors builds and gives all errors as one text.
func buildErrors(in Input) string {
	if _, err := Build(in); err != nil {
		return err.Error()
	}
	return ""
}

func TestStartUpErrorsNameThePlace(t *testing.T) {
	rate := rateOnion()
	appSettings := func(onions any) Settings {
		return Settings{Kind: LayerApp, Label: "application config", Onions: onions,
			Source: func(path ...string) string { return "config.yaml:7" }}
	}
	scene := func(options any) map[string]any {
		return map[string]any{"interceptor": map[string]any{"a-ratelimit:rateLimit": options}}
	}
	module := func(declarations ...Declaration) Module {
		return Basic{ModuleName: "demo-student", ModuleOnions: []Onion{bodyOnion(), rate}, ModuleControllers: declarations}
	}
	for _, c := range []struct {
		name string
		in   Input
		want []string
	}{
		{"unknown scene", withApp(testInput(module()), appSettings(map[string]any{"interceptors": nil})), []string{"config.yaml:7", "interceptors", "unknown scene"}},
		{"unknown onion", withApp(testInput(module()), appSettings(map[string]any{"interceptor": map[string]any{"a-ratelimit:ratelimit": nil}})), []string{"unknown onion", `did you mean "a-ratelimit:rateLimit"`}},
		{"other scene", withApp(testInput(module()), appSettings(map[string]any{"guard": map[string]any{"a-ratelimit:rateLimit": nil}})), []string{"is of scene interceptor"}},
		{"unknown option", withApp(testInput(module()), appSettings(scene(map[string]any{"limit": 3}))), []string{"a-ratelimit:rateLimit", "limit: unknown option"}},
		{"case of an option", withApp(testInput(module()), appSettings(scene(map[string]any{"RateLimit": nil}))), []string{`did you mean "rateLimit"`}},
		{"wrong type", withApp(testInput(module()), appSettings(scene(map[string]any{"rateLimit": map[string]any{"limit": "3"}}))), []string{"rateLimit.limit", `got the string "3"`}},
		{"fraction", withApp(testInput(module()), appSettings(scene(map[string]any{"rateLimit": map[string]any{"limit": 1.5}}))), []string{"rateLimit.limit", "1.5"}},
		{"range", withApp(testInput(module()), appSettings(scene(map[string]any{"rateLimit": map[string]any{"limit": 0}}))), []string{"rateLimit.limit", "got 0"}},
		{"one of", withApp(testInput(module()), appSettings(scene(map[string]any{"rateLimit": map[string]any{"mode": "Enforce"}}))), []string{"rateLimit.mode", "observe, enforce"}},
		{"enable", withApp(testInput(module()), appSettings(scene(map[string]any{"enable": 1}))), []string{"enable", "got 1"}},
		{"meta", withApp(testInput(module()), appSettings(scene(map[string]any{"meta": map[string]any{"mod": "dev"}}))), []string{"meta.mod", "unknown option"}},
		{"regexp", withApp(testInput(module()), appSettings(scene(map[string]any{"match": "regexp:///(?=x)/"}))), []string{"match", "(?=x)"}},
		{"mode", withApp(testInput(module()), appSettings(scene(map[string]any{"meta": map[string]any{"mode": []any{"dev", "prd"}}}))), []string{`meta.mode: want dev, test or prod, got "prd"`}},
		{"no path", withApp(testInput(module()), appSettings(scene(map[string]any{"match": "regexp:/hello/", "ignore": []any{"", "*", "/a", "a"}}))), []string{
			`match: "regexp:/hello/": want a path, which begins with a slash, or regexp:///source/flags`, `ignore.3: "a": want a path`}},
		{"every pattern", withApp(testInput(module()), appSettings(scene(map[string]any{"match": []any{"regexp://x", "/a", 5}, "ignore": "regexp:///("}))), []string{
			`match.0: "regexp://x": want regexp:///source/flags`, "match.2: want a path, got 5", `ignore: "regexp:///("`}},
		{"cycle", withApp(testInput(module()), appSettings(scene(map[string]any{"dependencies": "a-body:bodyReq"}))), []string{"cycle", "a-ratelimit:rateLimit after"}},
		{"null option", testSetInput(module(), scene(map[string]any{"rateLimit": map[string]any{"limit": nil}})), []string{"rateLimit.limit", "null"}},
		{"module twice", testInput(module(), module()), []string{"module demo-student is listed twice"}},
		{"module name", testInput(Basic{ModuleName: "student"}), []string{`module name "student"`}},
		{"onion twice", testInput(Basic{ModuleName: "a-x", ModuleOnions: []Onion{bodyOnion(), bodyOnion()}}), []string{"defined twice", "helpers_test.go"}},
		{"controller twice", testInput(module(Code(pingController{}), Code(pingController{}))), []string{"demo-student.controller.student is declared twice"}},
		{"nil action", testInput(module(Code(codeOf{Controller{Name: "x", Routes: []Route{Get[Empty, string]("a", "", nil)}}}))), []string{"the action is nil", `action "a"`}},
		{"foreign onion", testInput(Basic{ModuleName: "a-x", ModuleControllers: []Declaration{Code(pingController{uses: []Use{rate.Use(policyOptions{})}})}}), []string{"no module of the application defines it"}},
		{"order at a route", testInput(module(Code(pingController{uses: []Use{rate.Use(policyOptions{}, func(p map[string]any) { p["dependents"] = "x" })}}))), []string{"order of onions is decided by application config"}},
		{"range in code", testInput(module(Code(pingController{action: []Use{rate.Use(policyOptions{RateLimit: ratePolicy{Limit: -1}})}}))), []string{"rateLimit.limit", "errors_test.go"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := buildErrors(c.in)
			if got == "" {
				if e, err := Build(c.in); err == nil {
					if _, err = e.Set("", false); err != nil {
						got = err.Error()
					}
				}
			}
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("want %q in:\n%s", want, got)
				}
			}
		})
	}
}

// TestItemOfAListNamesItsLayer: an item is set by whoever set the list, also where
// the fault shows after the merge only.
func TestItemOfAListNamesItsLayer(t *testing.T) {
	type options struct {
		Names []string `json:"names"`
	}
	def := Interceptor("a-x:named", func() options { return options{} }, tracing[options](""), Global())
	e, err := Build(withApp(testInput(Basic{ModuleName: "a-x", ModuleOnions: []Onion{def}}), Settings{
		Kind: LayerApp, Label: "application config",
		Onions: map[string]any{"interceptor": map[string]any{"a-x:named": map[string]any{"names": []any{"x", nil}}}},
		Source: func(path ...string) string { return "config.yaml:" + strings.Join(path, "/") },
	}))
	if err == nil {
		_, err = e.Set("", false)
	}
	want := "onion a-x:named: application config (config.yaml:interceptor/a-x:named/names/1): names.1: null is no value here, want a string"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func withApp(in Input, s Settings) Input {
	in.App = s
	return in
}

func testSetInput(m Module, onions map[string]any) Input {
	return withApp(testInput(m), Settings{Kind: LayerApp, Label: "application config", Onions: onions})
}

type codeOf struct{ c Controller }

func (c codeOf) Controller() Controller { return c.c }

func TestAllErrorsAtOnceAndOnce(t *testing.T) {
	module := Basic{ModuleName: "demo-student", ModuleOnions: []Onion{bodyOnion(), rateOnion()},
		ModuleControllers: []Declaration{Code(pingController{}), Code(pingController{}), Tags(&struct{ A int }{})}}
	in := testSetInput(module, map[string]any{"nope": nil, "interceptor": map[string]any{"a-ratelimit:rateLimit": map[string]any{"x": 1, "y": 2}}})
	lines := strings.Split(buildErrors(in), "\n")
	if len(lines) != 5 {
		t.Errorf("want 5 errors, got %d:\n%s", len(lines), strings.Join(lines, "\n"))
	}
}

func TestOptionTypesAreChecked(t *testing.T) {
	type plainBool struct {
		On bool `json:"on"`
	}
	type outerName struct {
		Enable Toggle `json:"enable"`
	}
	type noTag struct{ X int }
	for name, o := range map[string]Onion{
		"plain bool": Interceptor("a-x:one", func() plainBool { return plainBool{} }, tracing[plainBool]("")),
		"belongs":    Interceptor("a-x:two", func() outerName { return outerName{} }, tracing[outerName]("")),
		"json tag":   Interceptor("a-x:three", func() noTag { return noTag{} }, tracing[noTag]("")),
		"onion name": Interceptor("nocolon", NoDefaults, tracing[NoOptions]("")),
	} {
		if got := buildErrors(testInput(Basic{ModuleName: "a-x", ModuleOnions: []Onion{o}})); !strings.Contains(got, name) {
			t.Errorf("want %q in %q", name, got)
		}
	}
}

type strict struct {
	Limit int64 `json:"limit" range:"1..10"`
}

func (s strict) Validate() error {
	if s.Limit == 0 {
		return &OptionError{Path: []string{"limit"}, Message: "must be given"}
	}
	return nil
}

func TestMissingOptionNamesTheLayerThatEnabled(t *testing.T) {
	def := SystemMiddleware("a-x:strict", func() strict { return strict{} }, tracing[strict](""), Disabled())
	in := testInput(Basic{ModuleName: "a-x", ModuleOnions: []Onion{def}})
	if got := buildErrors(in); got != "" {
		t.Fatalf("disabled it needs nothing: %s", got)
	}
	in.App = Settings{Kind: LayerApp, Label: "application config", Source: func(path ...string) string { return "f.yaml:3 " + strings.Join(path, "/") },
		Onions: map[string]any{"middlewareSystem": map[string]any{"a-x:strict": map[string]any{"enable": true}}}}
	got := buildErrors(in)
	if !strings.Contains(got, "a-x:strict: application config (f.yaml:3 middlewareSystem/a-x:strict/enable): limit: must be given") {
		t.Errorf("got %s", got)
	}
}

func TestLayerAndSetChecks(t *testing.T) {
	rate := rateOnion().CheckLayer(func(kind LayerKind, o policyOptions) (string, error) {
		if o.RateLimit.Headers == Off && kind == LayerInstance {
			return "", &OptionError{Path: []string{"rateLimit", "headers"}, Message: "not from an instance"}
		}
		if o.RateLimit.Headers == Off {
			return "headers are off", nil
		}
		return "", nil
	})
	rate.CheckSet(func(all []Resolved[policyOptions]) []error {
		if len(all) == 2 && all[0].Options.RateLimit.Limit == 7 {
			return []error{context.Canceled}
		}
		return nil
	})
	module := Basic{ModuleName: "demo-student", ModuleOnions: []Onion{bodyOnion(), rate}, ModuleControllers: []Declaration{Code(pingController{})}}
	off := map[string]any{"rateLimit": map[string]any{"headers": false}}
	in := testInput(module)
	in.App = rateSettings(LayerApp, off)
	e := mustBuild(t, in)
	if w := strings.Join(e.Warnings(), "\n"); !strings.Contains(w, "headers are off") {
		t.Errorf("warnings: %s", w)
	}
	if _, err := e.Set("a", false, rateSettings(LayerInstance, off)); err == nil || !strings.Contains(err.Error(), "not from an instance") {
		t.Errorf("instance layer: %v", err)
	}
	seven := map[string]any{"enable": true, "rateLimit": map[string]any{"limit": 7}}
	if _, err := e.Set("a", false, rateSettings(LayerInstance, seven)); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("set check: %v", err)
	}
}

func TestInstancesCannotSwitchAMandatoryOnionOff(t *testing.T) {
	module := Basic{ModuleName: "demo-student", ModuleOnions: []Onion{bodyOnion(), rateOnion(Mandatory())}, ModuleControllers: []Declaration{Code(pingController{})}}
	in := testInput(module)
	in.App = rateSettings(LayerApp, map[string]any{"enable": true})
	e := mustBuild(t, in)
	for option, value := range map[string]any{"enable": false, "meta": map[string]any{"mode": "dev"}, "match": "/x", "ignore": "/x"} {
		for _, kind := range []LayerKind{LayerInstance, LayerStored} {
			_, err := e.Set("a", false, rateSettings(kind, map[string]any{option: value}))
			if err == nil || !strings.Contains(err.Error(), option+": an instance may not decide") {
				t.Errorf("%v, %s: %v", kind, option, err)
			}
		}
	}
	if _, err := e.Set("a", false, rateSettings(LayerInstance, map[string]any{"rateLimit": map[string]any{"limit": 3}})); err != nil {
		t.Errorf("its own options are the instance's: %v", err)
	}
}

func TestPublicFaceOfErrors(t *testing.T) {
	list := []FieldError{{Code: "x", Path: []any{"secret"}, Message: "secret"}}
	for _, c := range []struct {
		err           Error
		code, message string
	}{
		{Error{Status: 404}, "404", "Not Found"},
		{Error{Status: 422, Message: "bad", Errors: list}, "422", "bad"},
		{Error{Status: 502, Errors: list}, "502", "Bad Gateway"},
		{Error{Status: 404, Code: "7"}, "7", "Not Found"},
		{Error{Status: 404, Code: "007"}, `"007"`, "Not Found"},
		{Error{Status: 499}, "499", "Status 499"},
		{Error{Status: 500, Message: "secret"}, "500", "Internal Server Error"},
		{Error{Status: 599, Message: "secret"}, "599", "Status 599"},
	} {
		code, message, fields := c.err.Public(true)
		if string(code) != c.code || message != c.message || (len(fields) > 0) != (c.err.Status == 422) {
			t.Errorf("%+v: %s %q %v, want %s %q", c.err, code, message, fields, c.code, c.message)
		}
		if _, _, fields := c.err.Public(false); len(fields) != len(c.err.Errors) {
			t.Errorf("%+v: in development %v", c.err, fields)
		}
	}
}

// A layer that is named like the place it stands in is named once.
func TestPlaceIsNamedOnce(t *testing.T) {
	for source, want := range map[string]string{"config.yaml:3": "the layer (config.yaml:3)", "the layer": "the layer", "": "the layer"} {
		l := layer{label: "the layer", source: func(...string) string { return source }}
		if got := l.place("limit"); got != want {
			t.Errorf("source %q: %q, want %q", source, got, want)
		}
	}
}

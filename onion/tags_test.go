package onion

import (
	"context"
	"reflect"
	"strings"
	"testing"
)

type taggedStudent struct {
	ControllerTag `name:"student" path:"student" rateLimit:"mode=enforce,limit=60"`

	List   Action[Empty, string] `get:"" rateLimit:"enable,limit=5,name='a,b''c',list=x|'y|z'"`
	Create Action[Empty, string] `post:"new" rateLimit:"enable=false" prefix:"" simplify:"false"`
	hidden string
}

func newTagged() *taggedStudent { return &taggedStudent{List: ping, Create: ping, hidden: "unread"} }

type codedStudent struct{ rate *Def[policyOptions] }

func (c codedStudent) Controller() Controller {
	create := Post("create", "new", ping, c.rate.Use(policyOptions{}, Enable(false)))
	create.Prefix, create.Simplify = new(""), Off
	return Controller{Name: "student", Path: "student",
		Uses: []Use{c.rate.Use(policyOptions{RateLimit: ratePolicy{Mode: "enforce", Limit: 60}})},
		Routes: []Route{
			Get("list", "", ping, c.rate.Use(policyOptions{RateLimit: ratePolicy{Limit: 5, Name: new("a,b'c"), List: []string{"x", "y|z"}}}, Enable(true))),
			create,
		}}
}

// bare is a model without places and functions, for comparing.
func bare(c Controller) any {
	type use struct {
		onion Name
		patch map[string]any
	}
	type route struct {
		action, method, path string
		prefix               string
		simplify             Toggle
		in, out              reflect.Type
		uses                 []use
	}
	uses := func(list []Use) (out []use) {
		for _, u := range list {
			out = append(out, use{u.Onion(), u.Patch})
		}
		return out
	}
	prefix := func(p *string) string {
		if p == nil {
			return "unsaid"
		}
		return *p
	}
	var routes []route
	for _, r := range c.Routes {
		routes = append(routes, route{r.Action, r.Method, r.Path, prefix(r.Prefix), r.Simplify, r.Handler.In, r.Handler.Out, uses(r.Uses)})
	}
	return []any{c.Name, c.Path, prefix(c.Prefix), c.Simplify, uses(c.Uses), routes}
}

func TestTagsAndCodeGiveOneModel(t *testing.T) {
	rate := rateOnion()
	tagged, errs := readTags(newTagged(), "here", map[string]*spec{"rateLimit": rate.s})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if got, want := bare(tagged), bare(codedStudent{rate}.Controller()); !reflect.DeepEqual(got, want) {
		t.Errorf("tags %v\ncode %v", got, want)
	}
}

func TestTagErrorsNameTypeAndField(t *testing.T) {
	type unknownKey struct {
		ControllerTag `name:"x"`
		List          Action[Empty, string] `get:"" ratelimit:"enable"`
	}
	type unknownOption struct {
		ControllerTag `name:"x"`
		List          Action[Empty, string] `get:"" rateLimit:"limits=3"`
	}
	type badNumber struct {
		ControllerTag `name:"x"`
		List          Action[Empty, string] `get:"" rateLimit:"limit=3.5"`
	}
	type unexported struct {
		ControllerTag `name:"x"`
		list          Action[Empty, string] `get:""` //nolint:unused // the case
	}
	type noVerb struct {
		ControllerTag `name:"x"`
		List          Action[Empty, string]
	}
	type twoVerbs struct {
		ControllerTag `name:"x"`
		List          Action[Empty, string] `get:"" post:""`
	}
	type notEmbedded struct {
		List Action[Empty, string] `get:""`
	}
	type noAction struct {
		ControllerTag `name:"x"`
		List          func(context.Context, *Empty) (string, error) `get:""`
	}
	type twice struct {
		ControllerTag `name:"x"`
		List          Action[Empty, string] `get:"" rateLimit:"limit=3,limit=4"`
	}
	type pointed struct {
		ControllerTag `name:"x"`
		List          *Action[Empty, string] `get:""`
	}
	type inherited struct {
		List Action[Empty, string] `get:""`
	}
	type inherits struct {
		ControllerTag `name:"x"`
		inherited
	}
	type openQuote struct {
		ControllerTag `name:"x"`
		List          Action[Empty, string] `get:"" rateLimit:"name='a"`
	}
	rate := rateOnion()
	for _, c := range []struct {
		controller any
		want       []string
	}{
		{&unknownKey{List: ping}, []string{"unknownKey.List", `"ratelimit"`, `did you mean "rateLimit"`}},
		{&unknownOption{List: ping}, []string{"unknownOption.List", `unknown option "limits"`}},
		{&badNumber{List: ping}, []string{"badNumber.List", "limit", "3.5"}},
		{&unexported{}, []string{"unexported.list", "exported"}},
		{&noVerb{List: ping}, []string{"noVerb.List", "route tag"}},
		{&twoVerbs{List: ping}, []string{"twoVerbs.List", "two route tags"}},
		{&notEmbedded{List: ping}, []string{"notEmbedded", "embeds no onion.ControllerTag"}},
		{&noAction{List: ping}, []string{"noAction.List", "no onion.Action"}},
		{&twice{List: ping}, []string{"twice.List", "given twice"}},
		{&pointed{}, []string{"pointed.List", "pointer"}},
		{&inherits{}, []string{"inherits.inherited", "embedded"}},
		{&openQuote{List: ping}, []string{"openQuote.List", "not closed"}},
		{noVerb{}, []string{"pointer to a struct"}},
	} {
		_, errs := readTags(c.controller, "here", map[string]*spec{"rateLimit": rate.s})
		got := Errors(errs).Error()
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%T: want %q in %q", c.controller, want, got)
			}
		}
	}
	for _, tag := range []reflect.StructTag{`get:"" rateLimit:enable`, `get`, `get:"a`, `get:"\z"`} {
		r := tagReader{typ: reflect.TypeFor[twice]()}
		if r.items(reflect.StructField{Name: "List", Tag: tag}); len(r.errs) != 1 || !strings.Contains(r.errs[0].Error(), "malformed struct tag") {
			t.Errorf("tag %s: %v", tag, r.errs)
		}
	}
	if got := buildErrors(testInput(Basic{ModuleName: "a-x", ModuleOnions: []Onion{rate}, ModuleControllers: []Declaration{Tags(&taggedStudent{})}})); !strings.Contains(got, "the action is nil") || !strings.Contains(got, "taggedStudent.List") {
		t.Errorf("nil action by tags: %s", got)
	}
}

func TestAmbiguousTagName(t *testing.T) {
	type two struct {
		A ratePolicy `json:"a"`
		B ratePolicy `json:"b"`
	}
	def := Interceptor("a-x:two", func() two { return two{} }, tracing[two](""))
	if _, err := parsePolicy(def.s, "limit=3"); err == nil || !strings.Contains(err.Error(), "a.limit, b.limit") {
		t.Errorf("got %v", err)
	}
	got, err := parsePolicy(def.s, "b.limit=3,meta.mode=dev|prod,match=regexp:///x/i")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"b": map[string]any{"limit": int64(3)}, "meta": map[string]any{"mode": []any{"dev", "prod"}}, "match": []any{"regexp:///x/i"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Whole numbers in tags are those of configuration (contract A3): 5.0 is one.
func TestWholeNumbersInTags(t *testing.T) {
	def := rateOnion()
	for text, want := range map[string]any{
		"5": int64(5), "5.0": int64(5), "1e3": int64(1000), "-1": int64(-1), "9007199254740991": int64(1<<53 - 1),
		"5.5": "want a whole number, got 5.5", "five": `want a whole number, got "five"`, "": `want a whole number, got ""`,
		"NaN": "want a whole number", "inf": "want a whole number", "99999999999999999999": "out of range",
	} {
		patch, err := parsePolicy(def.s, "limit="+text)
		if message, bad := want.(string); bad {
			if err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("limit=%s: got %v, %v, want %s", text, patch, err, message)
			}
			continue
		}
		if got := map[string]any{"rateLimit": map[string]any{"limit": want}}; err != nil || !reflect.DeepEqual(patch, got) {
			t.Errorf("limit=%s: got %v, %v", text, patch, err)
		}
	}
}

// A name alone means true, which only a switch can be (contract D9, A3).
func TestNameAloneInTags(t *testing.T) {
	type options struct {
		On    Toggle   `json:"on"`
		Text  string   `json:"text"`
		List  []string `json:"list"`
		Whole int      `json:"whole"`
	}
	def := Interceptor("a-x:options", func() options { return options{} }, tracing[options](""))
	if def.s.err != nil {
		t.Fatal(def.s.err)
	}
	if got, err := parsePolicy(def.s, "enable,on"); err != nil || !reflect.DeepEqual(got, map[string]any{"enable": true, "on": true}) {
		t.Errorf("switches: %v, %v", got, err)
	}
	for _, name := range []string{"text", "list", "whole", "match", "ignore", "meta.host"} {
		want := name + ": a name alone means true: want a "
		if got, err := parsePolicy(def.s, "enable,"+name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, %v, want %q", name, got, err, want)
		}
	}
	r := tagReader{typ: reflect.TypeFor[options]()}
	for _, text := range []string{"", "T", "1", "TRUE"} {
		r.errs = nil
		if r.toggle(reflect.StructField{Name: "F"}, tagItem{"simplify", text}); len(r.errs) != 1 {
			t.Errorf("simplify:%q: %v", text, r.errs)
		}
	}
}

// An outer option and a nested one of the same name are two options.
func TestAmbiguousOuterName(t *testing.T) {
	type nested struct {
		Enable Toggle `json:"enable"`
	}
	type options struct {
		Sub  nested `json:"sub"`
		Name string `json:"name"`
		More struct {
			Name string `json:"name"`
		} `json:"more"`
	}
	def := Interceptor("a-x:nested", func() options { return options{} }, tracing[options](""))
	for tag, want := range map[string]string{"enable": ".enable, sub.enable", "name=x": ".name, more.name"} {
		if _, err := parsePolicy(def.s, tag); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", tag, err, want)
		}
	}
	got, err := parsePolicy(def.s, ".enable,sub.enable=false,.name=x")
	want := map[string]any{"enable": true, "sub": map[string]any{"enable": false}, "name": "x"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

func FuzzPolicyTag(f *testing.F) {
	f.Add("enable,mode=enforce,limit=5,name='a,b'")
	f.Add("list=a|'b|c',meta.mode=dev")
	def := rateOnion()
	f.Fuzz(func(t *testing.T, tag string) {
		patch, err := parsePolicy(def.s, tag)
		if err == nil && patch == nil {
			t.Error("neither a patch nor an error")
		}
	})
}

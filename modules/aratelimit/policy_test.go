package aratelimit

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vonago/vonago/onion"
)

type declared struct{ c onion.Controller }

func (d declared) Controller() onion.Controller { return d.c }

// application is an engine with the two onions and the routes of one controller.
type application struct {
	*bench
	engine *onion.Engine
	asked  []int64 // windows that were asked of the counter
	key    string  // the last key
}

// newApplication counts with a counter that is over any limit.
func newApplication(t *testing.T, app map[string]any, c onion.Controller) (*application, error) {
	t.Helper()
	a := &application{}
	counter := counterFunc(func(_ context.Context, key string, windowMs int64) (Count, error) {
		a.asked, a.key = append(a.asked, windowMs), key
		return Count{N: 1 << 60}, nil
	})
	a.bench = newBench(t, counter, clockAt(atMs), 0)
	m := onion.Basic{ModuleName: "demo-student", ModuleOnions: []onion.Onion{RateLimit, Aggregate}}
	c.Name = "student"
	m.ModuleControllers = []onion.Declaration{onion.Code(declared{c})}
	var err error
	a.engine, err = onion.Build(onion.Input{
		Modules: []onion.Module{m}, Env: a.env, App: onion.Settings{Kind: onion.LayerApp, Label: "app", Onions: app},
		Assemble: func(_ *onion.RouteInfo, s *onion.Steps) (onion.Next, error) {
			return onion.Compose(s.Interceptors, pass), nil
		},
	})
	return a, err
}

func (a *application) set(onions map[string]any) (*onion.Set, error) {
	return a.engine.Set("acme", false, onion.Settings{Kind: onion.LayerInstance, Label: "instance acme", Onions: onions})
}

// interceptorSection is a section of onions that speaks of RateLimit.
func interceptorSection(patch map[string]any) map[string]any {
	if patch == nil {
		return nil
	}
	return map[string]any{"interceptor": map[string]any{"a-ratelimit:rateLimit": patch}}
}

// says is a use with a patch that code could not write.
func says(patch map[string]any) []onion.Use {
	if patch == nil {
		return nil
	}
	u := RateLimit.Use(Options{})
	u.Patch = patch
	return []onion.Use{u}
}

func index(context.Context, *onion.Empty) (string, error) { return "", nil }

// inForce finds out by one call over the limit what policy a chain has; false if
// it has none.
func (a *application) inForce(t *testing.T, chain *onion.Chain) (Policy, bool) {
	t.Helper()
	route := a.engine.Routes()[0]
	a.asked = nil
	a.log.reset()
	c := testCall()
	c.Route = route
	v, err := chain.Run(t.Context(), c)
	if len(a.asked) == 0 {
		if v != "passed" || err != nil {
			t.Errorf("nothing counted, but %v, %v", v, err)
		}
		return Policy{}, false
	}
	line := a.log.lines(t)[0]
	p := Policy{Mode: Observe, WindowMs: a.asked[0], Limit: int64(line["limit"].(float64)), Headers: onion.Off}
	if err != nil {
		p.Mode = Enforce
	}
	if strings.Contains(fields(c.Response.Header), headerLimit) {
		p.Headers = onion.On
	}
	if name := line["policy"].(string); name != route.Bean+":"+route.Action {
		p.Name = name
	}
	start := windowAt(atMs, p.WindowMs).start
	for _, kind := range []KeyKind{KeyIdentity, KeyIP, KeySubject} {
		p.Key = kind
		if slotsOf(a.limiter.prefix, 128, p, route).key(testCall(), start) == a.key {
			return p, true
		}
	}
	t.Fatalf("the key %s is that of no kind", a.key)
	return Policy{}, false
}

type mergeCase struct {
	Name                                       string
	App, Instance, Controller, Action, Dynamic map[string]any
	Want                                       map[string]any
}

// concerns tells vectors of this onion from those of the merge as such.
func (m mergeCase) concerns() bool {
	_, ok := m.App["rateLimit"]
	return ok
}

// The layers of contract A4 end in the policy recorded from Vona, seen from
// outside by what the interceptor does.
func TestMergeVectors(t *testing.T) {
	// These end in what is no policy, or say in a layer what no layer may (A3).
	refused := []string{"empty string overrides", "null object over object", "false over object", "scalar then object (controller/action)"}
	for _, tc := range readVectors[mergeCase](t, "merge.json") {
		if !tc.concerns() {
			continue
		}
		t.Run(tc.Name, func(t *testing.T) {
			c := onion.Controller{Path: "student", Uses: says(tc.Controller), Routes: []onion.Route{onion.Get("index", "", index, says(tc.Action)...)}}
			a, err := newApplication(t, interceptorSection(tc.App), c)
			var set *onion.Set
			if err == nil {
				set, err = a.set(interceptorSection(tc.Instance))
			}
			if slices.Contains(refused, tc.Name) {
				if err == nil || !strings.Contains(err.Error(), "rateLimit") {
					t.Fatalf("%v, want a refusal", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			a.checkMerged(t, set, tc)
		})
	}
}

func (a *application) checkMerged(t *testing.T, set *onion.Set, tc mergeCase) {
	t.Helper()
	dynamic := maps.Clone(tc.Dynamic)
	if dynamic == nil {
		dynamic = map[string]any{}
	}
	run := func(dynamic map[string]any) (Policy, bool) {
		chain, err := set.Dynamic(a.engine.Routes()[0], "", false, map[string]map[string]any{"a-ratelimit:rateLimit": dynamic})
		if err != nil {
			t.Fatal(err)
		}
		return a.inForce(t, chain)
	}
	if _, active := run(dynamic); active != tc.Want["enable"].(bool) {
		t.Errorf("active: %v, want %v", active, tc.Want["enable"])
	}
	dynamic["enable"] = true // to see a policy that is off
	got, _ := run(dynamic)
	want := tc.Want["rateLimit"].(map[string]any)
	name, _ := want["name"].(string)
	policy := Policy{
		Mode: Mode(want["mode"].(string)), Limit: int64(want["limit"].(float64)), WindowMs: int64(want["windowMs"].(float64)),
		Key: KeyKind(want["key"].(string)), Headers: onion.ToggleOf(want["headers"].(bool)), Name: name,
	}
	if policy.Mode == Observe {
		policy.Headers = onion.Off // it sends none, whatever is said
	}
	if got != policy {
		t.Errorf("policy %+v, want %+v", got, policy)
	}
}

type policyCase struct {
	Policy map[string]any
	OK     bool
}

// What Vona takes for a policy is one here, and nothing else. The policy stands
// alone: null in the application's layer has dropped the defaults.
func TestPolicyVectors(t *testing.T) {
	for _, tc := range readVectors[policyCase](t, "policy.json") {
		err := refusal(t, map[string]any{"enable": true, "rateLimit": tc.Policy})
		if (err == nil) != tc.OK {
			t.Errorf("%v: %v, want ok %v", tc.Policy, err, tc.OK)
		}
	}
}

// refusal says what is wrong with an instance's options on top of nothing.
func refusal(t *testing.T, patch map[string]any) error {
	t.Helper()
	c := onion.Controller{Path: "student", Routes: []onion.Route{onion.Get("index", "", index)}}
	a, err := newApplication(t, interceptorSection(map[string]any{"rateLimit": nil}), c)
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.set(interceptorSection(patch))
	return err
}

// Contract A3, beyond the vectors.
func TestPolicyRefusals(t *testing.T) {
	whole := func(change map[string]any) map[string]any {
		p := map[string]any{"mode": "enforce", "limit": 3, "windowMs": 60000, "key": "identity", "headers": true}
		for k, v := range change {
			if p[k] = v; v == "absent" {
				delete(p, k)
			}
		}
		return p
	}
	for _, tc := range []struct {
		name   string
		change map[string]any
		want   string // "" for a policy
	}{
		{"integral float", map[string]any{"windowMs": 60000.0, "limit": 3.0}, ""},
		{"name null", map[string]any{"name": nil}, ""},
		{"name", map[string]any{"name": "n"}, ""},
		{"name empty", map[string]any{"name": ""}, "rateLimit.name: must not be empty"},
		{"name a number", map[string]any{"name": 1}, "rateLimit.name: want a string"},
		{"shared", map[string]any{"shared": true, "name": "n"}, ""},
		{"shared without name", map[string]any{"shared": true}, "rateLimit.name: must be given where shared is true"},
		{"shared null", map[string]any{"shared": nil, "name": "n"}, "rateLimit.shared: null"},
		{"mode null", map[string]any{"mode": nil}, "rateLimit.mode: null"},
		{"mode absent", map[string]any{"mode": "absent"}, "rateLimit.mode: must be given"},
		{"limit absent", map[string]any{"limit": "absent"}, "rateLimit.limit: must be given"},
		{"windowMs absent", map[string]any{"windowMs": "absent"}, "rateLimit.windowMs: must be given"},
		{"key absent", map[string]any{"key": "absent"}, "rateLimit.key: must be given"},
		{"headers absent", map[string]any{"headers": "absent"}, "rateLimit.headers: must be given"},
		{"other mode", map[string]any{"mode": "Enforce"}, "rateLimit.mode: want one of observe, enforce"},
		{"limit too large", map[string]any{"limit": int64(1 << 53)}, "rateLimit.limit: want 1 to 9007199254740991"},
		{"limit negative", map[string]any{"limit": -1}, "rateLimit.limit: want 1 to"},
		{"window too short", map[string]any{"windowMs": 999}, "rateLimit.windowMs: want 1000 to 86400000"},
		{"window too long", map[string]any{"windowMs": 86400001}, "rateLimit.windowMs: want 1000 to 86400000"},
		{"headers a text", map[string]any{"headers": "true"}, "rateLimit.headers: want true or false"},
		{"other case", map[string]any{"Limit": 3}, `rateLimit.Limit: unknown option, did you mean "limit"?`},
		{"a client", map[string]any{"client": "limiter"}, "rateLimit.client: unknown option"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := refusal(t, map[string]any{"enable": true, "rateLimit": whole(tc.change)})
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "instance acme")):
				t.Errorf("%v, want the layer and %q", err, tc.want)
			}
		})
	}
	t.Run("an option of nobody", func(t *testing.T) {
		if err := refusal(t, map[string]any{"limit": 3}); err == nil || !strings.Contains(err.Error(), "limit: unknown option") {
			t.Error(err)
		}
	})
}

// A literal in code says what it says and inherits the rest (contract A4).
func TestPolicyInCode(t *testing.T) {
	c := onion.Controller{
		Path: "student", Uses: []onion.Use{RateLimit.Use(Options{RateLimit: Policy{Key: KeyIP, Headers: onion.Off}})},
		Routes: []onion.Route{onion.Post("reset", "reset", index,
			RateLimit.Use(Options{RateLimit: Policy{Mode: Enforce, Limit: 5, WindowMs: 30_000, Name: "password-reset"}}, onion.Enable(true)))},
	}
	a, err := newApplication(t, nil, c)
	if err != nil {
		t.Fatal(err)
	}
	set, err := a.set(interceptorSection(map[string]any{"rateLimit": map[string]any{"limit": 1}})) // instances never beat a route
	if err != nil {
		t.Fatal(err)
	}
	chain, err := set.Chain(a.engine.Routes()[0])
	if err != nil {
		t.Fatal(err)
	}
	got, active := a.inForce(t, chain)
	want := Policy{Mode: Enforce, Limit: 5, WindowMs: 30_000, Key: KeyIP, Headers: onion.Off, Name: "password-reset"}
	if !active || got != want {
		t.Errorf("policy %+v (%v), want %+v", got, active, want)
	}
}

// Contract A12: routes that share a bucket agree on what it is.
func TestSharedBuckets(t *testing.T) {
	build := func(p, q Policy) error {
		c := onion.Controller{Path: "student", Routes: []onion.Route{
			onion.Post("reset", "reset", index, RateLimit.Use(Options{RateLimit: p}, onion.Enable(true))),
			onion.Post("invite", "invite", index, RateLimit.Use(Options{RateLimit: q}, onion.Enable(true))),
			onion.Post("other", "other", index, RateLimit.Use(Options{RateLimit: Policy{Name: "mail", WindowMs: 1000, Key: KeyIP}}, onion.Enable(true))),
		}}
		a, err := newApplication(t, nil, c)
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.set(nil)
		return err
	}
	mail := func(change func(*Policy)) Policy {
		p := Policy{Name: "mail", Shared: onion.On, Limit: 5}
		if change != nil {
			change(&p)
		}
		return p
	}
	for _, tc := range []struct {
		name string
		q    Policy
		want []string
	}{
		{"alike", mail(nil), nil},
		{"limits differ", mail(func(p *Policy) { p.Limit = 20 }), nil},
		{"another bucket", mail(func(p *Policy) { p.Name, p.WindowMs = "post", 1000 }), nil},
		{"windows differ", mail(func(p *Policy) { p.WindowMs = 1000 }), []string{"rateLimit.windowMs", "60000", "1000"}},
		{"keys differ", mail(func(p *Policy) { p.Key = KeySubject }), []string{"rateLimit.key", "identity", "subject"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := build(mail(nil), tc.q)
			if len(tc.want) == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			for _, text := range append(tc.want, "student/reset", "student/invite", `"mail"`, "policy_test.go:") {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("%v, want %q in it", err, text)
				}
			}
		})
	}
}

// Contract B1 and B8.
func TestAggregatePolicy(t *testing.T) {
	section := func(patch map[string]any) map[string]any {
		return map[string]any{"middlewareSystem": map[string]any{"a-ratelimit:aggregate": patch}}
	}
	for _, tc := range []struct {
		name   string
		patch  map[string]any
		active bool
		want   string
	}{
		{"off by default", map[string]any{}, false, ""},
		{"off with a policy", map[string]any{"rateLimit": map[string]any{"mode": "observe", "limit": 1}}, false, ""},
		{"on", map[string]any{"enable": true, "rateLimit": map[string]any{"mode": "observe", "limit": 1}}, true, ""},
		{"on with nothing", map[string]any{"enable": true}, false, "rateLimit.mode: must be given"},
		{"on without mode", map[string]any{"enable": true, "rateLimit": map[string]any{"limit": 1}}, false, "rateLimit.mode: must be given"},
		{"on without limit", map[string]any{"enable": true, "rateLimit": map[string]any{"mode": "enforce"}}, false, "rateLimit.limit: must be given"},
		{"window", map[string]any{"enable": true, "rateLimit": map[string]any{"mode": "enforce", "limit": 1, "windowMs": 1000}}, false, "rateLimit.windowMs: unknown option"},
		{"limit 0", map[string]any{"enable": true, "rateLimit": map[string]any{"mode": "enforce", "limit": 0}}, false, "rateLimit.limit: want 1 to"},
		{"limit null", map[string]any{"enable": true, "rateLimit": map[string]any{"mode": "enforce", "limit": nil}}, false, "rateLimit.limit: null"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, err := newApplication(t, section(tc.patch), onion.Controller{})
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("%v, want %q", err, tc.want)
			case err == nil && a.engine.SystemActive("a-ratelimit:aggregate", "/x") != tc.active:
				t.Errorf("active: %v", !tc.active)
			}
		})
	}
}

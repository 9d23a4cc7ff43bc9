package acore

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/vonago/vonago/modules/aratelimit"
	"github.com/vonago/vonago/onion"
)

func TestGate(t *testing.T) {
	call := func(instance, host string) *onion.Call {
		return &onion.Call{Instance: instance, Host: host}
	}
	null := &onion.Call{NoInstance: true}
	tests := []struct {
		name string
		rule GateRule
		call *onion.Call
		open bool
	}{
		{"no rule", GateRule{}, call("acme", "x"), true},
		{"no rule, no instance", GateRule{}, null, true},
		{"mode", GateRule{Mode: []onion.Mode{onion.ModeTest}}, call("", ""), true},
		{"one of the modes", GateRule{Mode: []onion.Mode{onion.ModeDev, onion.ModeTest}}, call("", ""), true},
		{"another mode", GateRule{Mode: []onion.Mode{onion.ModeProd}}, call("", ""), false},
		{"no mode at all", GateRule{Mode: []onion.Mode{}}, call("", ""), false},
		{"flavor", GateRule{Flavor: []string{"normal"}}, call("", ""), true},
		{"another flavor", GateRule{Flavor: []string{"admin"}}, call("", ""), false},
		{"mode holds, flavor does not", GateRule{Mode: []onion.Mode{onion.ModeTest}, Flavor: []string{"admin"}}, call("", ""), false},
		{"instance", GateRule{InstanceName: []string{"acme"}}, call("acme", ""), true},
		{"another instance", GateRule{InstanceName: []string{"acme"}}, call("", ""), false},
		{"default instance", GateRule{InstanceName: []string{""}}, call("", ""), true},
		{"null is not the default instance", GateRule{InstanceName: []string{""}}, null, false},
		{"host", GateRule{Host: []string{"localhost:7102"}}, call("", "localhost:7102"), true},
		{"host without its port", GateRule{Host: []string{"localhost"}}, call("", "localhost:7102"), false},
		{"host holds, instance does not", GateRule{Host: []string{"h"}, InstanceName: []string{"a"}}, call("b", "h"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newApp(t)
			a.mode, a.flavor = onion.ModeTest, "normal"
			a.routes = []onion.Route{noop(Gate(tt.rule))}
			a.mustBuild()
			value, err := onion.Compose(a.steps.Middleware, answer("in", nil))(t.Context(), tt.call)
			if tt.open {
				if value != "in" || err != nil {
					t.Errorf("%v, %v; want it open", value, err)
				}
				return
			}
			wantError(t, err, http.StatusForbidden, "Forbidden")
		})
	}
}

func noop(uses ...onion.Use) onion.Route {
	return onion.Post("run", "run", func(context.Context, *onion.Empty) (onion.Empty, error) { return onion.Empty{}, nil }, uses...)
}

// TestDecorators: each names its onion and the author's line, and writes only
// what was said.
func TestDecorators(t *testing.T) {
	for name, use := range map[onion.Name]onion.Use{
		"a-ratelimit:rateLimit": RateLimit(aratelimit.Policy{Limit: 5}, onion.Enable(true)),
		"a-core:gate":           Gate(GateRule{Flavor: []string{"x"}}, onion.Enable(true)),
		"a-error:error":         Error(ErrorOptions{Logs: map[string]bool{"404": true}}, onion.Enable(true)),
		"a-body:bodyReq":        BodyReq(BodyParser{JSONLimit: "1kb"}, onion.Enable(true)),
		"a-body:bodyRes":        BodyRes(onion.Enable(true)),
		"a-web:valid":           Valid(onion.Enable(true)),
	} {
		if use.Onion() != name || !strings.Contains(use.Where, "acore/gate_test.go:") {
			t.Errorf("%s: onion %s at %s", name, use.Onion(), use.Where)
		}
		if use.Patch["enable"] != true || len(use.Patch) > 2 {
			t.Errorf("%s: patch %v", name, use.Patch)
		}
	}
	if got := RateLimit(aratelimit.Policy{}, onion.Enable(false)).Patch; len(got) != 1 || got["enable"] != false {
		t.Errorf("an empty policy says %v", got)
	}

	a := newApp(t)
	a.routes = []onion.Route{noop(BodyReq(BodyParser{}, onion.Enable(false)), BodyRes(onion.Enable(false)), Valid(onion.Enable(false)))}
	a.mustBuild()
	if len(a.steps.Interceptors) != 0 || len(a.steps.InputPipes) != 0 {
		t.Errorf("%d interceptors and %d pipes are left", len(a.steps.Interceptors), len(a.steps.InputPipes))
	}
}

package testapp

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/onion"
)

// TestCheckNamesEveryFault runs check on a configuration in which almost
// everything is wrong.
func TestCheckNamesEveryFault(t *testing.T) {
	var out, errOut bytes.Buffer
	p := app.Program{
		Name: "testapp", Stdout: &out, Stderr: &errOut, Environ: []string{},
		Modules: func() []onion.Module { return Modules(false) },
	}
	if code := p.Run(context.Background(), []string{"check", "--config", "testdata/broken"}); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	got := errOut.String()
	for _, want := range []string{
		`config.yaml:4: app.nmae: unknown key`,
		`config.yaml:5: sever: unknown key`,
		`config.yaml:9: server.listen.port: must be between 0 and 65535, is 70000`,
		`config.yaml:10: server.subdomainOffset: must be a whole number`,
		`config.yaml:16: redis.clients.limitr: unknown client`,
		`config.yaml:18: modules.a-ratelimits: unknown key`,
		`instance "twice" is stated twice`,
		`config.yaml:23): onions.interceptors: unknown scene`,
		`config.yaml:25): rateLimit.mode: must be given`,
		`did you mean "a-ratelimit:rateLimit"`,
		`config.yaml:29): enable: want true or false, got 1`,
		`config.yaml:30): rateLimit.limit: want a whole number, got 1.5`,
		`rateLimit.windowMs: want 1000 to 86400000, got 999`,
		`rateLimit.key: want one of identity, ip, subject, got "IP"`,
		`rateLimit.limits: unknown option`,
		`dependency cycle: a-body:bodyReq after a-ratelimit:rateLimit`,
		`acme.yaml:5): public: an instance cannot make routes public`,
		`acme.yaml:7): onions.middlewareSystem.a-ratelimit:aggregate`,
		`malformed.yaml:2: malformed YAML`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("not named: %s", want)
		}
	}
	// Consequences of other faults are no faults.
	for _, not := range []string{"no module provides", "must not be empty"} {
		if strings.Contains(got, not) {
			t.Errorf("names a consequence: %s", not)
		}
	}
	if n := len(regexp.MustCompile(`(?m)^ *\d+\. `).FindAllString(got, -1)); n != 19 {
		t.Errorf("%d errors, want 19:\n%s", n, got)
	}
}

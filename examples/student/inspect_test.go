package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestInspectRoute is what `go run ./examples/student inspect route ...` prints in
// the project's directory.
func TestInspectRoute(t *testing.T) {
	t.Chdir("../..")
	for _, route := range []string{"GET /api/demo/student/:id", "GET /api/demo/student/1"} {
		var out, errOut bytes.Buffer
		p := program()
		p.Stdout, p.Stderr, p.Environ = &out, &errOut, []string{}
		if code := p.Run(t.Context(), []string{"inspect", "route", route, "--instance", "acme"}); code != 0 || errOut.Len() > 0 {
			t.Fatalf("exit code %d: %s", code, &errOut)
		}
		lines := strings.Split(out.String(), "\n")
		at := -1
		for _, want := range []string{ // in this order, with lines between them
			"GET /api/demo/student/:id",
			`  instance  "acme", id 2, Acme school  (examples/student/config/instances/acme.yaml)`,
			"  + a-ratelimit:aggregate",
			"      rateLimit.mode = observe  (examples/student/config/config.yaml:21)",
			"  + a-instance:instance",
			"  + a-user:passport",
			"      public = true  (action, student.Students.View)",
			"  + a-ratelimit:rateLimit",
			"      rateLimit.headers = true  (default)",
			"      rateLimit.limit = 30  (examples/student/config/instances/acme.yaml:7)",
			"      rateLimit.mode = enforce  (examples/student/config/config.yaml:23)",
			"  + a-body:bodyRes",
			"  + a-error:error",
		} {
			next := slices.Index(lines[at+1:], want)
			if next < 0 {
				t.Errorf("%s: not there, or out of order: %s\n%s", route, want, &out)
				break
			}
			at += 1 + next
		}
	}
}

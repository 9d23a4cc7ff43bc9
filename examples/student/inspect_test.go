package main

import (
	"bytes"
	"os"
	"regexp"
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

// TestGuideShowsRealOutput runs the commands of the configuration guide and
// compares what it says they print; "..." stands for lines that are left out.
func TestGuideShowsRealOutput(t *testing.T) {
	t.Chdir("../..")
	guide, err := os.ReadFile("docs/config-guide.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, m := range regexp.MustCompile("(?ms)^```text\n\\$ go run ./examples/student (.*?)\n(.*?)^```").FindAllStringSubmatch(string(guide), -1) {
		ran++
		var out, errOut bytes.Buffer
		p := program()
		p.Stdout, p.Stderr, p.Environ = &out, &errOut, []string{}
		if code := p.Run(t.Context(), words(m[1])); code != 0 {
			t.Errorf("%s: exit code %d: %s", m[1], code, &errOut)
		}
		rest := out.String()
		for i, part := range strings.Split(m[2], "...\n") {
			_, after, found := strings.Cut(rest, part)
			if !found || i == 0 && !strings.HasPrefix(rest, part) {
				t.Errorf("%s does not print, or not here:\n%s\nbut\n%s", m[1], part, &out)
				break
			}
			rest = after
		}
	}
	if ran < 3 {
		t.Errorf("the guide has %d commands", ran)
	}
}

// words splits a command line at its blanks, but for those in quotes.
func words(line string) []string {
	var list []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			list = append(list, part)
			continue
		}
		list = append(list, strings.Fields(part)...)
	}
	return list
}

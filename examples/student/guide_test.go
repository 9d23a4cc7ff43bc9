package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestPassportGuide runs the commands of the passport guide, in their order in one shell, and compares what they print with
// what the guide says.
func TestPassportGuide(t *testing.T) {
	base, log := serve(t)
	guide, err := os.ReadFile("../../docs/passport-guide.md")
	if err != nil {
		t.Fatal(err)
	}
	const address, end = "127.0.0.1:7102", "\x1e"
	var commands, wants []string
	last := 0
	for _, m := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```").FindAllStringSubmatchIndex(string(guide), -1) {
		language, text := string(guide[m[2]:m[3]]), string(guide[m[4]:m[5]])
		switch {
		case language == "sh" && !strings.HasPrefix(text, "go run"):
			commands, wants = append(commands, strings.ReplaceAll(text, address, strings.TrimPrefix(base, "http://"))), append(wants, "")
			last = m[1]
		case (language == "json" || language == "text") && len(commands) > 0 && strings.TrimSpace(string(guide[last:m[0]])) == "":
			wants[len(wants)-1] = text
		}
	}
	if len(commands) < 8 {
		t.Fatalf("%d commands", len(commands))
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-u", "-c", strings.Join(commands, "\necho '"+end+"'\n"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &stdout, &stderr)
	}
	printed := strings.Split(stdout.String(), end)
	if len(printed) != len(commands) || stderr.Len() > 0 {
		t.Fatalf("%d of %d commands ran\n%s\n%s", len(printed), len(commands), &stdout, &stderr)
	}
	for i, got := range printed {
		if strings.TrimSpace(got) != strings.TrimSpace(wants[i]) {
			t.Errorf("%s\nprints %s\nwant   %s", commands[i], got, wants[i])
		}
		for _, secret := range regexp.MustCompile(`eyJ[\w-]+\.[\w-]+`).FindAllString(got, -1) {
			t.Errorf("%s\nprints the token %s", commands[i], secret)
		}
	}
	for _, secret := range []string{"eyJ", "in-development"} { // of a token, of a password
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log holds %q:\n%s", secret, log)
		}
	}
	if !strings.Contains(log.String(), "signed out") {
		t.Errorf("no sign-out in the log:\n%s", log)
	}
}

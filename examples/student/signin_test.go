package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vonago/vonago/examples/student/student"
)

// TestNobodyLearnsNames compares a wrong password with an unknown name: the same answer, in the same time.
func TestNobodyLearnsNames(t *testing.T) {
	base, _ := serve(t)
	attempt := func(name, password string) (string, *http.Response) {
		res, body := call(t, "POST", base+"/api/demo/student/auth/sign-in", fmt.Sprintf(`{"name":%q,"password":%q}`, name, password), "Content-Type: application/json")
		return fmt.Sprint(res.StatusCode, " ", body), res
	}
	wrong, wrongRes := attempt("tom", "guess")
	unknown, unknownRes := attempt("nobody", "guess")
	if wrong != unknown || wrong != `401 {"code":401,"message":"Unauthorized"}` {
		t.Errorf("a wrong password: %s\nan unknown name: %s", wrong, unknown)
	}
	for name := range wrongRes.Header {
		if a, b := wrongRes.Header[name], unknownRes.Header[name]; name != "Date" && !strings.HasPrefix(name, "Ratelimit") && !slices.Equal(a, b) {
			t.Errorf("%s: %q for a wrong password, %q for an unknown name", name, a, b)
		}
	}
	if len(wrongRes.Header) != len(unknownRes.Header) || wrongRes.Header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("header fields %v and %v", wrongRes.Header, unknownRes.Header)
	}

	// Without the decoy an unknown name costs a thousandth.
	users := student.NewUsers()
	fastest := map[string]time.Duration{"tom": time.Hour, "nobody": time.Hour}
	for range 8 { // in turns, so that what else the machine does hits both
		for name := range fastest {
			began := time.Now()
			if p, err := users.Check(t.Context(), name, "guess"); p != nil || err != nil {
				t.Fatalf("%s: %v, %v", name, p, err)
			}
			fastest[name] = min(fastest[name], time.Since(began))
		}
	}
	if known, unknown := fastest["tom"], fastest["nobody"]; known > 4*unknown || unknown > 4*known {
		t.Errorf("a wrong password takes %v, an unknown name %v", known, unknown)
	}
}

// TestCheck: the right password only, of that user only.
func TestCheck(t *testing.T) {
	users := student.NewUsers()
	for _, tc := range []struct {
		name, password string
		ok             bool
	}{
		{"tom", "tom-in-development", true}, {"admin", "admin-in-development", true},
		{"tom", "admin-in-development", false}, {"tom", "", false}, {"TOM", "tom-in-development", false},
		{"", "tom-in-development", false}, {"1", "admin-in-development", false}, {"tom", "tom-in-developmenT", false},
	} {
		p, err := users.Check(t.Context(), tc.name, tc.password)
		if err != nil || (p != nil) != tc.ok {
			t.Errorf("%q %q: %v, %v", tc.name, tc.password, p, err)
		}
	}
}

// TestSignInFlood: an address has ten attempts a minute, whatever it tries and at whichever route; then the password is
// not even looked at.
func TestSignInFlood(t *testing.T) {
	const json = "Content-Type: application/json"
	var log *output
	for {
		before := time.Now().Truncate(time.Minute)
		var base string
		base, log = serve(t) // anew in each round: one that the minute's end cut in two has used up part of the next
		url := base + "/api/demo/student/auth/"
		var allowed int
		for i := range 14 {
			path, body := "sign-in", fmt.Sprintf(`{"name":"user%d","password":"guess"}`, i)
			if i%2 == 1 {
				path, body = "refresh", `{"refreshToken":"guess"}`
			}
			if res, _ := call(t, "POST", url+path, body, json); res.StatusCode == http.StatusUnauthorized {
				allowed++
			}
		}
		res, body := call(t, "POST", url+"sign-in", `{"name":"tom","password":"tom-in-development"}`, json)
		if !time.Now().Truncate(time.Minute).Equal(before) {
			continue // the minute ended between
		}
		if allowed != 10 {
			t.Errorf("%d attempts were heard, want 10", allowed)
		}
		if res.StatusCode != http.StatusTooManyRequests || body != `{"code":429,"message":"Too Many Requests"}` || res.Header.Get("Retry-After") == "" {
			t.Errorf("the right password after that: %d %s", res.StatusCode, body)
		}
		break
	}
	if !strings.Contains(log.String(), "sign-in") || strings.Contains(log.String(), "guess") {
		t.Errorf("log:\n%s", log)
	}
}

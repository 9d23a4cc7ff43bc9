package testapp

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestPathSpellings spends a budget and goes on under every other spelling of the path: each is either the same path, and
// counts in the same bucket, or none at all. None reaches the action.
func TestPathSpellings(t *testing.T) {
	s := Start(t, Setup{})
	const dir = "/api/test/vona/probe/"
	spellings := []string{
		dir + "limited", dir + "%6cimited", dir + "limite%64", dir + "%6C%69%6D%69%74%65%64", "/%61pi/test/vona/probe/limited", "/api/t%65st/vona/probe/limited",
		dir + "limited?x=1", dir + "limited?", dir + "limited?/../../x", dir + "limited?;x", dir + "limited?%00",
		dir + "limited#x", dir + "Limited", dir + "LIMITED", "/API/test/vona/probe/limited", "/api/Test/vona/probe/limited",
		dir + "limited/", dir + "limited//", dir + "/limited", "//api/test/vona/probe/limited", "/api//test/vona/probe/limited", "/./api/test/vona/probe/limited",
		dir + "./limited", dir + "x/../limited", dir + "limited/.", dir + "limited/..", dir + "%2e/limited", dir + "x/%2e%2e/limited", dir + ".%2e/probe/limited",
		dir + "limited%2F", dir + "%2Flimited", "/api%2Ftest%2Fvona%2Fprobe%2Flimited", dir + "limited%252F", dir + "%256cimited", dir + "limite%25%36%34",
		dir + "limited;x", dir + "limited;x=1", dir + "limited%3Bx", dir + "limited;", "/api;x/test/vona/probe/limited", dir + "limited,x", dir + "limited:x",
		dir + "limited%00", dir + "limited%20", dir + "limited+", dir + "limited.", dir + "limited.json", dir + "limited.html", dir + "limited%0a", dir + "limited%09",
		dir + "limited\\", dir + "..\\probe\\limited", "\\api\\test\\vona\\probe\\limited", dir + "lımited", dir + "ｌimited", dir + "limited%E2%80%8B", dir + "limited%c0%80",
		dir + "%6c%u0069mited", dir + "limited%", dir + "limited%6", dir + "limited%zz", dir + "&#108;imited", dir + "%C1%ACimited",
		"http://" + strings.TrimPrefix(s.URL, "http://") + dir + "limited", "http://other.test" + dir + "limited", "HTTP://a@b:1" + dir + "%6climited",
	}
	same := map[string]bool{ // what is the same path: escaped once, with a query, or in absolute form
		spellings[0]: true, spellings[1]: true, spellings[2]: true, spellings[3]: true, spellings[4]: true, spellings[5]: true,
		spellings[6]: true, spellings[7]: true, spellings[8]: true, spellings[9]: true, spellings[10]: true,
		spellings[len(spellings)-3]: true,
	}
	sameDay(t, func() {
		s.Redis.FlushAll()
		for range 3 {
			s.Do(t, http.MethodGet, dir+"limited", "")
		}
		before := s.Redis.Keys("*")
		for _, spelling := range spellings {
			for _, method := range []string{"GET", "HEAD"} {
				host := "x"
				a := s.raw(t, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nAccept: application/json\r\nConnection: close\r\n\r\n", method, spelling, host))
				switch {
				case a.status < 400 || strings.Contains(a.body, "within the limit"):
					t.Errorf("%s %q got through: %d %s", method, spelling, a.status, a.body)
				case same[spelling] && a.status != http.StatusTooManyRequests:
					t.Errorf("%s %q is the same path, but is answered %d %s", method, spelling, a.status, a.body)
				case a.header.Get("Location") != "":
					t.Errorf("%s %q is redirected", method, spelling)
				}
			}
		}
		if keys := s.Redis.Keys("*"); len(keys) != 1 || len(before) != 1 {
			t.Errorf("keys %v", keys)
		}
	})
}

// TestParametersShareTheBucket: whatever stands in the place of a parameter, the route is one.
func TestParametersShareTheBucket(t *testing.T) {
	s := Start(t, Setup{Local: "onions: {interceptor: {a-ratelimit:rateLimit: {enable: true, rateLimit: {mode: enforce, limit: 5, windowMs: 86400000}}}}"})
	for route, paths := range map[string][]string{
		":id":      {"1", "2", "a%2Fb", "%61", "a;x", "..%2F", "%2e%2e", "a%00", "%25", "a:b", "é", "*", "A", "a.json"},
		"optional": {"optional", "optional/1", "optional/2", "optional/%2F", "optional/;x", "optional/a", "optional/b"},
		"rest":     {"rest/a", "rest/a/b", "rest//", "rest/a/../b", "rest/a//b", "rest/%2F", "rest/x/y/z"},
	} {
		sameDay(t, func() {
			s.Redis.FlushAll()
			ok := 0
			for _, path := range paths {
				a := s.raw(t, "GET /api/test/vona/shapes/"+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
				switch a.status {
				case http.StatusOK:
					ok++
				case http.StatusTooManyRequests:
				default:
					t.Errorf("%s: %d %s", path, a.status, a.body)
				}
			}
			if keys := s.Redis.Keys("*"); ok != 5 || len(keys) != 1 {
				t.Errorf("%s: %d of %d admitted, want 5; keys %v", route, ok, len(paths), keys)
			}
		})
	}
}

// TestMethodsAndBudgets is contract A13 and C10: HEAD counts like GET, OPTIONS and what finds no route do not, and an
// overridden method counts where it leads.
func TestMethodsAndBudgets(t *testing.T) {
	s := Start(t, Setup{Local: `onions: {interceptor: {a-ratelimit:rateLimit: {enable: true, rateLimit: {mode: enforce, limit: 4, windowMs: 86400000}}}}`})
	const limited, put = "/api/test/vona/probe/hello", "/api/test/vona/probe/method"
	statuses := func(path string, requests ...[]string) string {
		var all []string
		for _, r := range requests {
			res, _ := s.Do(t, r[0], path, "", r[1:]...)
			all = append(all, fmt.Sprint(res.StatusCode))
		}
		return strings.Join(all, " ")
	}
	sameDay(t, func() {
		s.Redis.FlushAll()
		got := statuses(limited, []string{"GET"}, []string{"HEAD"}, []string{"OPTIONS"}, []string{"DELETE"}, []string{"POST"}, []string{"TRACE"}, []string{"BREW"}, []string{"get"},
			[]string{"OPTIONS", "Origin: https://a.test", "Access-Control-Request-Method: GET"}, []string{"HEAD"}, []string{"GET"}, []string{"GET"}, []string{"HEAD"}, []string{"OPTIONS"})
		if want := "200 200 204 405 405 405 405 405 204 200 200 429 429 204"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		got = statuses(put, []string{"PUT"}, []string{"POST", "X-HTTP-Method-Override: PUT"}, []string{"POST", "X-HTTP-Method-Override:  put "}, []string{"POST"},
			[]string{"POST", "X-HTTP-Method-Override: GET"}, []string{"POST", "X-HTTP-Method-Override: HEAD"}, []string{"POST", "X-HTTP-Method-Override: PUT, PUT"},
			[]string{"POST", "X-HTTP-Method-Override: CONNECT"}, []string{"GET", "X-HTTP-Method-Override: PUT"}, []string{"PUT", "X-HTTP-Method-Override: DELETE"},
			[]string{"POST", "X-HTTP-Method-Override: PUT"}, []string{"PUT"})
		if want := "200 200 200 405 400 400 400 400 405 200 429 429"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if keys := s.Redis.Keys("*"); len(keys) != 2 {
			t.Errorf("keys %v", keys)
		}
	})
}

// TestPagesCanReadA429: the answer of the identity limiter has what a page of another origin needs to read it; that of the
// aggregate, which comes before, has not (contract C3).
func TestPagesCanReadA429(t *testing.T) {
	const local = `onions:
  middlewareSystem:
    a-security:cors: {whiteList: ["https://page.test"]}
    a-ratelimit:aggregate: {enable: %t, rateLimit: {mode: enforce, limit: 1}}
`
	const origin = "Origin: https://page.test"
	s := Start(t, Setup{Local: fmt.Sprintf(local, false)})
	var res *http.Response
	sameDay(t, func() {
		s.Redis.FlushAll()
		for range 4 {
			res, _ = s.Do(t, http.MethodGet, "/api/test/vona/probe/limited", "", origin)
		}
	})
	exposed := res.Header.Get("Access-Control-Expose-Headers")
	if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Access-Control-Allow-Origin") != "https://page.test" || res.Header.Get("Vary") != "Origin" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	for _, field := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"} {
		if res.Header.Get(field) == "" || !strings.Contains(exposed, field) {
			t.Errorf("%s is %q, exposed are %q", field, res.Header.Get(field), exposed)
		}
	}
	if res, _ = s.Do(t, http.MethodGet, "/api/test/vona/probe/limited", "", "Origin: https://evil.test"); res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another origin may read it: %v", res.Header)
	}
	s.Redis.Kill()
	if res, _ = s.Do(t, http.MethodGet, "/api/test/vona/probe/limited", "", origin); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("a 503: %d %v", res.StatusCode, res.Header)
	}
	s.Redis.Restart()

	s = Start(t, Setup{Redis: s.Redis, Local: fmt.Sprintf(local, true)})
	for range 50 {
		if res, _ = s.Do(t, http.MethodGet, "/api/test/vona/probe/hello", "", origin); res.StatusCode == http.StatusTooManyRequests {
			break
		}
	}
	if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Access-Control-Allow-Origin") != "" || res.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the aggregate: %d %v", res.StatusCode, res.Header)
	}
}

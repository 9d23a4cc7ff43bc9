package testapp

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// row is one rule of chapter C: a request, and its answer in production and, if
// it differs, in development.
type row struct {
	point        string
	method, path string
	header       []string // "Name: value"
	body         string
	status       int
	want         string   // the body; "~text" wants text in it
	dev          string   // the body in development, if another
	headers      []string // "Name: value"; "-Name" wants it absent; "Name" wants it present
	not          string   // a text that may not be in the body in production
}

const (
	asJSON = "Accept: application/json"
	asHTML = "Accept: text/html,application/xhtml+xml,*/*;q=0.8"
	isJSON = "Content-Type: application/json"
	isForm = "Content-Type: application/x-www-form-urlencoded"
)

func rows(t *testing.T) []row {
	t.Helper()
	const api = "/api/test/vona/probe/"
	echoed := `{"code":0,"message":"Success","data":{"id":7,"tags":["a","b"],"agent":"x","body":{"name":"Ada","age":3}}}`
	return []row{
		{point: "C1 value", path: api + "hello", status: 200, want: `{"code":0,"message":"Success","data":"hello"}`},
		{point: "C1 no value", path: api + "nothing", status: 200, want: `{"code":0,"message":"Success","data":null}`},
		{point: "C1 nil slice", path: api + "list", status: 200, want: `{"code":0,"message":"Success","data":[]}`},
		{point: "C1 nil map", path: api + "map", status: 200, want: `{"code":0,"message":"Success","data":{}}`},
		{point: "C1 reply", path: api + "raw", status: 418, want: "short and stout", headers: []string{"Content-Type: text/plain"}},
		{point: "C1 written by hand", path: api + "write", status: 202, want: "written by hand"},
		{point: "C1 arguments", method: "POST", path: api + "echo/7?tag=a&tag=b", header: []string{isJSON, "X-Agent: x"}, body: `{"name":"Ada","age":3}`, status: 200, want: echoed},
		{point: "C1 form", method: "POST", path: api + "echo/7?tag=a&tag=b", header: []string{isForm, "X-Agent: x", asJSON}, body: `name=Ada&age=3`, status: 200, want: echoed},

		{point: "C2 business", path: api + "fail?how=business", status: 400, want: `{"code":"test-vona:1001","message":"not today"}`},
		{point: "C2 validation", method: "POST", path: api + "echo/0", header: []string{isJSON}, body: `{"name":"","age":-1}`, status: 422,
			want: `~"errors":[{"code":"min","path":["id"]`},
		{point: "C2 conversion and validation in one list", method: "POST", path: api + "echo/x", header: []string{isJSON}, body: `{"name":"","age":1}`, status: 422,
			want: `~"path":["id"]`},

		{point: "C3 5xx", path: api + "fail", status: 500, want: `{"code":500,"message":"Internal Server Error"}`, dev: `~{"code":500,"message":`, not: "secret"},
		{point: "C3 5xx business", path: api + "fail?how=business500", status: 500, want: `{"code":"test-vona:1002","message":"Internal Server Error"}`, dev: `~secret business detail`, not: "secret"},
		{point: "C3 own status", path: api + "fail?how=bad+gateway", status: 502, want: `{"code":502,"message":"Bad Gateway"}`, dev: `~502`, not: "secret"},
		{point: "C3 html", path: api + "fail?how=bad+gateway", header: []string{asHTML}, status: 502, want: `<h2>502 Bad Gateway</h2>`, dev: `~secret`, not: "secret",
			headers: []string{"Content-Type: text/html; charset=utf-8"}},
		{point: "C3 html 4xx", path: api + "private", header: []string{asHTML}, status: 401, want: `<h2>401 Unauthorized</h2>`, dev: `~401`},
		{point: "C3 security headers on errors", path: api + "fail", status: 500, want: `~500`, headers: []string{"X-Content-Type-Options: nosniff", "Referrer-Policy", "X-Frame-Options", "Vary: Origin"}},
		{point: "C3 errors before a-security", path: api + "hello", header: []string{"x-vona-instance-name: unknown"}, status: 423, want: `{"code":423,"message":"Locked"}`,
			headers: []string{"X-Content-Type-Options: nosniff", "-X-Frame-Options", "-Access-Control-Allow-Origin"}},

		{point: "C4 no Accept", path: api + "hello", header: []string{"Accept: "}, status: 200, want: `~"code":0`},
		{point: "C4 any", path: api + "hello", header: []string{"Accept: */*"}, status: 200, want: `~"code":0`},
		{point: "C4 html", path: api + "hello", header: []string{asHTML}, status: 200, want: `hello`, headers: []string{"Content-Type: text/html; charset=utf-8"}},
		{point: "C4 json preferred", path: api + "hello", header: []string{"Accept: text/html;q=0.5, application/json"}, status: 200, want: `~"code":0`},
		{point: "C4 json path", path: "/nope.json", header: []string{asHTML}, status: 404, want: `{"code":404,"message":"Not Found"}`},
		{point: "C4 json path, success", path: "/api/test/vona/shapes/7.json", header: []string{asHTML}, status: 200, want: `~{"code":0,"message":"Success","data":`},
		{point: "C4 json body", method: "POST", path: api + "echo/0", header: []string{asHTML, isJSON}, body: `{}`, status: 422, want: `~"code":422`},
		{point: "C4a no value", path: api + "nothing", header: []string{asHTML}, status: 204, want: ``},
		{point: "C4a not a string", path: api + "list", header: []string{asHTML}, status: 200, want: `[]`, headers: []string{"Content-Type: application/json; charset=utf-8"}},

		{point: "C5 unknown", path: "/nope", status: 404, want: `{"code":404,"message":"Not Found"}`},
		{point: "C5 unknown html", path: "/nope", header: []string{asHTML}, status: 404, want: `<h1>404 Not Found</h1>`},
		{point: "C5 case", path: "/API/test/vona/probe/hello", status: 404, want: `~404`},
		{point: "C5 trailing slash", path: api + "hello/", status: 404, want: `~404`},
		{point: "C5 doubled slash", path: "/api//test/vona/probe/hello", status: 404, want: `~404`},
		{point: "C5 dot segments", path: api + "x/../hello", status: 404, want: `~404`},
		{point: "C5 decoded once", path: api + "h%65llo", status: 200, want: `~"hello"`},
		{point: "C5 escaped slash", path: "/api/test/vona/shapes/a%2Fb", status: 200, want: `~"param id=a/b"`},
		{point: "C5 method", method: "DELETE", path: api + "hello", status: 405, want: `{"code":405,"message":"Method Not Allowed"}`, headers: []string{"Allow: GET, HEAD, OPTIONS"}},
		{point: "C5 HEAD", method: "HEAD", path: api + "hello", status: 200, want: ``, headers: []string{"Content-Length: 45"}},
		{point: "C5 OPTIONS", method: "OPTIONS", path: api + "hello", status: 204, want: ``, headers: []string{"Allow: GET, HEAD, OPTIONS"}},

		{point: "C6 no token", path: api + "private", status: 401, want: `{"code":401,"message":"Unauthorized"}`, headers: []string{"WWW-Authenticate: Bearer"}},
		{point: "C6 malformed token", path: api + "private", header: []string{"Authorization: Bearer x.y.z"}, status: 401, want: `{"code":401,"message":"Unauthorized"}`, headers: []string{`WWW-Authenticate: Bearer error="invalid_token"`}},
		{point: "C6 expired token", path: api + "private", header: []string{"Authorization: Bearer " + token(t, -time.Hour)}, status: 401, want: `~401`},
		{point: "C6 good token", path: api + "private", header: []string{"Authorization: bearer " + token(t, time.Hour)}, status: 200, want: `{"code":0,"message":"Success","data":"for 7"}`},
		{point: "C6 bad token on a public action", path: api + "hello", header: []string{"Authorization: Bearer x.y.z"}, status: 200, want: `~"hello"`},
		{point: "C6 expired on a public action, asked", path: api + "hello", header: []string{"Authorization: Bearer " + token(t, -time.Hour), "x-vona-jwt-authtoken: true"}, status: 401, want: `{"code":401,"message":"jwt expired"}`},
		{point: "C6 403", path: api + "admin", header: []string{"Authorization: Bearer " + token(t, time.Hour)}, status: 403, want: `{"code":403,"message":"Forbidden"}`},
		{point: "C6 403 of an anonymous caller", path: api + "fail?how=forbidden", status: 401, want: `{"code":401,"message":"Unauthorized"}`},

		{point: "C7 malformed", method: "POST", path: api + "echo/1", header: []string{isJSON}, body: `{"name":`, status: 400, want: `{"code":400,"message":"Problems parsing JSON"}`},
		{point: "C7 no object", method: "POST", path: api + "echo/1", header: []string{isJSON}, body: `"text"`, status: 400, want: `~400`},
		{point: "C7 too large", method: "POST", path: api + "echo/1", header: []string{isJSON}, body: `{"name":"` + strings.Repeat("x", 21<<20) + `"}`, status: 413, want: `{"code":413,"message":"request entity too large"}`},
		{point: "C7 unknown encoding", method: "POST", path: api + "echo/1", header: []string{isJSON, "Content-Encoding: zork"}, body: `{}`, status: 415, want: `~415`},
		{point: "C7 bad gzip", method: "POST", path: api + "echo/1", header: []string{isJSON, "Content-Encoding: gzip"}, body: `{}`, status: 400, want: `~400`},
		{point: "C7 gzip", method: "POST", path: api + "echo/7?tag=a&tag=b", header: []string{isJSON, "Content-Encoding: gzip", "X-Agent: x"}, body: zipped(t, `{"name":"Ada","age":3}`), status: 200, want: echoed},
		{point: "C7 no body parsing for GET", method: "GET", path: api + "hello", header: []string{isJSON}, body: `{"name":`, status: 200, want: `~"hello"`},

		{point: "C8 disabled instance", path: api + "hello", header: []string{"x-vona-instance-name: closed"}, status: 423, want: `{"code":423,"message":"Locked"}`},
		{point: "C8 null instance", path: api + "hello", header: []string{"x-vona-instance-name: null"}, status: 401, want: `{"code":401,"message":"Unauthorized"}`, headers: []string{"WWW-Authenticate: Bearer"}},
		{point: "C8 health of an unknown instance", path: "/health/live", header: []string{"x-vona-instance-name: unknown"}, status: 200, want: `~ok`},

		{point: "C9 panic", path: api + "panic", status: 500, want: `{"code":500,"message":"Internal Server Error"}`, dev: `~"code":500`, not: "secret"},
		{point: "C9 served after a panic", path: api + "hello", status: 200, want: `~"hello"`},
		{point: "C9 typed nil error", path: api + "fail?how=typed+nil", status: 200, want: `~"fine"`},

		{point: "C10 method override", method: "POST", path: api + "method", header: []string{"X-HTTP-Method-Override: PUT"}, status: 200, want: `~"put"`},
		{point: "C10 override of a GET", method: "GET", path: api + "method", header: []string{"X-HTTP-Method-Override: PUT"}, status: 405, want: `~405`},

		{point: "B3 static file", path: "/static/file.txt", status: 200, want: "a static file\n", headers: []string{"X-Content-Type-Options: nosniff"}},
		{point: "D5 optional absent", path: "/api/test/vona/shapes/optional", status: 200, want: `~"optional"`},
		{point: "D5 optional given", path: "/api/test/vona/shapes/optional/5", status: 200, want: `~"optional id=5"`},
		{point: "D5 rest", path: "/api/test/vona/shapes/rest/a/b", status: 200, want: `~=a/b"`},
		{point: "D5 absolute", path: "/api/absolute/3", status: 200, want: `~"absolute id=3"`},
		{point: "D5 without prefix", path: "/robots.txt", status: 200, want: `~"root"`},
		{point: "D4 no header is trusted by default", path: api + "address", header: []string{"X-Forwarded-For: 9.9.9.9"}, status: 200, want: `~"127.0.0.1"`},
	}
}

// token signs an access token as a Vona of the same application would.
func token(t *testing.T, valid time.Duration) string {
	t.Helper()
	now := time.Now()
	claims := jwt.MapClaims{
		"client": "access", "data": map[string]any{"userId": "1", "authId": 7, "token": "opaque"},
		"iat": now.Add(-2 * time.Hour).Unix(), "exp": now.Add(valid).Unix(), "iss": "testapp",
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte("testapp-key-for-tests-only-0123456789"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestChapterC(t *testing.T) {
	for _, mode := range []string{"prod", "dev"} {
		t.Run(mode, func(t *testing.T) {
			s := Start(t, Setup{Mode: mode})
			for _, r := range rows(t) {
				t.Run(r.point, func(t *testing.T) { r.check(t, s, mode) })
			}
			for _, secret := range []string{"opaque", token(t, time.Hour)[:40]} {
				if strings.Contains(s.Log.String(), secret) {
					t.Errorf("the log holds %q", secret)
				}
			}
		})
	}
}

func (r row) check(t *testing.T, s *Server, mode string) {
	t.Helper()
	res, body := s.Do(t, r.method, r.path, r.body, r.header...)
	if res.StatusCode != r.status {
		t.Errorf("status %d, want %d; body %s", res.StatusCode, r.status, body)
	}
	want := r.want
	if mode == "dev" && r.dev != "" {
		want = r.dev
	}
	if text, part := strings.CutPrefix(want, "~"); part && !strings.Contains(body, text) || !part && body != want {
		t.Errorf("body  %.600s\nwant  %s", body, want)
	}
	if mode == "prod" && r.not != "" && strings.Contains(body, r.not) {
		t.Errorf("production shows %q: %s", r.not, body)
	}
	for _, h := range r.headers {
		name, value, exact := strings.Cut(h, ": ")
		absent := strings.HasPrefix(name, "-")
		got := res.Header.Get(strings.TrimPrefix(name, "-"))
		if absent && got != "" || !absent && got == "" || exact && got != value {
			t.Errorf("header %s is %q", h, got)
		}
	}
}

// Do sends a request and reads the answer. An empty method is GET, or POST with
// a body.
func (s *Server) Do(t testing.TB, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

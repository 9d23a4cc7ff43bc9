package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// output is what the program prints, read while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// serve runs the example as `go run ./examples/student` does, but on a port of
// the system's choice, and gives its base URL.
func serve(t *testing.T) (base string, log *output) {
	t.Helper()
	p := program()
	p.Dirs = []string{patient(t)}
	out, log := &output{}, &output{}
	p.Stdout, p.Stderr, p.Environ = out, log, []string{"SERVER_LISTEN_PORT=0"}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() { ended <- p.Run(ctx, nil) }()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("exit code %d\n%s", code, log)
		}
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, after, found := strings.Cut(out.String(), "student listens on "); found && strings.Contains(after, "\n") {
			base, _, _ = strings.Cut(after, "\n")
			return base, log
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not listen\n%s\n%s", out, log)
		}
	}
}

// patient is the example's configuration with a limiter that waits as long as a
// busy machine needs: these tests count, and are not about time.
func patient(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "config"), os.DirFS("config")); err != nil {
		t.Fatal(err)
	}
	local := "redis: {clients: {limiter: {timeoutMs: 20000, dialTimeoutMs: 20000}}}"
	if err := os.WriteFile(filepath.Join(dir, "config", "config.local.yaml"), []byte(local), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func call(t *testing.T, method, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
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

// TestFirstMinute is what the README promises to a newcomer, with nothing but Go
// installed.
func TestFirstMinute(t *testing.T) {
	base, log := serve(t)
	const json = "Content-Type: application/json"
	for _, c := range []struct {
		method, path, body string
		header             []string
		status             int
		want               string
	}{
		{method: "GET", path: "/api/demo/student/1", status: 200, want: `{"code":0,"message":"Success","data":{"id":1,"name":"Ada","year":1}}`},
		{method: "GET", path: "/nope", status: 404, want: `{"code":404,"message":"Not Found"}`},
		{method: "GET", path: "/api/demo/student/mine", status: 401, want: `{"code":401,"message":"Unauthorized"}`},
		{method: "POST", path: "/api/demo/student", body: `{"name":`, header: []string{json}, status: 400, want: `{"code":400,"message":"Problems parsing JSON"}`},
		{method: "POST", path: "/api/demo/student", body: `{"name":"","year":9}`, header: []string{json}, status: 422, want: `"path":["name"]`},
		{method: "POST", path: "/api/demo/student/password/request-reset", body: `{"email":"a@b.test"}`, header: []string{json}, status: 200, want: `{"accepted":true}`},
		{method: "GET", path: "/health/ready", status: 200, want: `"a-redis":"ok"`},
	} {
		res, body := call(t, c.method, base+c.path, c.body, c.header...)
		if res.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, res.StatusCode, body, c.status, c.want)
		}
	}

	res, _ := call(t, "GET", base+"/api/demo/student/1", "", "x-vona-instance-name: acme")
	if got := res.Header.Get("RateLimit-Limit"); got != "30" {
		t.Errorf("acme's limit is %q, want 30", got)
	}
	limited(t, base)
	if !strings.Contains(log.String(), "rate_limit.rejected") {
		t.Errorf("no event in the log:\n%s", log)
	}
}

// limited calls the route limited to 6 a minute; where the minute ended between,
// the seventh call is the first of another one, and the round is repeated.
func limited(t *testing.T, base string) {
	t.Helper()
	for {
		before := time.Now().Truncate(time.Minute)
		var res *http.Response
		var body string
		for range 7 {
			res, body = call(t, "GET", base+"/api/demo/student/report", "")
		}
		if !time.Now().Truncate(time.Minute).Equal(before) {
			continue
		}
		if res.StatusCode != http.StatusTooManyRequests || body != `{"code":429,"message":"Too Many Requests"}` || res.Header.Get("Retry-After") == "" {
			t.Errorf("the seventh call: %d %s %v", res.StatusCode, body, res.Header)
		}
		return
	}
}

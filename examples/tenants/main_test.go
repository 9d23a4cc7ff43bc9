//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vonago/vonago/internal/pgtest"
	"github.com/vonago/vonago/internal/redistest"
)

// cluster is what the processes of one application share.
type cluster struct {
	bin, dir string
	environ  []string
	redis    *redistest.Server
	postgres *pgtest.Server
	database string
}

// newCluster builds the program and starts a Redis and a PostgreSQL for it.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{dir: t.TempDir(), redis: redistest.Start(t), postgres: pgtest.Start(t)}
	c.database = c.postgres.Database()
	c.bin = filepath.Join(c.dir, "tenants")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", c.bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if err := os.CopyFS(filepath.Join(c.dir, "config"), os.DirFS("config")); err != nil {
		t.Fatal(err)
	}
	local := fmt.Sprintf("database:\n  clients:\n    default:\n      client: pg\n      timeoutMs: 20000\n      connection:\n"+
		"        filename: \"\"\n        port: %d\n        user: %s\n        database: %s\n        sslMode: disable\n"+
		// These tests are not about the limiter's time.
		"redis:\n  clients:\n    limiter: {timeoutMs: 20000, dialTimeoutMs: 20000}\n", c.postgres.Port(), c.postgres.User(), c.database)
	if err := os.WriteFile(filepath.Join(c.dir, "config", "config.local.yaml"), []byte(local), 0o600); err != nil {
		t.Fatal(err)
	}
	c.environ = []string{
		"META_MODE=dev", "SERVER_LISTEN_PORT=0", "REDIS_DEFAULT_HOST=127.0.0.1", fmt.Sprintf("REDIS_DEFAULT_PORT=%d", c.redis.Port()),
	}
	return c
}

// process is one running program.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	url string
	log *syncBuffer
}

func (c *cluster) start(t *testing.T) *process {
	t.Helper()
	p := &process{t: t, log: &syncBuffer{}}
	p.cmd = exec.Command(c.bin, "--config", c.dir)
	p.cmd.Env, p.cmd.Stderr = c.environ, p.log
	p.cmd.Dir = c.dir
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGCONT)
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
		if t.Failed() {
			t.Logf("the program's log:\n%s", p.log)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "listens on "); ok {
			p.url = url
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return p
		}
	}
	t.Fatalf("the program never listened:\n%s", p.log)
	return nil
}

type answer struct {
	status int
	header http.Header
	Code   any             `json:"code"`
	Data   json.RawMessage `json:"data"`
}

// do sends a request for a tenant; body and token may be empty.
func (p *process) do(method, path, tenant, token, body string) (answer, error) {
	req, err := http.NewRequest(method, p.url+"/api/demo/tenants/"+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("x-vona-instance-name", tenant)
	req.Header.Set("content-type", "application/json")
	if token != "" {
		req.Header.Set("authorization", "Bearer "+token)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	return a, json.NewDecoder(res.Body).Decode(&a)
}

func (p *process) must(method, path, tenant, token, body string) answer {
	p.t.Helper()
	a, err := p.do(method, path, tenant, token, body)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (p *process) login() string {
	p.t.Helper()
	a := p.must("POST", "login", "", "", `{"key":"tenants-development-key"}`)
	var token struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(a.Data, &token); err != nil || token.Token == "" {
		p.t.Fatalf("login: %+v, %v", a, err)
	}
	return token.Token
}

// shows is what a tenant's request shows of its record: status and limit.
func (p *process) shows(tenant string) string {
	a, err := p.do("GET", "hello", tenant, "", "")
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(a.status, " ", a.header.Get("RateLimit-Limit"))
}

// within waits for a tenant to show something and tells how long it took.
func (p *process) within(limit time.Duration, tenant, want string) {
	p.t.Helper()
	began := time.Now()
	for {
		got := p.shows(tenant)
		took := time.Since(began)
		if got == want && took <= limit {
			p.t.Logf("%q shows %q after %v", tenant, want, took.Round(time.Millisecond))
			return
		}
		if took > limit {
			p.t.Fatalf("%q shows %q after %v, want %q within %v", tenant, got, took, want, limit)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func wantStatus(t *testing.T, what string, a answer, want int) {
	t.Helper()
	if a.status != want {
		t.Fatalf("%s: status %d, code %v, want %d", what, a.status, a.Code, want)
	}
}

func TestTwoProcesses(t *testing.T) {
	c := newCluster(t)
	var a, b *process
	started := make(chan *process) // at once: both prepare the tables
	for range 2 {
		go func() { started <- c.start(t) }()
	}
	a, b = <-started, <-started
	token := a.login()
	const instant = time.Second // the promise

	t.Run("an update is in force in the other", func(t *testing.T) {
		a.t, b.t = t, t
		if got := b.shows("acme"); got != "423 " {
			t.Fatalf("before it is made acme shows %q", got)
		}
		wantStatus(t, "without a token", a.must("POST", "records", "", "", `{"name":"acme"}`), 401)
		wantStatus(t, "create", a.must("POST", "records", "", token, `{"name":"acme","title":"Acme","limit":30000}`), 200)
		wantStatus(t, "create again", b.must("POST", "records", "", token, `{"name":"acme"}`), 409)
		b.within(instant, "acme", "200 30000")
		wantStatus(t, "update", a.must("PATCH", "records", "", token, `{"name":"acme","limit":31000}`), 200)
		if got := a.shows("acme"); got != "200 31000" {
			t.Errorf("in the process that was asked acme shows %q at once, want 200 31000", got)
		}
		b.within(instant, "acme", "200 31000")
		wantStatus(t, "update", b.must("PATCH", "records", "", token, `{"name":"acme","limit":32000}`), 200)
		a.within(instant, "acme", "200 32000")
		wantStatus(t, "refused", b.must("PATCH", "records", "", token, `{"name":"acme","limit":0}`), 422)
		wantStatus(t, "disable", a.must("PATCH", "records", "", token, `{"name":"acme","disabled":true}`), 200)
		b.within(instant, "acme", "423 ")
		wantStatus(t, "enable", a.must("PATCH", "records", "", token, `{"name":"acme","disabled":false}`), 200)
		b.within(instant, "acme", "200 32000")
	})

	t.Run("a stopped process catches up", func(t *testing.T) {
		a.t, b.t = t, t
		if err := b.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, "update", a.must("PATCH", "records", "", token, `{"name":"acme","limit":33000}`), 200)
		if err := b.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		b.within(instant, "acme", "200 33000")
	})

	t.Run("a change that Redis could not tell", func(t *testing.T) {
		a.t, b.t = t, t
		c.redis.Kill()
		// The limiter has no Redis either and answers 503: the tenant's lock shows what is in force.
		wantStatus(t, "update", a.must("PATCH", "records", "", token, `{"name":"acme","disabled":true}`), 503)
		c.postgres.Exec(c.database, `UPDATE "aInstance" SET "disabled" = true WHERE "name" = 'acme'`)
		c.redis.Restart()
		b.within(5*time.Second, "acme", "423 ")
		a.within(5*time.Second, "acme", "423 ")
		wantStatus(t, "enable", a.must("PATCH", "records", "", token, `{"name":"acme","disabled":false}`), 200)
		b.within(instant, "acme", "200 33000")
	})

	t.Run("a record that does not decode", func(t *testing.T) {
		a.t, b.t = t, t
		c.postgres.Exec(c.database, `UPDATE "aInstance" SET "config" = '{"onions":{"interceptor":{"a-ratelimit:rateLimit":{"rateLimit":{"limit":"many"}}}}}' WHERE "name" = 'acme'`)
		wantStatus(t, "update", a.must("PATCH", "records", "", token, `{"name":"acme","title":"Broken"}`), 200)
		for _, p := range []*process{a, b} {
			deadline := time.Now().Add(instant)
			for !strings.Contains(p.log.String(), "the last good one stays in force") && time.Now().Before(deadline) {
				time.Sleep(5 * time.Millisecond)
			}
			if log := p.log.String(); !strings.Contains(log, "rateLimit.limit") || !strings.Contains(log, "the last good one stays in force") {
				t.Errorf("the log does not name what is wrong:\n%s", log)
			}
			p.within(instant, "acme", "200 33000")
		}
	})

	t.Run("first requests leave one row", func(t *testing.T) {
		a.t, b.t = t, t
		const callers = 64
		c.postgres.Exec(c.database, `DELETE FROM "aInstance" WHERE "name" = ''`)
		// New processes, so that nothing is in memory: the default instance is configured and has no record.
		one, two := c.start(t), c.start(t)
		start := make(chan struct{})
		ids := make([]string, callers)
		var wg sync.WaitGroup
		for i := range callers {
			p := []*process{one, two}[i%2]
			wg.Go(func() {
				<-start
				res, err := p.do("GET", "hello", "", "", "")
				if err != nil || res.status != 200 {
					t.Errorf("a first request: %+v, %v", res, err)
				}
				ids[i] = string(res.Data)
			})
		}
		close(start)
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Errorf("first requests saw %s and %s", ids[0], id)
			}
		}
		rows := c.postgres.Count(c.database, `SELECT count(*) FROM "aInstance" WHERE "name" = '' AND NOT "deleted"`)
		t.Logf("%d first requests of two processes left %d row", callers, rows)
		if rows != 1 {
			t.Errorf("%d rows, want 1", rows)
		}
	})

	t.Run("PostgreSQL away", func(t *testing.T) {
		a.t, b.t = t, t
		wantStatus(t, "create", a.must("POST", "records", "", token, `{"name":"late","limit":9000}`), 200)
		c.postgres.Stop()
		wantStatus(t, "in memory", a.must("GET", "hello", "", "", ""), 200)
		res := a.must("GET", "hello", "unseen", "", "")
		wantStatus(t, "not in memory", res, 503)
		if res.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After is %q, want 1", res.header.Get("Retry-After"))
		}
		wantStatus(t, "a process that started meanwhile", c.start(t).must("GET", "hello", "", "", ""), 503)
		c.postgres.Restart()
		b.within(5*time.Second, "late", "200 9000")
		a.within(5*time.Second, "unseen", "423 ")
	})
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

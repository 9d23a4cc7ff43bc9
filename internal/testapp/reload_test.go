package testapp

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/onion"
)

const (
	helloPath   = "/api/test/vona/probe/hello"
	limitedPath = "/api/test/vona/probe/limited"
	asAcme      = "x-vona-instance-name: acme"
	reloaded    = "the configuration was reloaded"
	refused     = "the configuration was not reloaded"
)

// configCopy is a copy of this package's configuration that a test may change.
func configCopy(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "config")
	if err := os.CopyFS(dir, os.DirFS(Dir())); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, text string, path ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path...), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// replace writes a file as editors do that rename a finished one over it.
func replace(t testing.TB, text string, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	write(t, text, name+".swp")
	if err := os.Rename(name+".swp", name); err != nil {
		t.Fatal(err)
	}
}

// acme is the instance's file with a limit on line 7.
func acme(limit string) string {
	return fmt.Sprintf(`id: 2
config:
  onions:
    interceptor:
      a-ratelimit:rateLimit:
        enable: true
        rateLimit: {limit: %s, windowMs: 86400000}
`, limit)
}

// within waits until a condition holds.
func within(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// limitOf is the limit that acme is told.
func (s *Server) limitOf(t testing.TB) string {
	t.Helper()
	res, _ := s.Do(t, http.MethodGet, helloPath, "", asAcme)
	return res.Header.Get("RateLimit-Limit")
}

func (s *Server) awaitLimit(t testing.TB, want string) {
	t.Helper()
	within(t, 2*time.Second, "the limit "+want, func() bool { return s.limitOf(t) == want })
}

// load sends requests of acme without rest until stop is called, which gives how
// many there were and what was wrong with them.
func (s *Server) load(t testing.TB) (stop func() (sent int64, faults []string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var sent atomic.Int64
	var mu sync.Mutex
	var faults []string
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	one := func() error {
		req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, s.URL+helloPath, http.NoBody)
		if err != nil {
			return err
		}
		req.Header.Set("x-vona-instance-name", "acme")
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK || res.Header.Get("RateLimit-Limit") == "" {
			return fmt.Errorf("status %d, limit %q", res.StatusCode, res.Header.Get("RateLimit-Limit"))
		}
		return nil
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := one(); err != nil {
					mu.Lock()
					faults = append(faults, err.Error())
					mu.Unlock()
				}
				sent.Add(1)
			}
		})
	}
	// What the application tells of itself is read meanwhile.
	all.Go(func() {
		for ctx.Err() == nil {
			route := s.App.Routes()[0]
			if _, err := s.App.Explain(ctx, route, "acme"); err != nil && ctx.Err() == nil {
				t.Errorf("explain during a reload: %v", err)
			}
			_, _ = s.App.Instances(), s.App.Warnings()
			time.Sleep(time.Millisecond)
		}
	})
	return func() (int64, []string) {
		cancel()
		all.Wait()
		client.CloseIdleConnections()
		return sent.Load(), faults
	}
}

// TestReloadUnderLoad edits an instance's file while requests come in: the limit
// changes within two seconds, a broken file changes nothing and is told once, and
// no request fails.
func TestReloadUnderLoad(t *testing.T) {
	dir := configCopy(t)
	replace(t, acme("1000000"), dir, "instances", "acme.yaml")
	s := Start(t, Setup{Config: dir})
	if got := s.limitOf(t); got != "1000000" {
		t.Fatalf("the limit is %s at first", got)
	}
	stop := s.load(t)
	replace(t, acme("2000000"), dir, "instances", "acme.yaml")
	s.awaitLimit(t, "2000000")

	replace(t, acme("many"), dir, "instances", "acme.yaml")
	within(t, 2*time.Second, "the fault is told", func() bool { return s.Log.Count(refused) > 0 })
	if s.Log.Count(refused, "acme.yaml:7", "rateLimit.limit", "want a whole number") != 1 {
		t.Errorf("the log does not name file, line and path:\n%s", s.Log)
	}
	if got := s.limitOf(t); got != "2000000" {
		t.Errorf("a broken file made the limit %q", got)
	}
	replace(t, "config: {onions: [", dir, "instances", "acme.yaml")
	within(t, 2*time.Second, "malformed YAML is told", func() bool { return s.Log.Count(refused, "acme.yaml:1: malformed YAML") == 1 })

	replace(t, acme("3000000"), dir, "instances", "acme.yaml")
	s.awaitLimit(t, "3000000")
	sent, faults := stop()
	if len(faults) > 0 {
		t.Errorf("%d of %d requests failed: %s", len(faults), sent, faults[0])
	}
	if sent < 100 {
		t.Errorf("only %d requests: that is no load", sent)
	}
	if n := s.Log.Count(refused); n != 2 {
		t.Errorf("%d refusals were told for two broken files:\n%s", n, s.Log)
	}
	if n := s.Log.Count(reloaded); n != 2 {
		t.Errorf("%d reloads were told, want 2:\n%s", n, s.Log)
	}
}

// TestReloadSeesEveryWayOfWriting changes the file as programs do it.
func TestReloadSeesEveryWayOfWriting(t *testing.T) {
	t.Run("an editor replaces the file", func(t *testing.T) {
		dir := configCopy(t)
		s := Start(t, Setup{Config: dir})
		for _, limit := range []string{"41", "42"} { // the second time it is another file already
			replace(t, acme(limit), dir, "instances", "acme.yaml")
			s.awaitLimit(t, limit)
		}
	})
	t.Run("Kubernetes swaps a link", func(t *testing.T) {
		// As a ConfigMap is mounted: the files are links through ..data, which is
		// swapped for one to a new directory.
		dir := configCopy(t)
		instances := filepath.Join(dir, "instances")
		publish := func(version, limit string) {
			write(t, "id: 1\n", mkdir(t, instances, version), "default.yaml")
			write(t, acme(limit), instances, version, "acme.yaml")
			link(t, version, instances, "..data_tmp")
			if err := os.Rename(filepath.Join(instances, "..data_tmp"), filepath.Join(instances, "..data")); err != nil {
				t.Fatal(err)
			}
		}
		publish("..v1", "51")
		for _, name := range []string{"default.yaml", "acme.yaml"} {
			if err := os.Remove(filepath.Join(instances, name)); err != nil {
				t.Fatal(err)
			}
			link(t, filepath.Join("..data", name), instances, name)
		}
		s := Start(t, Setup{Config: dir})
		if got := s.limitOf(t); got != "51" {
			t.Fatalf("the limit is %s at first", got)
		}
		publish("..v2", "52")
		s.awaitLimit(t, "52")
	})
	t.Run("instances come and go", func(t *testing.T) {
		dir := configCopy(t)
		s := Start(t, Setup{Config: dir})
		status := func(want int) func() bool {
			return func() bool {
				res, _ := s.Do(t, http.MethodGet, helloPath, "", "x-vona-instance-name: new")
				return res.StatusCode == want
			}
		}
		if !status(http.StatusLocked)() {
			t.Fatal("the instance is there before its file")
		}
		write(t, "title: New\n", dir, "instances", "new.yaml")
		within(t, 2*time.Second, "the new instance answers", status(http.StatusOK))
		if err := os.Remove(filepath.Join(dir, "instances", "new.yaml")); err != nil {
			t.Fatal(err)
		}
		within(t, 2*time.Second, "the instance is locked again", status(http.StatusLocked))
	})
	t.Run("nobody looks", func(t *testing.T) {
		dir := configCopy(t)
		s := Start(t, Setup{Config: dir, Options: []app.Option{app.WithoutWatch()}})
		replace(t, acme("61"), dir, "instances", "acme.yaml")
		if got := s.limitOf(t); got != "30" {
			t.Errorf("the limit is %s", got)
		}
		s.App.ReloadFiles()
		s.awaitLimit(t, "61")
	})
}

// TestReloadJudgesSectionsOfModules, which change at the next start only: that must
// not be the first to refuse them.
func TestReloadJudgesSectionsOfModules(t *testing.T) {
	dir := configCopy(t)
	s := Start(t, Setup{Config: dir})
	replace(t, "redis: {clients: {limiter: {retries: 3}, limitr: {}}}\njwt: {field: {header: 'a b'}}\n", dir, "config.local.yaml")
	within(t, 2*time.Second, "the faults are told", func() bool { return s.Log.Count(refused) > 0 })
	if s.Log.Count(refused,
		"config.local.yaml:1: redis.clients.limiter.retries: must be 0, is 3",
		"config.local.yaml:1: redis.clients.limitr: unknown client",
		"config.local.yaml:2: jwt.field.header:") != 1 || s.Log.Count(reloaded) > 0 {
		t.Errorf("the log does not name every fault with its line:\n%s", s.Log)
	}
	replace(t, "redis: {clients: {limiter: {timeoutMs: 300}}}\n", dir, "config.local.yaml")
	within(t, 2*time.Second, "a good section is told to wait", func() bool {
		return s.Log.Count("takes a restart", "redis.clients.limiter.timeoutMs") == 1
	})
}

func mkdir(t testing.TB, path ...string) string {
	t.Helper()
	dir := filepath.Join(path...)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func link(t testing.TB, target string, path ...string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(path...)); err != nil {
		t.Fatal(err)
	}
}

// word is an interceptor that answers, after the action, with the word it was
// built with.
func word() onion.Module {
	type options struct {
		Word string `json:"word"`
	}
	build := func(o options, _ onion.Env) (onion.Wrap, error) {
		return func(next onion.Next) onion.Next {
			return func(ctx context.Context, c *onion.Call) (any, error) {
				value, err := next(ctx, c)
				c.Response.Header.Set("x-word", o.Word)
				return value, err
			}
		}, nil
	}
	def := onion.Interceptor("test-word:word", func() options { return options{Word: "none"} }, build, onion.Global(), onion.After("a-body:bodyRes"))
	return onion.Basic{ModuleName: "test-word", ModuleOnions: []onion.Onion{def}}
}

// TestRequestInFlightKeepsItsSet reloads while an action runs.
func TestRequestInFlightKeepsItsSet(t *testing.T) {
	dir := configCopy(t)
	local := func(text string) {
		replace(t, "onions: {interceptor: {test-word:word: {word: "+text+"}}}\n", dir, "config.local.yaml")
	}
	local("old")
	slow := newSlow()
	s := Start(t, Setup{Config: dir, Modules: []onion.Module{word(), slow}})
	type outcome struct {
		word, body string
		status     int
	}
	answered := make(chan outcome, 1)
	go func() {
		res, body := s.Do(t, http.MethodGet, "/api/test/slow/wait", "")
		answered <- outcome{res.Header.Get("x-word"), body, res.StatusCode}
	}()
	<-slow.entered
	local("new")
	within(t, 2*time.Second, "other requests see the new word", func() bool {
		res, _ := s.Do(t, http.MethodGet, helloPath, "")
		return res.Header.Get("x-word") == "new"
	})
	close(slow.leave)
	if got := <-answered; got.word != "old" || got.status != http.StatusOK || !strings.Contains(got.body, "done") {
		t.Errorf("the request in flight got %+v", got)
	}
}

// TestCountersGoOn reloads in the middle of a window.
func TestCountersGoOn(t *testing.T) {
	dir := configCopy(t)
	s := Start(t, Setup{Config: dir})
	limits := 100
	sameDay(t, func() {
		s.Redis.FlushAll()
		var statuses []int
		for range 4 {
			res, _ := s.Do(t, http.MethodGet, limitedPath, "")
			statuses = append(statuses, res.StatusCode)
			limits++
			replace(t, acme(fmt.Sprint(limits)), dir, "instances", "acme.yaml")
			s.awaitLimit(t, fmt.Sprint(limits))
		}
		if fmt.Sprint(statuses) != "[200 200 200 429]" {
			t.Errorf("statuses %v: a reload forgot what was counted", statuses)
		}
	})
}

// TestWhatTakesARestart changes what is read once, together with what is not.
func TestWhatTakesARestart(t *testing.T) {
	dir := configCopy(t)
	s := Start(t, Setup{Config: dir})
	write(t, `server:
  globalPrefix: /v2
  listen:
    port: 1
  keys: [another-key-that-nobody-may-see]
app: {name: other}
redis: {base: {password: hunter2}}
modules: {a-ratelimit: {maxEventsPerSecond: 3}}
`, dir, "config.local.yaml")
	within(t, 2*time.Second, "the new prefix", func() bool {
		res, _ := s.Do(t, http.MethodGet, "/v2/test/vona/probe/hello", "")
		return res.StatusCode == http.StatusOK
	})
	const told = "some of what has changed takes a restart"
	within(t, 2*time.Second, "the warning", func() bool { return s.Log.Count(told) == 1 })
	for _, want := range []string{
		"server.listen.port (", "config.local.yaml:4)", "server.keys (", "app.name (", "redis.base.password (",
		"modules.a-ratelimit.maxEventsPerSecond (",
	} {
		if s.Log.Count(told, want) != 1 {
			t.Errorf("the warning does not name %s:\n%s", want, s.Log)
		}
	}
	for _, not := range []string{"globalPrefix", "nobody-may-see", "hunter2"} {
		if strings.Contains(s.Log.String(), not) {
			t.Errorf("the log names %s", not)
		}
	}
	// The name is part of every key in Redis.
	s.Do(t, http.MethodGet, "/v2/test/vona/probe/limited", "")
	for _, key := range s.Redis.Keys("*") {
		if !strings.HasPrefix(key, "limiter_testapp_local:") {
			t.Errorf("key %s", key)
		}
	}

	// Taken back, there is nothing left to tell.
	if err := os.Remove(filepath.Join(dir, "config.local.yaml")); err != nil {
		t.Fatal(err)
	}
	within(t, 2*time.Second, "the second reload", func() bool { return s.Log.Count(reloaded) == 2 })
	if n := s.Log.Count(told); n != 1 {
		t.Errorf("the warning was given %d times", n)
	}

	// A fault in what takes a restart is a fault all the same.
	write(t, "server: {listen: {port: 70000}}\n", dir, "config.local.yaml")
	within(t, 2*time.Second, "the fault", func() bool { return s.Log.Count(refused, "config.local.yaml:1", "server.listen.port") == 1 })
}

// TestReloadNamesEveryFault is one line for all that is wrong in several files.
func TestReloadNamesEveryFault(t *testing.T) {
	dir := configCopy(t)
	s := Start(t, Setup{Config: dir, Options: []app.Option{app.WithoutWatch()}})
	write(t, "sever: 1\nserver: {globalPrefix: api}\n", dir, "config.local.yaml")
	write(t, acme("0"), dir, "instances", "acme.yaml")
	write(t, "id: [", dir, "instances", "bad.yaml")
	s.App.ReloadFiles()
	within(t, 2*time.Second, "the faults", func() bool { return s.Log.Count(refused) == 1 })
	if s.Log.Count(refused, "config.local.yaml:1: sever", "config.local.yaml:2: server.globalPrefix", "acme.yaml:7", "bad.yaml:1") != 1 {
		t.Errorf("log:\n%s", s.Log)
	}
	if got := s.limitOf(t); got != "30" {
		t.Errorf("the limit is %s", got)
	}
}

// TestOldRuntimeIsReleased asks the garbage collector what is left of what was in
// force before a reload.
func TestOldRuntimeIsReleased(t *testing.T) {
	dir := configCopy(t)
	s := Start(t, Setup{Config: dir})
	s.limitOf(t)
	before := weak.Make(s.App.Routes()[0])
	replace(t, acme("71"), dir, "instances", "acme.yaml")
	s.awaitLimit(t, "71")
	within(t, 10*time.Second, "the old routes are collected", func() bool {
		runtime.GC()
		return before.Value() == nil
	})
}

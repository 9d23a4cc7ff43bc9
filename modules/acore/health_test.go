package acore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vonago/vonago/onion"
)

func check(module string, ready readyFunc) onion.ReadyCheck {
	return onion.ReadyCheck{Module: module, ReadyChecker: ready}
}

func okCheck(context.Context) error { return nil }

// detailed is a check that has more to say.
type detailed struct{ readyFunc }

func (detailed) ReadyDetail() string { return "breaker open" }

func TestHealth(t *testing.T) {
	secret := errors.New("dial tcp 10.1.2.3:6379: password hunter2")
	refused := fmt.Errorf("dial 10.1.2.3: %w", syscall.ECONNREFUSED)
	tests := []struct {
		name, path string
		probe      fakeProbe
		status     int
		body       string
	}{
		{"live", "/health/live", fakeProbe{started: true}, 200, `{"status":"ok"}`},
		{"live while starting", "/health/live", fakeProbe{}, 200, `{"status":"ok"}`},
		{"live while draining", "/health/live", fakeProbe{started: true, draining: true}, 200, `{"status":"ok"}`},
		{"startup", "/health/startup", fakeProbe{started: true}, 200, `{"status":"ok"}`},
		{"startup while starting", "/health/startup", fakeProbe{}, 503, `{"status":"starting"}`},
		{"ready without checks", "/health/ready", fakeProbe{started: true}, 200, `{"status":"ok"}`},
		{"ready while starting", "/health/ready", fakeProbe{}, 503, `{"status":"starting"}`},
		{"ready while draining", "/health/ready", fakeProbe{started: true, draining: true}, 503, `{"status":"draining"}`},
		{
			"ready", "/health/ready",
			fakeProbe{started: true, checks: []onion.ReadyCheck{check("a-redis", okCheck), check("a-instance", okCheck)}},
			200, `{"status":"ok","checks":{"a-instance":"ok","a-redis":"ok"}}`,
		},
		{
			"ready with a detail", "/health/ready",
			fakeProbe{started: true, checks: []onion.ReadyCheck{{Module: "a-ratelimit", ReadyChecker: detailed{okCheck}}, check("a-redis", okCheck)}},
			200, `{"status":"ok","checks":{"a-ratelimit":"ok","a-redis":"ok"},"details":{"a-ratelimit":"breaker open"}}`,
		},
		{
			"one is not", "/health/ready",
			fakeProbe{started: true, checks: []onion.ReadyCheck{
				check("a-failed", func(context.Context) error { return secret }),
				check("a-ok", okCheck),
				check("a-panic", func(context.Context) error { panic("boom") }),
				check("a-refused", func(context.Context) error { return refused }),
			}},
			503, `{"status":"unavailable","checks":{"a-failed":"failed","a-ok":"ok","a-panic":"failed","a-refused":"refused"}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				a := newApp(t)
				a.probe = &tt.probe
				run := a.system("a-core:health", nil, answer(onion.Unhandled, nil))
				c := newCall(method, tt.path)
				c.WantsJSON = false // probes are answered in JSON whatever they accept
				value, err := run(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				reply, ok := value.(*onion.Reply)
				if !ok || reply.Status != tt.status || string(reply.Body) != tt.body {
					t.Fatalf("got %+v %s, want %d %s", value, reply.Body, tt.status, tt.body)
				}
				if reply.ContentType != contentJSON || reply.Header.Get("Cache-Control") != "no-store" {
					t.Errorf("type %q, header %v", reply.ContentType, reply.Header)
				}
			}
		})
	}
}

func TestHealthIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		a := newApp(t)
		a.probe = &fakeProbe{started: true, checks: []onion.ReadyCheck{
			check("a-deaf", func(context.Context) error { <-release; return nil }),
			check("a-slow", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }),
			check("a-ok", okCheck),
		}}
		run := a.system("a-core:health", map[string]any{"timeoutMs": 250}, answer(onion.Unhandled, nil))
		start := time.Now()
		value, err := run(t.Context(), newCall(http.MethodGet, "/health/ready"))
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 250*time.Millisecond {
			t.Errorf("took %v, want the bound of 250ms", took)
		}
		want := `{"status":"unavailable","checks":{"a-deaf":"timeout","a-ok":"ok","a-slow":"timeout"}}`
		if got := string(value.(*onion.Reply).Body); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		close(release)
	})
}

func TestHealthShareARound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rounds atomic.Int32
		release := make(chan struct{})
		a := newApp(t)
		a.probe = &fakeProbe{started: true, checks: []onion.ReadyCheck{check("a-redis", func(context.Context) error {
			rounds.Add(1)
			<-release
			return nil
		})}}
		run := a.system("a-core:health", nil, answer(onion.Unhandled, nil))
		ask := func(ctx context.Context, statuses chan<- int) {
			value, err := run(ctx, newCall(http.MethodGet, "/health/ready"))
			if err != nil {
				t.Error(err)
				return
			}
			statuses <- value.(*onion.Reply).Status
		}
		statuses := make(chan int, 10)
		// The first to ask leaves before the outcome; the others still get it.
		leaving, leave := context.WithCancel(t.Context())
		go ask(leaving, make(chan int, 1))
		synctest.Wait()
		for range cap(statuses) {
			go ask(t.Context(), statuses)
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		close(release)
		for range cap(statuses) {
			if status := <-statuses; status != http.StatusOK {
				t.Errorf("status %d, want 200", status)
			}
		}
		if n := rounds.Load(); n != 1 {
			t.Errorf("%d rounds of checks, want 1", n)
		}
		ask(t.Context(), statuses)
		if n := rounds.Load(); n != 2 {
			t.Errorf("%d rounds after another probe, want 2", n)
		}
	})
}

func TestHealthLogsTheError(t *testing.T) {
	a := newApp(t)
	a.probe = &fakeProbe{started: true, checks: []onion.ReadyCheck{check("a-redis", func(context.Context) error { return errors.New("the reason") })}}
	run := a.system("a-core:health", nil, answer(onion.Unhandled, nil))
	if _, err := run(t.Context(), newCall(http.MethodGet, "/health/ready")); err != nil {
		t.Fatal(err)
	}
	if text := a.logs.String(); !strings.Contains(text, "the reason") || !strings.Contains(text, "a-redis") {
		t.Errorf("log %q, want module and reason", text)
	}
}

func TestHealthPaths(t *testing.T) {
	tests := []struct {
		method, path string
		handled      bool
	}{
		{http.MethodGet, "/health/live", false},
		{http.MethodGet, "/internal/live", true},
		{http.MethodGet, "/internal/ready", true},
		{http.MethodGet, "/internal/startup", true},
		{http.MethodGet, "/internal", false},
		{http.MethodGet, "/internal/", false},
		{http.MethodGet, "/internal/live/", false},
		{http.MethodGet, "/Internal/live", false},
		{http.MethodGet, "/api/internal/live", false},
	}
	a := newApp(t)
	run := a.system("a-core:health", map[string]any{"path": "/internal"}, answer(onion.Unhandled, nil))
	for _, tt := range tests {
		value, err := run(t.Context(), newCall(tt.method, tt.path))
		if _, handled := value.(*onion.Reply); err != nil || handled != tt.handled {
			t.Errorf("%s %s: %v, %v; want handled %v", tt.method, tt.path, value, err, tt.handled)
		}
	}
	_, err := run(t.Context(), newCall(http.MethodPost, "/internal/live"))
	if allow := wantError(t, err, http.StatusMethodNotAllowed, "").Header.Get("Allow"); allow != "GET, HEAD" {
		t.Errorf("Allow %q", allow)
	}
}

func TestHealthRefuses(t *testing.T) {
	for _, tt := range []struct {
		options map[string]any
		want    string
	}{
		{map[string]any{"path": "health"}, `path: want a path like /health, got "health"`},
		{map[string]any{"path": "/"}, "path: want a path"},
		{map[string]any{"path": ""}, "path: must not be empty"},
		{map[string]any{"timeoutMs": 0}, "timeoutMs: want 1 to 60000, got 0"},
		{map[string]any{"timeout": 5}, "timeout: unknown option"},
	} {
		if got := newApp(t).refused(onion.SceneMiddlewareSystem, "a-core:health", tt.options); !strings.Contains(got, tt.want) {
			t.Errorf("%v: %q, want %q", tt.options, got, tt.want)
		}
	}
	a := newApp(t)
	a.probe = nil
	if err := a.build(); err == nil || !strings.Contains(err.Error(), "a-core:health") || !strings.Contains(err.Error(), "onion.Probe") {
		t.Errorf("without a probe: %v", err)
	}
}

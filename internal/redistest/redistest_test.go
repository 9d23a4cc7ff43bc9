//go:build unix

package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStartAnswersAndEndsWithItsTest(t *testing.T) {
	var pid int
	var addr string
	t.Run("inner", func(t *testing.T) {
		s := Start(t)
		pid, addr = s.Pid(), s.Addr()
		if got, err := s.Client().Ping(t.Context()).Result(); err != nil || got != "PONG" {
			t.Fatalf("PING = %q, %v", got, err)
		}
		if want := fmt.Sprintf("127.0.0.1:%d", s.Port()); addr != want {
			t.Errorf("Addr = %s, want %s", addr, want)
		}
		if v := s.Do("CONFIG", "GET", "save"); !strings.Contains(fmt.Sprint(v), "save:]") {
			t.Errorf("the server persists: save = %v", v)
		}
	})
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d after the test: %v, want it gone", pid, err)
	}
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Errorf("something still listens on %s", addr)
	}
}

func TestStartLeavesNoGoroutine(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := Start(t)
	goleak.VerifyNone(t, before) // while it runs: packages may check for leaks within a test
	s.Kill()
	s.Restart()
	goleak.VerifyNone(t, before)
}

func TestStartManyAtOnce(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	t.Run("group", func(t *testing.T) {
		for i := range 8 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				s := Start(t)
				s.Do("SET", "mine", s.Addr())
				if got := s.Do("GET", "mine"); got != s.Addr() {
					t.Errorf("GET = %v, want %v", got, s.Addr())
				}
				mu.Lock()
				defer mu.Unlock()
				if seen[s.Addr()] {
					t.Errorf("%s was given out twice", s.Addr())
				}
				seen[s.Addr()] = true
			})
		}
	})
}

func TestPassword(t *testing.T) {
	s := Start(t, Password("secret"))
	if err := s.Client().Ping(t.Context()).Err(); err != nil {
		t.Errorf("the helper's client: %v", err)
	}
	c := newClient(t, s.Addr())
	if err := c.Ping(t.Context()).Err(); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("PING without a password = %v, want NOAUTH", err)
	}
}

func TestArgs(t *testing.T) {
	s := Start(t, Args("--maxmemory", "1mb", "--maxmemory-policy", "noeviction"))
	err := s.Client().Set(t.Context(), "big", strings.Repeat("x", 2<<20), 0).Err()
	if err == nil {
		err = s.Client().Set(t.Context(), "next", "x", 0).Err()
	}
	if err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("writing beyond maxmemory = %v, want OOM", err)
	}
}

func TestPauseAndResume(t *testing.T) {
	s := Start(t)
	s.Do("SET", "k", "v") // a connection stands
	s.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Client().Get(ctx, "k").Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("GET while paused = %v, want a deadline", err)
	}
	s.Resume()
	if got := s.Do("GET", "k"); got != "v" {
		t.Errorf("GET after Resume = %v, want v", got)
	}
}

func TestKillWhilePaused(t *testing.T) {
	s := Start(t)
	s.Pause()
	s.Kill()
	if s.Pid() != 0 {
		t.Errorf("Pid = %d after Kill, want 0", s.Pid())
	}
}

func TestKillAndRestart(t *testing.T) {
	s := Start(t)
	addr := s.Addr()
	s.Do("SET", "k", "v")
	s.Kill()
	s.Kill() // twice is fine
	if c, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
		if err == nil {
			c.Close()
		}
		t.Errorf("dial after Kill = %v, want refused", err)
	}
	for range 3 { // also without Kill before
		s.Restart()
		if s.Addr() != addr {
			t.Fatalf("Addr = %s after Restart, want %s", s.Addr(), addr)
		}
		if keys := s.Keys("*"); len(keys) != 0 {
			t.Errorf("keys after Restart: %v, want none", keys)
		}
	}
}

func TestInspection(t *testing.T) {
	s := Start(t)
	s.Do("MSET", "a:2", "x", "a:1", "x", "b", "x")
	if got := strings.Join(s.Keys("a:*"), " "); got != "a:1 a:2" {
		t.Errorf("Keys = %s", got)
	}
	s.FlushAll()
	if got := s.Keys("*"); len(got) != 0 {
		t.Errorf("keys after FlushAll: %v", got)
	}

	sha := fmt.Sprint(s.Do("SCRIPT", "LOAD", "return redis.call('INCR', KEYS[1])"))
	s.ResetCalls()
	s.Do("EVALSHA", sha, 1, "n")
	s.Do("EVALSHA", sha, 1, "n")
	if got := s.Calls("evalsha"); got != 2 {
		t.Errorf("Calls(evalsha) = %d, want 2", got)
	}
	if got := s.Calls("INCR"); got != 2 {
		t.Errorf("Calls(INCR) = %d, want 2", got)
	}
	if got := s.Calls("zadd"); got != 0 {
		t.Errorf("Calls(zadd) = %d, want 0", got)
	}
	s.FlushScripts()
	if err := s.Client().EvalSha(t.Context(), sha, []string{"n"}).Err(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
		t.Errorf("EVALSHA after FlushScripts = %v, want NOSCRIPT", err)
	}
}

func TestPortIsOutsideTheKernelsRange(t *testing.T) {
	for range 100 {
		port, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		if port < firstPort || port > lastPort {
			t.Fatalf("port %d", port)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Run("no redis-server", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		got := failure(t, func(t testing.TB) { Start(t) })
		if !strings.Contains(got, "apt-get install redis-server") || !strings.Contains(got, "not on PATH") {
			t.Errorf("the failure reads %q", got)
		}
	})
	t.Run("refused argument", func(t *testing.T) {
		got := failure(t, func(t testing.TB) { Start(t, Args("--no-such-directive", "1")) })
		if !strings.Contains(got, "no-such-directive") {
			t.Errorf("the failure reads %q, want the server's own words in it", got)
		}
	})
	t.Run("pause a dead server", func(t *testing.T) {
		got := failure(t, func(t testing.TB) {
			s := Start(t)
			s.Kill()
			s.Pause()
		})
		if !strings.Contains(got, "down") {
			t.Errorf("the failure reads %q", got)
		}
	})
	t.Run("fault that is not about replies", func(t *testing.T) {
		got := failure(t, func(t testing.TB) { NewProxy(t, "127.0.0.1:1").Set(Hang().On("x")) })
		if !strings.Contains(got, "On and Times") {
			t.Errorf("the failure reads %q", got)
		}
	})
}

func newClient(t *testing.T, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { c.Close() })
	return c
}

// failure runs f with a test of its own and returns what f failed with, "" if it did not.
func failure(t *testing.T, f func(testing.TB)) string {
	r := &recorder{TB: t, dir: t.TempDir()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	for _, clean := range r.cleanups {
		clean()
	}
	return r.said
}

type recorder struct {
	testing.TB
	dir      string
	said     string
	cleanups []func()
}

func (r *recorder) Helper()                      {}
func (r *recorder) Failed() bool                 { return false }
func (r *recorder) TempDir() string              { return r.dir }
func (r *recorder) Cleanup(f func())             { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(f string, args ...any) { r.said += fmt.Sprintf(f, args...) }
func (r *recorder) Fatal(args ...any)            { r.said += fmt.Sprint(args...); runtime.Goexit() }
func (r *recorder) Fatalf(f string, args ...any) {
	r.Errorf(f, args...)
	runtime.Goexit()
}

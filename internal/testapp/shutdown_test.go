package testapp

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// slow is a module with an action that waits until it is let go, and that notes
// in what order things stop.
type slow struct {
	onion.Basic

	env     onion.Env
	entered chan struct{}
	leave   chan struct{}

	mu    sync.Mutex
	notes []string
}

func newSlow() *slow {
	s := &slow{entered: make(chan struct{}), leave: make(chan struct{})}
	s.Basic = onion.Basic{ModuleName: "test-slow", ModuleControllers: []onion.Declaration{onion.Code(s)}}
	return s
}

func (s *slow) Controller() onion.Controller {
	wait := func(context.Context, *onion.Empty) (string, error) {
		close(s.entered)
		<-s.leave
		s.note("answered")
		return "done", nil
	}
	return onion.Controller{Name: "slow", Path: "slow", Routes: []onion.Route{onion.Get("wait", "wait", wait, passport.Public())}}
}

func (s *slow) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, text)
}

func (s *slow) Provide(env onion.Env) error {
	s.env = env
	return nil
}

// Stop runs before the limiter and Redis stop: this module stands last in the
// list. Redis must still answer.
func (s *slow) Stop(ctx context.Context) error {
	clients, err := onion.Service[*aredis.Clients](s.env)
	if err != nil {
		return err
	}
	c, err := clients.Client(aredis.Limiter)
	if err != nil {
		return err
	}
	if err := c.Redis.Ping(ctx).Err(); err != nil {
		s.note("redis was gone: " + err.Error())
	}
	s.note("stopped")
	return nil
}

// TestShutdown is contract C10: ready turns 503, the request in flight finishes,
// then the modules stop, the limiter and Redis last.
func TestShutdown(t *testing.T) {
	module := newSlow()
	s := Start(t, Setup{Modules: []onion.Module{module}, Local: "server: {drainMs: 1500}"})
	answer := make(chan string, 1)
	go func() {
		_, body := s.Do(t, http.MethodGet, "/api/test/slow/wait", "")
		answer <- body
	}()
	<-module.entered
	if res, _ := s.Do(t, http.MethodGet, "/health/ready", ""); res.StatusCode != http.StatusOK {
		t.Fatalf("ready is %d before the shutdown", res.StatusCode)
	}
	stopped := make(chan struct{})
	go func() { s.Stop(); close(stopped) }()
	await(t, "ready to turn 503", func() bool {
		res, _ := s.Do(t, http.MethodGet, "/health/ready", "")
		return res.StatusCode == http.StatusServiceUnavailable
	})
	if res, _ := s.Do(t, http.MethodGet, "/api/test/vona/probe/hello", ""); res.StatusCode != http.StatusOK {
		t.Errorf("a request while the load balancer has not heard yet: %d", res.StatusCode)
	}
	close(module.leave)
	if body := <-answer; !strings.Contains(body, "done") {
		t.Errorf("the request in flight got %s", body)
	}
	<-stopped
	if want := []string{"answered", "stopped"}; !slices.Equal(module.notes, want) {
		t.Errorf("order %v, want %v", module.notes, want)
	}
}

// await waits for a condition, for at most 20 s.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !condition(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

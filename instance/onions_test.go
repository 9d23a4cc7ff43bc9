package instance_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
)

// starter is a module's startup hook for tests.
type starter func(ctx context.Context, inst *instance.Instance) error

func (s starter) StartInstance(ctx context.Context, inst *instance.Instance) error {
	return s(ctx, inst)
}

func TestReadyRunsHooksOnce(t *testing.T) {
	var mu sync.Mutex
	var ran []string
	hook := func(id string) instance.Starter {
		return starter(func(_ context.Context, inst *instance.Instance) error {
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, id+":"+inst.Name)
			return nil
		})
	}
	all := twoTenants()
	f := newFixture(t, load(t, all), instance.Options{Starters: []instance.Starter{hook("a"), hook("b")}})
	acme := f.lookup(t, "acme")
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			if err := acme.Ready(t.Context()); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(ran, []string{"a:acme", "b:acme"}) {
				t.Errorf("ready after %v", ran)
			}
		})
	}
	wg.Wait()
	// Neither a reload of the configuration nor another instance runs them again.
	if err := f.next(t, all).lookup(t, "acme").Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if err := f.lookup(t, "").Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if want := []string{"a:acme", "b:acme", "a:", "b:"}; !slices.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
}

func TestReadyAgainAfterFailure(t *testing.T) {
	fails := errors.New("no seed data")
	var runs atomic.Int64
	f := newFixture(t, load(t, twoTenants()), instance.Options{Starters: []instance.Starter{
		starter(func(_ context.Context, inst *instance.Instance) error {
			switch runs.Add(1) {
			case 1:
				return fails
			case 2:
				panic("out of order")
			}
			return nil
		}),
	}})
	acme := f.lookup(t, "acme")
	if err := acme.Ready(t.Context()); !errors.Is(err, fails) || !strings.Contains(err.Error(), `start instance "acme"`) {
		t.Errorf("Ready: %v", err)
	}
	if err := acme.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "panic: out of order") {
		t.Errorf("Ready: %v", err)
	}
	if err := acme.Ready(t.Context()); err != nil {
		t.Errorf("Ready: %v", err)
	}
	if n := strings.Count(f.log.String(), "an instance cannot start"); n != 2 {
		t.Errorf("%d failures were logged, want 2", n)
	}
}

func TestReadyWaitIsBounded(t *testing.T) {
	release := make(chan struct{})
	begun := make(chan struct{})
	f := newFixture(t, load(t, twoTenants()), instance.Options{Starters: []instance.Starter{
		starter(func(_ context.Context, inst *instance.Instance) error {
			if inst.Name == "acme" {
				close(begun)
				<-release
			}
			return nil
		}),
	}})
	acme := f.lookup(t, "acme")
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- acme.Ready(ctx) }()
	<-begun
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("Ready of a caller that left: %v", err)
	}
	if err := f.lookup(t, "").Ready(t.Context()); err != nil {
		t.Errorf("another instance waits for acme: %v", err)
	}
	close(release)
	if err := acme.Ready(t.Context()); err != nil {
		t.Errorf("Ready: %v", err)
	}
}

func TestHooksHaveADeadline(t *testing.T) {
	f := newFixture(t, load(t, twoTenants()), instance.Options{StartTimeout: 10 * time.Millisecond, Starters: []instance.Starter{
		starter(func(ctx context.Context, _ *instance.Instance) error { <-ctx.Done(); return ctx.Err() }),
	}})
	if err := f.lookup(t, "acme").Ready(context.Background()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ready: %v", err)
	}
}

// system composes the system chain of an application around an action that
// counts.
func system(t *testing.T, e *onion.Engine, reached *atomic.Int64) onion.Next {
	t.Helper()
	var wraps []onion.Wrap
	for _, step := range e.System() {
		wraps = append(wraps, step.Wrap)
	}
	return onion.Compose(wraps, func(context.Context, *onion.Call) (any, error) {
		reached.Add(1)
		return "reached", nil
	})
}

func TestSystemMiddleware(t *testing.T) {
	memory := instance.NewMemoryStore()
	put(t, memory, instance.Record{Name: "stored-off", Disabled: true})
	all := twoTenants()
	all["instances/off.yaml"] = "disabled: true\n"
	f := newFixture(t, load(t, all), instance.Options{Store: memory, Starters: []instance.Starter{
		starter(func(_ context.Context, inst *instance.Instance) error {
			if inst.Name == "" {
				return errors.New("no seed data")
			}
			return nil
		}),
	}})
	tests := []struct {
		name     string
		instance string
		none     bool
		starting bool
		status   int // 0: reaches the action
		cause    string
		retry    string
	}{
		{name: "ready", instance: "acme"},
		{name: "starting", instance: "acme", starting: true, status: 503, cause: "the application is starting", retry: "1"},
		{name: "starting, unknown", instance: "unknown", starting: true, status: 503, retry: "1"},
		{name: "unknown", instance: "unknown", status: 423, cause: `instance "unknown" is unknown`},
		{name: "too long", instance: strings.Repeat("x", 10<<10), status: 423, cause: "is unknown"},
		{name: "disabled", instance: "off", status: 423, cause: `instance "off" is disabled`},
		{name: "disabled by its record", instance: "stored-off", status: 423, cause: `instance "stored-off" is disabled`},
		{name: "null", none: true, status: 401},
		{name: "cannot start", instance: "", status: 503, cause: "no seed data", retry: "1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, state := engineOf(t, f.cfg.App)
			if !tt.starting {
				state.SetReady()
			}
			c := &onion.Call{Instance: tt.instance, NoInstance: tt.none, Path: "/"}
			if !tt.none {
				if inst, err := f.Lookup(t.Context(), tt.instance); err == nil {
					instance.Attach(c, inst)
				} else if !errors.Is(err, instance.ErrUnknown) {
					t.Fatal(err)
				}
			}
			var reached atomic.Int64
			value, err := system(t, e, &reached)(t.Context(), c)
			if tt.status == 0 {
				if err != nil || value != "reached" || reached.Load() != 1 {
					t.Errorf("%v, %v; the action was reached %d times", value, err, reached.Load())
				}
				return
			}
			var answer *onion.Error
			if !errors.As(err, &answer) {
				t.Fatalf("%v, %v, want status %d", value, err, tt.status)
			}
			retry := answer.Header.Get("Retry-After")
			if answer.Status != tt.status || answer.Text() != http.StatusText(tt.status) || retry != tt.retry || !strings.Contains(fmt.Sprint(answer.Cause), tt.cause) {
				t.Errorf("%v, Retry-After %q, want status %d, cause %q, Retry-After %q", answer, retry, tt.status, tt.cause, tt.retry)
			}
			if len(answer.Error()) > 500 {
				t.Errorf("the error is %d bytes long", len(answer.Error()))
			}
			if reached.Load() != 0 {
				t.Error("the action was reached")
			}
		})
	}
}

func TestSystemOrder(t *testing.T) {
	var names []onion.Name
	e, _ := engineOf(t, load(t, files{}).Tree)
	for _, step := range e.System() {
		names = append(names, step.Name)
	}
	app, admit := slices.Index(names, "a-instance:app"), slices.Index(names, "a-instance:instance")
	if app < 0 || admit != app+1 {
		t.Errorf("the system chain is %v", names)
	}
}

func TestState(t *testing.T) {
	var s instance.State
	check := func(when string, started, ready, stopping bool) {
		t.Helper()
		if s.Started() != started || s.Ready() != ready || s.Stopping() != stopping {
			t.Errorf("%s: started %v, ready %v, stopping %v", when, s.Started(), s.Ready(), s.Stopping())
		}
	}
	check("at first", false, false, false)
	s.SetReady()
	check("ready", true, true, false)
	s.SetStopping()
	check("stopping", true, false, true)
}

package instance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vonago/vonago/instance"
)

// steps records what ran, in order.
type steps struct {
	mu   sync.Mutex
	list []string
}

func (s *steps) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, text)
}

func (s *steps) get() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// hook is a module's hooks of one instance.
type hook struct {
	name   string
	steps  *steps
	before error
	after  func(ctx context.Context) error
}

func (h hook) StartInstance(_ context.Context, inst *instance.Instance) error {
	h.steps.add(fmt.Sprintf("%s starts %q", h.name, inst.Name))
	return h.before
}

func (h hook) AfterStartInstance(ctx context.Context, inst *instance.Instance) error {
	h.steps.add(fmt.Sprintf("%s follows %q", h.name, inst.Name))
	if h.after == nil {
		return nil
	}
	return h.after(ctx)
}

func TestHooksBeforeAndAfterReady(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := &steps{}
	failing := hook{name: "one", steps: s, after: func(context.Context) error { return errors.New("no seeds") }}
	panicking := hook{name: "two", steps: s, after: func(context.Context) error { panic("oh") }}
	last := hook{name: "three", steps: s}
	f := newFixture(t, load(t, twoTenants()), instance.Options{
		Starters: []instance.Starter{failing, panicking}, AfterStarters: []instance.AfterStarter{failing, panicking, last},
	})
	inst := f.lookup(t, "acme")
	if got := s.get(); len(got) > 0 {
		t.Fatalf("hooks ran before the first request: %v", got)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := inst.Ready(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	want := []string{`one starts "acme"`, `two starts "acme"`, `one follows "acme"`, `two follows "acme"`, `three follows "acme"`}
	eventually(t, "all hooks have run", func() bool { return len(s.get()) == len(want) })
	if got := s.get(); !slices.Equal(got, want) {
		t.Errorf("hooks: %q, want %q", got, want)
	}
	eventually(t, "both failures are logged", func() bool {
		return strings.Contains(f.log.String(), "no seeds") && strings.Contains(f.log.String(), "panic: oh")
	})
	if err := f.Reload(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	if err := f.lookup(t, "acme").Ready(t.Context()); err != nil || len(s.get()) != len(want) {
		t.Errorf("hooks ran again after a reload: %v, %v", s.get(), err)
	}
	if err := f.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// Without hooks before, those after ready still run.
func TestHooksAfterReadyAlone(t *testing.T) {
	s := &steps{}
	f := newFixture(t, load(t, twoTenants()), instance.Options{AfterStarters: []instance.AfterStarter{hook{name: "one", steps: s}}})
	if err := f.lookup(t, "").Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the hook has run", func() bool { return slices.Equal(s.get(), []string{`one follows ""`}) })
}

// A hook before that fails keeps those after from running.
func TestHooksAfterFailure(t *testing.T) {
	s := &steps{}
	h := hook{name: "one", steps: s, before: errors.New("no table")}
	f := newFixture(t, load(t, twoTenants()), instance.Options{Starters: []instance.Starter{h}, AfterStarters: []instance.AfterStarter{h}})
	if err := f.lookup(t, "").Ready(t.Context()); err == nil {
		t.Error("the instance is ready though its hook failed")
	}
	if err := f.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.get(); !slices.Equal(got, []string{`one starts ""`}) {
		t.Errorf("hooks: %v", got)
	}
}

func TestStopEndsHooks(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := &steps{}
	ended := make(chan error, 1)
	h := hook{name: "one", steps: s, after: func(ctx context.Context) error {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil
	}}
	f := newFixture(t, load(t, twoTenants()), instance.Options{AfterStarters: []instance.AfterStarter{h}})
	if err := f.lookup(t, "").Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the hook runs", func() bool { return len(s.get()) == 1 })
	if err := f.Stop(t.Context()); err != nil {
		t.Errorf("Stop: %v", err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the hook ended with %v", err)
		}
	default:
		t.Error("Stop did not wait for the hook")
	}
	if err := f.Stop(t.Context()); err != nil {
		t.Errorf("Stop again: %v", err)
	}
	want503(t, "a lookup after Stop", func() error { _, err := f.Lookup(t.Context(), "acme"); return err }())
}

func TestStopIsBounded(t *testing.T) {
	release := make(chan struct{})
	h := hook{name: "stubborn", steps: &steps{}, after: func(context.Context) error { <-release; return nil }}
	f := newFixture(t, load(t, twoTenants()), instance.Options{AfterStarters: []instance.AfterStarter{h}})
	if err := f.lookup(t, "").Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the hook runs", func() bool { return len(h.steps.get()) == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := f.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Stop: %v, want that it ran out of time", err)
	}
	close(release)
}

func TestCheckStored(t *testing.T) {
	f := newFixture(t, load(t, twoTenants()), instance.Options{})
	var live instance.Live
	if live.Manager() != nil {
		t.Error("a manager before any")
	}
	live.Set(f.Manager)
	tests := []struct{ stored, want string }{
		{"", ""},
		{"null", ""},
		{string(limitJSON("7")), ""},
		{string(limitJSON("0")), "want 1 to 1000, got 0"},
		{`{"onions"`, "malformed JSON"},
		{`{"server":{}}`, "unknown key"},
	}
	for _, tt := range tests {
		err := live.Manager().CheckStored("acme", []byte(tt.stored))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("CheckStored(%s): %v, want %q", tt.stored, err, tt.want)
		}
	}
}

func created(i int64) time.Time { return time.Date(2026, 6, 1, 0, 0, int(i), 0, time.UTC) }

package testapp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
)

// hooked is a module with every hook there is; it writes down what was called.
type hooked struct {
	onion.Basic

	mu   sync.Mutex
	list []string
}

func (h *hooked) add(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, text)
}

func (h *hooked) got() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.list)
}

func (h *hooked) Start(context.Context) error { h.add("start"); return nil }
func (h *hooked) AfterStart(context.Context) error {
	h.add("after start")
	return errors.New("a hook that fails stops nothing")
}
func (h *hooked) Stop(context.Context) error { h.add("stop"); return nil }

func (h *hooked) StartInstance(_ context.Context, inst *instance.Instance) error {
	h.add(fmt.Sprintf("start %q", inst.Name))
	return nil
}

func (h *hooked) AfterStartInstance(ctx context.Context, inst *instance.Instance) error {
	h.add(fmt.Sprintf("after start %q", inst.Name))
	<-ctx.Done() // as work in the background that goes on until the end
	h.add(fmt.Sprintf("end of %q", inst.Name))
	return nil
}

func TestHooksOfApplicationAndInstances(t *testing.T) {
	h := &hooked{Basic: onion.Basic{ModuleName: "test-hooked"}}
	s := Start(t, Setup{Modules: []onion.Module{h}})
	if got, want := h.got(), []string{"start", "after start"}; !slices.Equal(got, want) {
		t.Fatalf("before any request: %q, want %q", got, want)
	}
	for range 2 {
		req, err := http.NewRequest(http.MethodGet, s.URL+"/nowhere", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("x-vona-instance-name", "acme")
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	want := []string{"start", "after start", `start "acme"`, `after start "acme"`}
	deadline := time.Now().Add(5 * time.Second)
	for len(h.got()) < len(want) && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if got := h.got(); !slices.Equal(got, want) {
		t.Fatalf("after requests of acme: %q, want %q", got, want)
	}
	if s.Log.Count("a hook that fails stops nothing", "test-hooked") != 1 {
		t.Errorf("the failure is not logged once:\n%s", s.Log)
	}
	s.Stop()
	want = append(want, `end of "acme"`, "stop")
	if got := h.got(); !slices.Equal(got, want) {
		t.Errorf("at the end: %q, want %q", got, want)
	}
}

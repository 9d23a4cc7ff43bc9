package instance_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vonago/vonago/instance"
)

// TestInterleaved: requests of tenants with policies of their own, one after
// another and all at once, while one of the tenants is changed, locked and
// unlocked: each request sees its own tenant's policy and nobody else's.
func TestInterleaved(t *testing.T) {
	memory := instance.NewMemoryStore()
	tenants := map[string]int64{"acme": 30, "": 120, "beta": 45}
	for name, limit := range tenants {
		put(t, memory, instance.Record{Name: name, Config: limitJSON(fmt.Sprint(limit))})
	}
	put(t, memory, instance.Record{Name: "busy", Config: limitJSON("1")})
	f := newFixture(t, load(t, twoTenants()), instance.Options{Store: memory})
	for _, name := range []string{"acme", "beta", "acme", "", "acme", "beta"} {
		f.wantLimit(t, name, tenants[name])
	}

	const requests = 1000
	var wrong atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range int64(100) {
			patch := instance.Patch{Config: new(limitJSON(fmt.Sprint(1 + i%9))), Disabled: new(i%2 == 1)}
			if _, err := memory.Update(context.Background(), "busy", patch, created(i)); err != nil {
				t.Error(err)
			}
			if err := f.Reload(context.Background(), "busy"); err != nil {
				t.Error(err)
			}
			inst := f.lookup(t, "busy")
			if inst.Disabled != (i%2 == 1) || f.limit(t, inst) != 1+i%9 {
				t.Errorf("after change %d busy is disabled %v with the limit %d", i, inst.Disabled, f.limit(t, inst))
			}
		}
	})
	names := []string{"acme", "", "acme", "beta"}
	for i := range requests {
		wg.Go(func() {
			name := names[i%len(names)]
			inst, err := f.Lookup(context.Background(), name)
			if err != nil || inst.Name != name || f.limit(t, inst) != tenants[name] {
				wrong.Add(1)
			}
		})
	}
	wg.Wait()
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d of %d requests saw another tenant's policy", n, requests)
	}
}

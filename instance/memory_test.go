package instance_test

import (
	"errors"
	"testing"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/instance/storetest"
)

func TestMemoryStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Connect {
		s := instance.NewMemoryStore()
		return func(*testing.T) instance.Store { return s }
	})
}

func TestMemoryStoreEditor(t *testing.T) {
	storetest.RunEditor(t, func(*testing.T) storetest.ConnectEditor {
		s := instance.NewMemoryStore()
		return func(*testing.T) instance.Editor { return s }
	})
}

// What is stored under an id must not come to belong to another instance when
// the order of first requests, or the list of instances, changes.
func TestMemoryStoreIDsDoNotDependOnOrder(t *testing.T) {
	ids := func(names ...string) map[string]int64 {
		s, m := instance.NewMemoryStore(), map[string]int64{}
		for _, name := range names {
			rec, err := s.Register(t.Context(), instance.Record{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			m[name] = rec.ID
		}
		return m
	}
	a, b := ids("", "acme", "beta"), ids("beta", "aaa", "", "acme")
	for name, id := range a {
		if b[name] != id {
			t.Errorf("the id of %q is %d in one process and %d in another", name, id, b[name])
		}
	}
	if a[""] != 1 {
		t.Errorf("the default instance has the id %d, want 1", a[""])
	}
	if a["acme"] <= instance.MaxStaticID {
		t.Errorf("the id %d of acme could be given to another instance by configuration", a["acme"])
	}
}

func TestMemoryStorePutAndDelete(t *testing.T) {
	s := instance.NewMemoryStore()
	put := func(rec instance.Record) *instance.Record {
		t.Helper()
		got, err := s.Put(rec)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	put(instance.Record{ID: 2, Name: "acme", Title: "one"})
	if got := put(instance.Record{Name: "acme", Title: "two"}); got.ID != 2 || got.Title != "two" {
		t.Errorf("Put without an id = %+v, want id 2 and title two", got)
	}
	put(instance.Record{ID: 3, Name: "beta"})
	if _, err := s.Put(instance.Record{ID: 3, Name: "acme"}); !errors.Is(err, instance.ErrIDTaken) {
		t.Errorf("Put with another's id: %v, want ErrIDTaken", err)
	}
	if _, err := s.Put(instance.Record{ID: 2, Name: "gamma"}); !errors.Is(err, instance.ErrIDTaken) {
		t.Errorf("after a refused Put the id of acme is free: %v", err)
	}
	put(instance.Record{ID: 4, Name: "acme"})
	put(instance.Record{ID: 2, Name: "gamma"})
	s.Delete("gamma")
	s.Delete("gamma")
	if _, err := s.Find(t.Context(), "gamma"); !errors.Is(err, instance.ErrNotFound) {
		t.Errorf("Find after Delete: %v", err)
	}
	put(instance.Record{ID: 2, Name: "delta"})
}

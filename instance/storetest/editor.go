//nolint:thelper // see storetest.go
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/vonago/vonago/instance"
)

// ConnectEditor is Connect for a store whose records can be changed.
type ConnectEditor func(t *testing.T) instance.Editor

// RunEditor runs the suite of instance.Editor; Run is the one of instance.Store,
// which an Editor passes too.
func RunEditor(t *testing.T, fresh func(t *testing.T) ConnectEditor) {
	t.Helper()
	tests := []struct {
		name string
		run  func(t *testing.T, connect ConnectEditor)
	}{
		{"list", testList},
		{"update each field", testUpdate},
		{"update of nothing", testUpdateNothing},
		{"update of an unknown name", testUpdateUnknown},
		{"disable and enable", testDisable},
		{"updates of two fields at once", testUpdatesMeet},
		{"context of an editor", testEditorContext},
		{"changed records belong to the caller", testEditorOwnership},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, fresh(t)) })
	}
}

var changed = created.Add(48 * time.Hour)

func update(t *testing.T, s instance.Editor, name string, p instance.Patch) *instance.Record {
	t.Helper()
	rec, err := s.Update(t.Context(), name, p, changed)
	if err != nil || rec == nil {
		t.Fatalf("Update(%q) = %v, %v", name, rec, err)
	}
	return rec
}

func testList(t *testing.T, connect ConnectEditor) {
	s := connect(t)
	if list, err := s.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("List of nothing = %v, %v", list, err)
	}
	names := []string{"beta", "", "acme", "Zeta", "\u79df\u6237", "acme.eu", "a b"}
	for i, name := range names {
		register(t, s, instance.Record{Name: name, Title: fmt.Sprint("title ", i), Disabled: i%2 == 0, Config: []byte(`{"a":1}`)})
	}
	list, err := connect(t).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, rec := range list {
		got = append(got, rec.Name)
		same(t, "List", rec, find(t, s, rec.Name))
	}
	slices.Sort(names)
	if !slices.Equal(got, names) {
		t.Errorf("List gave %q, want %q", got, names)
	}
}

func testUpdate(t *testing.T, connect ConnectEditor) {
	s := connect(t)
	want := *register(t, s, instance.Record{Name: "acme", Title: "Acme"})
	register(t, s, instance.Record{Name: "other", Title: "Other"})
	want.UpdatedAt = changed
	config, none := []byte(`{"onions":{"x":"\u682a \"quoted\""}}`), []byte(nil)
	steps := []struct {
		patch instance.Patch
		set   func()
	}{
		{instance.Patch{Title: new("New \u682a")}, func() { want.Title = "New \u682a" }},
		{instance.Patch{Isolate: new(true)}, func() { want.Isolate = true }},
		{instance.Patch{Config: &config}, func() { want.Config = config }},
		{instance.Patch{Disabled: new(true)}, func() { want.Disabled = true }},
		{instance.Patch{Config: &none}, func() { want.Config = nil }},
		{instance.Patch{Title: new(""), Isolate: new(false), Disabled: new(false)}, func() { want.Title, want.Isolate, want.Disabled = "", false, false }},
	}
	for _, step := range steps {
		step.set()
		same(t, "Update", update(t, s, "acme", step.patch), &want)
		same(t, "Find", find(t, connect(t), "acme"), &want)
	}
	if rec := find(t, s, "other"); rec.Title != "Other" || !rec.UpdatedAt.Equal(created) {
		t.Errorf("another record was changed: %+v", rec)
	}
}

func testUpdateNothing(t *testing.T, connect ConnectEditor) {
	s := connect(t)
	want := *register(t, s, instance.Record{Name: "", Title: "Default", Disabled: true, Isolate: true, Config: []byte(`{"onions":{}}`)})
	want.UpdatedAt = changed
	same(t, "Update", update(t, s, "", instance.Patch{}), &want)
	same(t, "Find", find(t, s, ""), &want)
}

func testUpdateUnknown(t *testing.T, connect ConnectEditor) {
	s := connect(t)
	register(t, s, instance.Record{Name: "acme"})
	for _, name := range []string{"", "Acme", "acme "} {
		if rec, err := s.Update(t.Context(), name, instance.Patch{Title: new("x")}, changed); !errors.Is(err, instance.ErrNotFound) {
			t.Errorf("Update(%q) = %v, %v, want ErrNotFound", name, rec, err)
		}
		wantNotFound(t, s, name)
	}
}

func testDisable(t *testing.T, connect ConnectEditor) {
	s, other := connect(t), connect(t)
	register(t, s, instance.Record{Name: "acme"})
	for _, disabled := range []bool{true, false, true} {
		update(t, s, "acme", instance.Patch{Disabled: &disabled})
		if rec := find(t, other, "acme"); rec.Disabled != disabled {
			t.Errorf("another process finds disabled %v, want %v", rec.Disabled, disabled)
		}
	}
	if rec := register(t, s, instance.Record{Name: "acme"}); !rec.Disabled {
		t.Error("registering again enabled the instance")
	}
}

// testUpdatesMeet is where reading, changing and writing back would lose one of
// two changes.
func testUpdatesMeet(t *testing.T, connect ConnectEditor) {
	processes := []instance.Editor{connect(t), connect(t)}
	const rounds = 20
	for round := range rounds {
		name, title, config := fmt.Sprint("acme", round), fmt.Sprint("title ", round), fmt.Appendf(nil, `{"n":%d}`, round)
		register(t, processes[0], instance.Record{Name: name})
		patches := []instance.Patch{{Title: &title}, {Config: &config}, {Isolate: new(true)}, {Disabled: new(true)}}
		together(len(patches), func(i int) {
			if _, err := processes[i%2].Update(t.Context(), name, patches[i], changed); err != nil {
				t.Errorf("Update: %v", err)
			}
		})
		rec := find(t, processes[1], name)
		if rec.Title != title || string(rec.Config) != string(config) || !rec.Isolate || !rec.Disabled {
			t.Fatalf("a change was lost: %+v, config %s", rec, rec.Config)
		}
	}
}

func testEditorContext(t *testing.T, connect ConnectEditor) {
	s := connect(t)
	register(t, s, instance.Record{Name: "acme", Title: "Acme"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.List(ctx); err == nil {
		t.Error("List with a canceled context succeeded")
	}
	if _, err := s.Update(ctx, "acme", instance.Patch{Title: new("x")}, changed); err == nil || errors.Is(err, instance.ErrNotFound) {
		t.Errorf("Update with a canceled context: %v", err)
	}
	if rec := find(t, s, "acme"); rec.Title != "Acme" {
		t.Errorf("an update that failed changed the title to %q", rec.Title)
	}
}

func testEditorOwnership(t *testing.T, connect ConnectEditor) {
	s := connect(t)
	register(t, s, instance.Record{Name: "acme"})
	config := []byte(`{"onions":{}}`)
	got := update(t, s, "acme", instance.Patch{Config: &config})
	config[2], got.Config[3] = 'X', 'Y'
	list, err := s.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("List = %v, %v", list, err)
	}
	list[0].Config[4] = 'Z'
	if rec := find(t, s, "acme"); string(rec.Config) != `{"onions":{}}` {
		t.Errorf("a caller changed the record: %s", rec.Config)
	}
}

// Package storetest is the suite that every instance.Store passes, like
// testing/slogtest for handlers of slog.
//
//nolint:thelper // its functions are the tests, not helpers of some
package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/instance"
)

// Connect gives a store on one backend. Each call is another process's view: it
// shares nothing in memory with the others, if the backend allows that.
type Connect func(t *testing.T) instance.Store

// Run runs the suite. fresh makes an empty backend for one test; what it opens it
// closes with t.Cleanup.
func Run(t *testing.T, fresh func(t *testing.T) Connect) {
	t.Helper()
	tests := []struct {
		name string
		run  func(t *testing.T, connect Connect)
	}{
		{"unknown name", testUnknown},
		{"registered record is found", testRoundTrip},
		{"names", testNames},
		{"names are case-sensitive", testCase},
		{"register keeps the first", testKeepsFirst},
		{"ids", testIDs},
		{"given ids are skipped", testSkipsGivenIDs},
		{"taken id", testTakenID},
		{"records belong to the caller", testOwnership},
		{"context", testContext},
		{"one record from many processes", testOnce},
		{"many names at once", testManyNames},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, fresh(t)) })
	}
}

var created = time.Date(2026, 6, 1, 10, 20, 30, 456_000_000, time.UTC)

func register(t *testing.T, s instance.Store, rec instance.Record) *instance.Record {
	t.Helper()
	if rec.CreatedAt.IsZero() {
		rec.CreatedAt, rec.UpdatedAt = created, created
	}
	got, err := s.Register(t.Context(), rec)
	if err != nil {
		t.Fatalf("Register(%q): %v", rec.Name, err)
	}
	if got == nil {
		t.Fatalf("Register(%q) gave neither a record nor an error", rec.Name)
	}
	return got
}

func find(t *testing.T, s instance.Store, name string) *instance.Record {
	t.Helper()
	got, err := s.Find(t.Context(), name)
	if err != nil {
		t.Fatalf("Find(%q): %v", name, err)
	}
	if got == nil {
		t.Fatalf("Find(%q) gave neither a record nor an error", name)
	}
	return got
}

func same(t *testing.T, what string, got, want *instance.Record) {
	t.Helper()
	if got.ID != want.ID || got.Name != want.Name || got.Title != want.Title ||
		got.Disabled != want.Disabled || got.Isolate != want.Isolate || string(got.Config) != string(want.Config) ||
		!got.CreatedAt.Truncate(time.Millisecond).Equal(want.CreatedAt) || !got.UpdatedAt.Truncate(time.Millisecond).Equal(want.UpdatedAt) {
		t.Errorf("%s = %+v, want %+v", what, got, want)
	}
}

func wantNotFound(t *testing.T, s instance.Store, name string) {
	t.Helper()
	if rec, err := s.Find(t.Context(), name); !errors.Is(err, instance.ErrNotFound) {
		t.Errorf("Find(%q) = %+v, %v, want ErrNotFound", name, rec, err)
	}
}

func testUnknown(t *testing.T, connect Connect) {
	s := connect(t)
	wantNotFound(t, s, "")
	wantNotFound(t, s, "acme")
	register(t, s, instance.Record{Name: "acme"})
	wantNotFound(t, s, "")
	wantNotFound(t, s, "acm")
	wantNotFound(t, s, "acme ")
	wantNotFound(t, s, "%")
}

func testRoundTrip(t *testing.T, connect Connect) {
	full := instance.Record{
		ID: 7, Name: "acme", Title: "Acme, \"Inc.\" \u682a\u5f0f", Disabled: true, Isolate: true,
		Config: []byte(`{"onions":{}}`), CreatedAt: created, UpdatedAt: created.Add(time.Hour),
	}
	bare := instance.Record{ID: 8, Name: "bare", CreatedAt: created, UpdatedAt: created}
	for _, rec := range []instance.Record{full, bare} {
		same(t, "Register", register(t, connect(t), rec), &rec)
		same(t, "Find", find(t, connect(t), rec.Name), &rec)
	}
}

func testNames(t *testing.T, connect Connect) {
	s := connect(t)
	names := []string{
		"", "acme", "acme.eu", "\u79df\u6237 1", "100%", "!'()*~-_.", `'; DROP TABLE "aInstance"; --`, `back\slash`, "a:b/c", " ", "e\u0301", "\u00e9",
		strings.Repeat("x", instance.MaxNameLen), strings.Repeat("é", instance.MaxNameLen/2),
	}
	ids := map[int64]string{}
	for _, name := range names {
		rec := register(t, s, instance.Record{Name: name, Title: "title of " + name})
		if other, ok := ids[rec.ID]; ok {
			t.Errorf("%q and %q have the same id %d", name, other, rec.ID)
		}
		ids[rec.ID] = name
	}
	for _, name := range names {
		if rec := find(t, s, name); rec.Name != name || rec.Title != "title of "+name {
			t.Errorf("Find(%q) = %+v", name, rec)
		}
	}
}

func testCase(t *testing.T, connect Connect) {
	s := connect(t)
	register(t, s, instance.Record{Name: "acme"})
	wantNotFound(t, s, "Acme")
	lower, upper := find(t, s, "acme"), register(t, s, instance.Record{Name: "ACME"})
	if lower.ID == upper.ID || upper.Name != "ACME" {
		t.Errorf("acme and ACME are one record: %+v, %+v", lower, upper)
	}
}

func testKeepsFirst(t *testing.T, connect Connect) {
	first := register(t, connect(t), instance.Record{Name: "acme", Title: "first", Config: []byte(`{"onions":{}}`)})
	second := register(t, connect(t), instance.Record{Name: "acme", Title: "second", Disabled: true})
	same(t, "second Register", second, first)
	same(t, "Find", find(t, connect(t), "acme"), first)
	other := register(t, connect(t), instance.Record{ID: first.ID + 1, Name: "acme"})
	same(t, "Register with another id", other, first)
}

func testIDs(t *testing.T, connect Connect) {
	s := connect(t)
	const most = 1<<53 - 1
	seen := map[int64]bool{}
	for _, name := range []string{"", "a", "b", "c"} {
		rec := register(t, s, instance.Record{Name: name})
		if rec.ID < 1 || rec.ID > most || seen[rec.ID] {
			t.Errorf("the id of %q is %d, want a new one of 1 to 2^53-1", name, rec.ID)
		}
		seen[rec.ID] = true
		if again := find(t, s, name); again.ID != rec.ID {
			t.Errorf("the id of %q was %d and is %d", name, rec.ID, again.ID)
		}
	}
	if rec := register(t, s, instance.Record{ID: instance.MaxStaticID, Name: "large"}); rec.ID != instance.MaxStaticID {
		t.Errorf("the id that was given became %d", rec.ID)
	}
}

// testSkipsGivenIDs is where a sequence would run into ids that were given.
func testSkipsGivenIDs(t *testing.T, connect Connect) {
	s := connect(t)
	seen := map[int64]bool{}
	for id := int64(1); id <= 5; id++ {
		seen[register(t, s, instance.Record{ID: id, Name: fmt.Sprint("given", id)}).ID] = true
	}
	for i := range 5 {
		rec := register(t, s, instance.Record{Name: fmt.Sprint("found", i)})
		if seen[rec.ID] {
			t.Errorf("the id %d was given out twice", rec.ID)
		}
		seen[rec.ID] = true
	}
}

func testTakenID(t *testing.T, connect Connect) {
	s := connect(t)
	register(t, s, instance.Record{ID: 3, Name: "acme"})
	rec, err := s.Register(t.Context(), instance.Record{ID: 3, Name: "other", CreatedAt: created, UpdatedAt: created})
	if !errors.Is(err, instance.ErrIDTaken) {
		t.Errorf("Register with a taken id = %+v, %v, want ErrIDTaken", rec, err)
	}
	wantNotFound(t, s, "other")
	if rec = find(t, s, "acme"); rec.ID != 3 {
		t.Errorf("the owner's id became %d", rec.ID)
	}
}

func testOwnership(t *testing.T, connect Connect) {
	s := connect(t)
	config := []byte(`{"onions":{}}`)
	got := register(t, s, instance.Record{Name: "acme", Config: config})
	config[2] = 'X'
	got.Title, got.Config[2] = "changed", 'Y'
	found := find(t, s, "acme")
	found.Title, found.Config[2] = "changed", 'Z'
	if rec := find(t, s, "acme"); rec.Title != "" || string(rec.Config) != `{"onions":{}}` {
		t.Errorf("a caller changed the record: %+v, config %s", rec, rec.Config)
	}
}

func testContext(t *testing.T, connect Connect) {
	s := connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Find(ctx, "acme"); err == nil || errors.Is(err, instance.ErrNotFound) {
		t.Errorf("Find with a canceled context: %v, want an error that is not ErrNotFound", err)
	}
	if _, err := s.Register(ctx, instance.Record{Name: "acme", CreatedAt: created, UpdatedAt: created}); err == nil {
		t.Error("Register with a canceled context succeeded")
	}
	wantNotFound(t, s, "acme")
}

func testOnce(t *testing.T, connect Connect) {
	const callers = 64
	processes := []instance.Store{connect(t), connect(t)}
	ids := make([]int64, callers)
	together(callers, func(i int) {
		s := processes[i%len(processes)]
		rec, err := s.Register(t.Context(), instance.Record{Name: "acme", Title: fmt.Sprint(i), CreatedAt: created, UpdatedAt: created})
		if err != nil {
			t.Errorf("Register: %v", err)
			return
		}
		ids[i] = rec.ID
	})
	want := find(t, connect(t), "acme").ID
	for i, id := range ids {
		if id != want {
			t.Errorf("caller %d got the record %d, stored is %d", i, id, want)
		}
	}
}

func testManyNames(t *testing.T, connect Connect) {
	const names, callers = 16, 64
	processes := []instance.Store{connect(t), connect(t)}
	together(callers, func(i int) {
		s, name := processes[i%len(processes)], fmt.Sprint("tenant", i/2%names)
		rec, err := s.Register(t.Context(), instance.Record{Name: name, CreatedAt: created, UpdatedAt: created})
		if err != nil || rec.Name != name {
			t.Errorf("Register(%q) = %+v, %v", name, rec, err)
		}
	})
	seen := map[int64]string{}
	for i := range names {
		rec := find(t, processes[0], fmt.Sprint("tenant", i))
		if other, ok := seen[rec.ID]; ok {
			t.Errorf("%s and %s have the same id", rec.Name, other)
		}
		seen[rec.ID] = rec.Name
	}
}

// together makes n calls at once.
func together(n int, call func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			call(i)
		})
	}
	close(start)
	wg.Wait()
}

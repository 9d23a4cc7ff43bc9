package executor

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/vonago/vonago/onion"
)

// quietWriter is a ResponseWriter that can be used again.
type quietWriter struct{ header http.Header }

func (w *quietWriter) Header() http.Header         { return w.header }
func (w *quietWriter) WriteHeader(int)             {}
func (w *quietWriter) Write(p []byte) (int, error) { return len(p), nil }

// serveOnce makes what one request costs: typed input, wrapper, no onion but
// those two.
func serveOnce(tb testing.TB) func() {
	tb.Helper()
	type in struct {
		ID   int64  `param:"id"`
		Lang string `header:"accept-language"`
	}
	type out struct {
		ID int64 `json:"id"`
	}
	answer := &out{ID: 1}
	def := newApp(onion.Get("one", "one/:id", func(context.Context, *in) (*out, error) { return answer, nil }))
	rt, err := def.build(io.Discard)
	if err != nil {
		tb.Fatal(err)
	}
	e := New(rt)
	w := &quietWriter{header: http.Header{}}
	r := httptest.NewRequest(http.MethodGet, "/api/t/one/12", nil)
	return func() {
		clear(w.header)
		e.ServeHTTP(w, r)
	}
}

// TestServeAllocations keeps the cost of a request from creeping up. The race
// detector makes sync.Pool forget some of what it is given.
func TestServeAllocations(t *testing.T) {
	bar := 8.0
	if raceDetector {
		bar += 2
	}
	if n := testing.AllocsPerRun(200, serveOnce(t)); n > bar {
		t.Errorf("%v allocations, at most %v", n, bar)
	}
}

func BenchmarkServe(b *testing.B) {
	serve := serveOnce(b)
	b.ReportAllocs()
	for b.Loop() {
		serve()
	}
}

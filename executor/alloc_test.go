package executor

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/vonago/vonago/instance"
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
	most := 3.0 // the exchange, the input, and one of the small bodyReq of these tests
	if raceDetector {
		most += 2
	}
	if n := testing.AllocsPerRun(200, serveOnce(t)); n > most {
		t.Errorf("%v allocations, at most %v", n, most)
	}
}

// TestExchangeSize: up to 512 bytes Go needs no header for an object with
// pointers. One word more would cost every request 64 bytes.
func TestExchangeSize(t *testing.T) {
	if size := unsafe.Sizeof(exchange{}); size > 512 {
		t.Errorf("an exchange has %d bytes, at most 512", size)
	}
}

func BenchmarkServe(b *testing.B) {
	serve := serveOnce(b)
	b.ReportAllocs()
	for b.Loop() {
		serve()
	}
}

// TestChainAllocations: steps cost nothing but their own work. Ten of them that
// only pass on allocate nothing.
func TestChainAllocations(t *testing.T) {
	for _, steps := range []int{0, 10} {
		rt, c := routed(t, steps)
		ctx := onion.WithCall(t.Context(), c)
		n := testing.AllocsPerRun(200, func() {
			if _, err := rt.Dispatch(ctx, c); err != nil {
				t.Fatal(err)
			}
		})
		if n != 1 { // the input
			t.Errorf("%d steps: %v allocations, want 1", steps, n)
		}
	}
}

// routed is an application with no-op interceptors, and a call to its route.
func routed(tb testing.TB, steps int) (*Runtime, *onion.Call) {
	tb.Helper()
	type in struct {
		ID string `param:"id"`
	}
	a := newApp(onion.Get("one", "one/:id", func(context.Context, *in) (onion.Empty, error) { return onion.Empty{}, nil }))
	a.onions = []onion.Onion{instance.Admit}
	for i := range steps {
		a.onions = append(a.onions, onion.Interceptor("demo-x:noop"+strconv.Itoa(i), onion.NoDefaults,
			func(onion.NoOptions, onion.Env) (onion.Wrap, error) {
				return func(next onion.Next) onion.Next {
					return func(ctx context.Context, c *onion.Call) (any, error) { return next(ctx, c) }
				}, nil
			}, onion.Global()))
	}
	rt := a.mustBuild(tb)
	c := &onion.Call{Method: http.MethodGet, Path: "/api/t/one/12"}
	if err := rt.attach(tb.Context(), c); err != nil {
		tb.Fatal(err)
	}
	return rt, c
}

// addingWriter adds a value to each header field when the header is sent.
type addingWriter struct{ quietWriter }

func (w *addingWriter) WriteHeader(int) {
	for key := range w.header {
		w.header.Add(key, "added")
	}
}

// TestSharedHeaderValues: what is added to the header of one response does not
// reach those after it, for lengths that have a shared value and for others.
func TestSharedHeaderValues(t *testing.T) {
	type in struct {
		N int `param:"n"`
	}
	e := New(newApp(onion.Get("some", "some/:n", func(_ context.Context, in *in) (string, error) {
		return strings.Repeat("x", in.N), nil
	})).mustBuild(t))
	envelope := len(`{"code":0,"message":"Success","data":""}`)
	for _, n := range []int{1, 2, 1023 - envelope, 1024 - envelope, 5000} {
		r := httptest.NewRequest(http.MethodGet, "/api/t/some/"+strconv.Itoa(n), nil)
		r.Header.Set("Accept", "application/json")
		first := &addingWriter{quietWriter{http.Header{}}}
		e.ServeHTTP(first, r)
		for key, values := range first.header {
			if len(values) != 2 {
				t.Fatalf("%s: %q, want a value and one added", key, values)
			}
		}
		second := httptest.NewRecorder()
		e.ServeHTTP(second, r)
		if got, want := second.Header().Values("Content-Length"), strconv.Itoa(second.Body.Len()); !slices.Equal(got, []string{want}) {
			t.Errorf("length %d: Content-Length %q, want %s", n, got, want)
		}
		if got := second.Header().Values("Content-Type"); !slices.Equal(got, []string{typeJSON}) {
			t.Errorf("length %d: Content-Type %q", n, got)
		}
	}
	for i, text := range valuesLength {
		if text != strconv.Itoa(i) {
			t.Fatalf("the shared value of %d is %q", i, text)
		}
	}
}

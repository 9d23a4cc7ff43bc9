package executor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/vonago/vonago/onion"
)

// TestCallOutlivesItsRequest keeps calls and their contexts beyond their
// responses, as goroutines of actions do, while other requests are served. A call
// that was used again would speak of another request, and the race detector would
// see it change.
func TestCallOutlivesItsRequest(t *testing.T) {
	type in struct {
		ID   string      `param:"id"`
		Call *onion.Call `request:""`
	}
	type kept struct {
		id   string
		call *onion.Call
		ctx  context.Context
	}
	const requests, workers = 400, 4
	var inHand sync.Map                   // by id, while a request is served
	answered := make(chan kept, requests) // afterwards
	e := New(newApp(onion.Get("keep", "keep/:id", func(ctx context.Context, in *in) (onion.Empty, error) {
		inHand.Store(in.ID, kept{in.ID, in.Call, ctx})
		return onion.Empty{}, nil
	})).mustBuild(t))

	check := func(k kept) {
		path := "/api/t/keep/" + k.id
		inner, cancel := context.WithCancel(k.ctx)
		defer cancel()
		switch id, _ := k.call.Params.Get("id"); {
		case onion.CallFrom(inner) != k.call:
			t.Errorf("%s: the context has another call", path)
		case k.call.Path != path || id != k.id || k.call.Request.URL.Path != path:
			t.Errorf("%s: the call says %s, id %s", path, k.call.Path, id)
		case k.call.Response.Written.Status != http.StatusOK:
			t.Errorf("%s: the call says status %d", path, k.call.Response.Written.Status)
		case k.call.Response.Header.Get("X-Id") != k.id:
			t.Errorf("%s: the header is that of %s", path, k.call.Response.Header.Get("X-Id"))
		}
	}
	var serving sync.WaitGroup
	for w := range workers {
		serving.Go(func() {
			for i := range requests / workers {
				id := fmt.Sprintf("%d-%d", w, i)
				recorder := httptest.NewRecorder()
				recorder.Header().Set("X-Id", id)
				e.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/api/t/keep/"+id, nil))
				k, _ := inHand.LoadAndDelete(id)
				answered <- k.(kept)
				if i%2 == 1 {
					check(<-answered) // one of before, perhaps another worker's
				}
			}
		})
	}
	serving.Wait()
	for len(answered) > 0 {
		check(<-answered)
	}
}

// keeper is a ResponseWriter that breaks the rule of io.Writer: it keeps what it
// was given.
type keeper struct {
	httptest.ResponseRecorder

	kept []byte
}

func (k *keeper) Write(p []byte) (int, error) {
	k.kept = p
	return k.ResponseRecorder.Write(p)
}

// TestBuffersAreWiped shows that who keeps a pooled buffer finds nothing in it,
// least of all another caller's answer, and that answers which are meant to be
// kept are not in one.
func TestBuffersAreWiped(t *testing.T) {
	e := New(newApp(onion.Get("secret", "secret", func(context.Context, *onion.Empty) (string, error) {
		return "only for the first caller", nil
	})).mustBuild(t))
	w := &keeper{ResponseRecorder: *httptest.NewRecorder()}
	e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/t/secret", nil))
	if got := w.Body.String(); got != `{"code":0,"message":"Success","data":"only for the first caller"}` {
		t.Fatalf("the answer is %s", got)
	}
	if len(bytes.Trim(w.kept, "\x00")) > 0 {
		t.Errorf("the buffer still holds %q", w.kept)
	}
	c := &onion.Call{WantsJSON: true}
	reply := notFound(c)
	for range 10 {
		b := getBuffer()
		b.WriteString("something else, and longer than what was there")
		putBuffer(b)
	}
	if got := string(reply.Body); got != `{"code":404,"message":"Not Found"}` {
		t.Errorf("a reply changed: %s", got)
	}
}

// mustBuild makes the application's runtime.
func (a *app) mustBuild(tb testing.TB) *Runtime {
	tb.Helper()
	rt, err := a.build(io.Discard)
	if err != nil {
		tb.Fatal(err)
	}
	return rt
}

// TestBytesOfAHead: what an action writes itself in answer to a HEAD never leaves, and is not counted; nor does it matter what
// becomes of the call's own request.
func TestBytesOfAHead(t *testing.T) {
	rt := newApp(onion.Get("one", "one", func(context.Context, *onion.Empty) (string, error) { return "", nil })).mustBuild(t)
	for method, want := range map[string]int64{http.MethodHead: 0, http.MethodGet: 5} {
		x := newExchange(rt, httptest.NewRecorder(), httptest.NewRequest(method, "/api/t/one", nil))
		x.call.Request = nil
		if _, err := x.call.Response.Writer.Write([]byte("bytes")); err != nil {
			t.Fatal(err)
		}
		if got := x.call.Response.Written; got.Bytes != want || got.Status != http.StatusOK {
			t.Errorf("%s: %+v, want %d bytes", method, got, want)
		}
	}
}

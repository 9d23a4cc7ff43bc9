package bench

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
)

// sink is a ResponseWriter that can be used again: what remains is the handler's
// own cost.
type sink struct {
	header http.Header
	status int
	bytes  int
}

func (s *sink) Header() http.Header    { return s.header }
func (s *sink) WriteHeader(status int) { s.status = status }

func (s *sink) Write(p []byte) (int, error) {
	s.bytes += len(p)
	return len(p), nil
}

// call is one request that is served over and over.
type call struct {
	handler http.Handler
	request *http.Request
	body    *bytes.Reader
	closer  io.ReadCloser
	sink    sink
}

func newCall(h http.Handler, method, url, body string) *call {
	c := &call{handler: h, request: httptest.NewRequestWithContext(context.Background(), method, url, http.NoBody), sink: sink{header: http.Header{}}}
	if body != "" {
		c.body = bytes.NewReader([]byte(body))
		c.closer = io.NopCloser(c.body)
		c.request.ContentLength = int64(len(body))
		c.request.Header.Set("Content-Type", "application/json")
	}
	return c
}

func viewCall(h http.Handler) *call   { return newCall(h, http.MethodGet, urlView, "") }
func createCall(h http.Handler) *call { return newCall(h, http.MethodPost, urlCreate, bodyCreate) }

// serve serves the request once more.
func (c *call) serve() {
	clear(c.sink.header)
	if c.body != nil {
		_, _ = c.body.Seek(0, io.SeekStart)
		c.request.Body = c.closer
	}
	c.handler.ServeHTTP(&c.sink, c.request)
}

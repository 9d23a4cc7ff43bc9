package acore

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/vonago/vonago/onion"
)

// bodyServer serves over real HTTP what bodyReq makes of each request.
func bodyServer(t *testing.T, parser map[string]any) (server *httptest.Server, url string) {
	t.Helper()
	a := newApp(t)
	if parser != nil {
		a.onions = map[string]any{"interceptor": map[string]any{"a-body:bodyReq": map[string]any{"parser": parser}}}
	}
	a.routes = []onion.Route{noop()}
	a.mustBuild()
	run := onion.Compose(a.steps.Interceptors, func(_ context.Context, c *onion.Call) (any, error) {
		if !c.Body.Parsed {
			return nil, errors.New("the body was not marked as parsed")
		}
		switch {
		case c.Body.JSON != nil:
			return "json " + string(c.Body.JSON), nil
		case c.Body.Form != nil:
			return "form " + c.Body.Form.Encode(), nil
		}
		rest, err := io.ReadAll(c.Request.Body)
		return fmt.Sprintf("rest %d", len(rest)), err
	})
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &onion.Call{Request: r, Method: r.Method, Path: r.URL.Path, Header: r.Header, WantsJSON: true}
		value, err := run(r.Context(), c)
		if err != nil {
			e := onion.AsError(err)
			w.WriteHeader(e.Status)
			_, _ = io.WriteString(w, e.Text())
			return
		}
		_, _ = io.WriteString(w, value.(string))
	}))
	t.Cleanup(server.Close)
	return server, server.URL
}

func packed(t *testing.T, kind, text string) string {
	t.Helper()
	var buf bytes.Buffer
	var w io.WriteCloser
	switch kind {
	case "gzip":
		w = gzip.NewWriter(&buf)
	case "zlib":
		w = zlib.NewWriter(&buf)
	case "flate":
		w, _ = flate.NewWriter(&buf, flate.BestCompression)
	}
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return buf.String()
}

func TestBodyReq(t *testing.T) {
	const js, form, tooLarge = "application/json", "application/x-www-form-urlencoded", "request entity too large"
	object := `{"name":"` + strings.Repeat("x", 80) + `"}` // 91 bytes; the limits are 100
	hundred := `["` + strings.Repeat("x", 96) + `"]`
	over := `["` + strings.Repeat("x", 97) + `"]`
	bomb := packed(t, "gzip", `["`+strings.Repeat("x", 1<<20)+`"]`)
	// A stream of empty blocks never yields a byte.
	endless := packed(t, "gzip", "")[:10] + strings.Repeat("\x00\x00\x00\xff\xff", 10_000)
	tests := []struct {
		name, method, contentType, encoding, body string
		status                                    int
		want                                      string
	}{
		{"object", "POST", js, "", `{"a":1}`, 200, `json {"a":1}`},
		{"list", "PUT", js, "", " \n[1]", 200, "json  \n[1]"},
		{"patch", "PATCH", js, "", `{}`, 200, `json {}`},
		{"utf-8", "POST", js + "; charset=UTF-8", "", `{"a":"ä"}`, 200, `json {"a":"ä"}`},
		{"suffix", "POST", "application/vnd.api+json", "", `{}`, 200, `json {}`},
		{"case of the type", "POST", "Application/JSON", "", `{}`, 200, `json {}`},
		{"form", "POST", form, "", "b=2&a=1&a=x+y%21", 200, "form a=1&a=x+y%21&b=2"},
		{"identity", "POST", js, "identity", `{}`, 200, `json {}`},
		{"gzip", "POST", js, "gzip", packed(t, "gzip", object), 200, "json " + object},
		{"x-gzip", "POST", js, "X-GZIP", packed(t, "gzip", object), 200, "json " + object},
		{"gzip form", "POST", form, "gzip", packed(t, "gzip", "a=1"), 200, "form a=1"},
		{"deflate", "POST", js, "deflate", packed(t, "zlib", object), 200, "json " + object},
		{"bare deflate", "POST", js, "deflate", packed(t, "flate", object), 200, "json " + object},
		{"exactly the limit", "POST", js, "", hundred, 200, "json " + hundred},
		{"exactly the limit, gzip", "POST", js, "gzip", packed(t, "gzip", hundred), 200, "json " + hundred},

		{"empty", "POST", js, "", "", 200, "rest 0"},
		{"empty gzip stream", "POST", js, "gzip", "", 200, "rest 0"},
		{"empty form", "POST", form, "", "", 200, "rest 0"},
		{"no type", "POST", "", "", `{"a":1}`, 200, "rest 7"},
		{"other type", "POST", "text/plain", "", "text", 200, "rest 4"},
		{"other type of any length", "POST", "application/octet-stream", "", strings.Repeat("x", 1000), 200, "rest 1000"},
		{"multipart", "POST", "multipart/form-data; boundary=x", "", "--x--", 200, "rest 5"},
		{"other type, any encoding", "POST", "text/plain", "br", "text", 200, "rest 4"},
		{"get", "GET", js, "", `{`, 200, "rest 1"},
		{"delete", "DELETE", js, "", `{`, 200, "rest 1"},

		{"malformed", "POST", js, "", `{"a":`, 400, "Problems parsing JSON"},
		{"two values", "POST", js, "", `{}{}`, 400, "Problems parsing JSON"},
		{"blank", "POST", js, "", "  ", 400, "Problems parsing JSON"},
		{"no utf-8", "POST", js, "", "{\"a\":\"\xff\"}", 400, "Problems parsing JSON"},
		{"deep", "POST", js, "gzip", packed(t, "gzip", strings.Repeat("[", 99)), 400, "Problems parsing JSON"},
		{"number", "POST", js, "", "1", 400, "a JSON body must be an object or an array"},
		{"string", "POST", js, "", `"text"`, 400, "a JSON body must be an object or an array"},
		{"null", "POST", js, "", " null", 400, "a JSON body must be an object or an array"},
		{"malformed form", "POST", form, "", "a=%zz", 400, "Problems parsing form"},
		{"malformed type", "POST", "application/json; charset", "", `{}`, 400, "malformed Content-Type"},
		{"charset", "POST", js + "; charset=utf-16", "", `{}`, 415, `unsupported charset "utf-16"`},
		{"charset of a form", "POST", form + "; charset=latin1", "", `a=1`, 415, `unsupported charset "latin1"`},

		{"too large", "POST", js, "", over, 413, tooLarge},
		{"too large form", "POST", form, "", "a=" + strings.Repeat("x", 99), 413, tooLarge},
		{"too large after gzip", "POST", js, "gzip", packed(t, "gzip", over), 413, tooLarge},
		{"too large after deflate", "POST", js, "deflate", packed(t, "zlib", over), 413, tooLarge},
		{"gzip bomb", "POST", js, "gzip", bomb, 413, tooLarge},
		{"gzip without end", "POST", js, "gzip", endless, 413, tooLarge},

		{"unknown encoding", "POST", js, "br", `{}`, 415, `unsupported content encoding "br"`},
		{"two encodings", "POST", js, "gzip, gzip", `{}`, 415, `unsupported content encoding "gzip, gzip"`},
		{"no gzip", "POST", js, "gzip", `{}`, 400, "invalid gzip body"},
		{"cut gzip", "POST", js, "gzip", packed(t, "gzip", object)[:20], 400, "invalid gzip body"},
		{"gzip with a wrong sum", "POST", js, "gzip", spoil(packed(t, "gzip", object)), 400, "invalid gzip body"},
		{"no deflate", "POST", js, "deflate", `{}`, 400, "invalid deflate body"},
		{"deflate with a wrong sum", "POST", js, "deflate", spoil(packed(t, "zlib", object)), 400, "invalid deflate body"},
	}
	_, target := bodyServer(t, map[string]any{"jsonLimit": "100b", "formLimit": "100"})
	for _, tt := range tests {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s chunked %v", tt.name, chunked), func(t *testing.T) {
				var body io.Reader = strings.NewReader(tt.body)
				if chunked {
					body = io.MultiReader(body) // hides the length
				}
				r, err := http.NewRequestWithContext(t.Context(), tt.method, target, body)
				if err != nil {
					t.Fatal(err)
				}
				if tt.contentType != "" {
					r.Header.Set("Content-Type", tt.contentType)
				}
				if tt.encoding != "" {
					r.Header.Set("Content-Encoding", tt.encoding)
				}
				resp, err := http.DefaultTransport.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				got, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != tt.status || string(got) != tt.want {
					t.Errorf("got %d %q (%v), want %d %q", resp.StatusCode, got, err, tt.status, tt.want)
				}
			})
		}
	}
}

// spoil changes the last byte, which belongs to the checksum or length.
func spoil(text string) string {
	return text[:len(text)-1] + string(text[len(text)-1]^1)
}

func TestBodyReqDefaultLimit(t *testing.T) {
	const limit = 20 << 20
	_, target := bodyServer(t, nil)
	for _, tt := range []struct {
		kind, head, tail string
		size, status     int
	}{
		{"application/json", `["`, `"]`, limit, 200}, {"application/json", `["`, `"]`, limit + 1, 413},
		{"application/x-www-form-urlencoded", "a=", "", limit, 200}, {"application/x-www-form-urlencoded", "a=", "", limit + 1, 413},
	} {
		text := tt.head + strings.Repeat("x", tt.size-len(tt.head+tt.tail)) + tt.tail
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(packed(t, "gzip", text)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", tt.kind)
		r.Header.Set("Content-Encoding", "gzip")
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != tt.status {
			t.Errorf("%s of %d bytes: status %d, want %d", tt.kind, tt.size, resp.StatusCode, tt.status)
		}
	}
}

// TestBodyReqCutOff sends less than it announced.
func TestBodyReqCutOff(t *testing.T) {
	server, _ := bodyServer(t, nil)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{}")
	_ = conn.(*net.TCPConn).CloseWrite()
	got, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 400 ") || !strings.Contains(string(got), "the body could not be read") {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestBodyReqErrorsOfTheReader(t *testing.T) {
	for status, err := range map[int]error{
		http.StatusRequestTimeout:        fmt.Errorf("read: %w", timeoutError{}),
		http.StatusRequestEntityTooLarge: &http.MaxBytesError{Limit: 1},
		http.StatusBadRequest:            errors.New("broken pipe"),
	} {
		for _, encoding := range []string{"", "gzip"} {
			c := newCall(http.MethodPost, "/", "Content-Type", "application/json", "Content-Encoding", encoding)
			c.Request = &http.Request{Body: io.NopCloser(&failing{err}), ContentLength: -1}
			wantError(t, parseBody(c, &bodyLimits{bodyJSON: 100}), status, "")
		}
	}
}

// TestSizedBody: the length that was announced sizes the buffer and decides
// nothing.
func TestSizedBody(t *testing.T) {
	const body = `{"a":[1,2,3]}`
	for _, tt := range []struct {
		name   string
		body   io.Reader
		length int64
		limit  int64
		status int // 0: the whole body is read
	}{
		{"exact", strings.NewReader(body), int64(len(body)), 100, 0},
		{"byte by byte", iotest.OneByteReader(strings.NewReader(body)), int64(len(body)), 100, 0},
		{"end with the last byte", iotest.DataErrReader(strings.NewReader(body)), int64(len(body)), 100, 0},
		{"unknown", strings.NewReader(body), -1, 100, 0},
		{"more than announced", strings.NewReader(body), 4, 100, 0},
		{"more than announced, and too much", strings.NewReader(body), 4, 10, http.StatusRequestEntityTooLarge},
		{"announced as too much", strings.NewReader(body), 11, 10, http.StatusRequestEntityTooLarge},
		{"cut off", io.MultiReader(strings.NewReader(body), iotest.ErrReader(io.ErrUnexpectedEOF)), 40, 100, http.StatusBadRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCall(http.MethodPost, "/", "Content-Type", "application/json")
			c.Request = &http.Request{Body: io.NopCloser(tt.body), ContentLength: tt.length}
			err := parseBody(c, &bodyLimits{bodyJSON: tt.limit})
			if tt.status != 0 {
				wantError(t, err, tt.status, "")
				return
			}
			if err != nil || string(c.Body.JSON) != body {
				t.Errorf("read %q, %v", c.Body.JSON, err)
			}
		})
	}
}

type failing struct{ err error }

func (f *failing) Read(p []byte) (int, error) { return copy(p, "{"), f.err }

// timeoutError is what a connection's read deadline gives.
type timeoutError struct{}

func (timeoutError) Error() string   { return "i/o timeout" }
func (timeoutError) Is(e error) bool { return e.Error() == "i/o timeout" }

// TestBodyReqLeavesAlone: a body that is already there, and a call without a
// request, as PerformAction makes them.
func TestBodyReqLeavesAlone(t *testing.T) {
	wrap, err := buildBodyReq(bodyReqDefaults(), onion.Env{})
	if err != nil {
		t.Fatal(err)
	}
	c := newCall(http.MethodPost, "/", "Content-Type", "application/json")
	c.Request = &http.Request{Body: io.NopCloser(strings.NewReader("{"))}
	c.Body = onion.Body{Parsed: true, Form: url.Values{"a": {"1"}}}
	if _, err := wrap(answer(nil, nil))(t.Context(), c); err != nil || c.Body.JSON != nil || c.Body.Form.Get("a") != "1" {
		t.Errorf("body %+v, %v", c.Body, err)
	}
	c = newCall(http.MethodPost, "/", "Content-Type", "application/json")
	if _, err := wrap(answer(nil, nil))(t.Context(), c); err != nil || !c.Body.Parsed {
		t.Errorf("without a request: %+v, %v", c.Body, err)
	}
	// Twice in a row parses once.
	c = newCall(http.MethodPost, "/", "Content-Type", "application/json")
	c.Request = &http.Request{Body: io.NopCloser(strings.NewReader("{}")), ContentLength: 2}
	if _, err := wrap(wrap(answer(nil, nil)))(t.Context(), c); err != nil || string(c.Body.JSON) != "{}" {
		t.Errorf("twice: %+v, %v", c.Body, err)
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"20mb": 20 << 20, "1GB": 1 << 30, "512 kb": 512 << 10, "7b": 7, "1000": 1000, " 3MB ": 3 << 20,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"mb", "0", "-1mb", "1.5mb", "20 megabytes", "20tb", "99999999999gb", "9223372036854775807"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q: %d, want an error", text, got)
		}
	}
	a := newApp(t)
	a.routes = []onion.Route{noop()}
	text := a.refused(onion.SceneInterceptor, "a-body:bodyReq", map[string]any{"parser": map[string]any{"jsonLimit": "much", "formLimit": "0"}})
	for _, want := range []string{
		`parser.jsonLimit: want a size like 20mb, got "much"`, `parser.formLimit: want a size like 20mb, got "0"`, "application config",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q, want %q", text, want)
		}
	}
}

func TestBodyRes(t *testing.T) {
	wrap, err := buildBodyRes(onion.NoOptions{}, onion.Env{})
	if err != nil {
		t.Fatal(err)
	}
	c := newCall(http.MethodGet, "/")
	value, err := wrap(answer("value", nil))(t.Context(), c)
	if value != "value" || err != nil || !c.Response.Envelope {
		t.Errorf("%v, %v, envelope %v", value, err, c.Response.Envelope)
	}
}

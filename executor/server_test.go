package executor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vonago/vonago/onion"
)

// TestMounts: static files pass the system chain and stand behind the routes.
func TestMounts(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("file"), 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan onion.Written, 1)
	log := system("demo-x:log", func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			c.Response.SetHeader("X-System", "1")
			value, err := next(ctx, c)
			written <- c.Response.Written
			return value, err
		}
	})
	def := newApp(onion.Get("a", "//static/route", gives("route")), onion.Post("b", "//static/post", gives("post")))
	def.onions = append(def.onions, log)
	def.mounts = []Mount{
		{"/static/", http.StripPrefix("/static", http.FileServer(http.Dir(dir)))},
		{"/static/deep", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if onion.CallFrom(r.Context()) == nil {
				t.Error("a mounted handler does not see the call")
			}
		})},
		{"/panic", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("mounted") })},
	}
	a := def.run(t)
	tests := []struct {
		path   string
		status int
		body   string
	}{
		{"/static/a.txt", 200, "file"},
		{"/st%61tic/a.txt", 404, "404 page not found\n"}, // reached; http.StripPrefix wants the plain spelling
		{"/static/b.txt", 404, "404 page not found\n"},
		{"/static/route", 200, `{"code":0,"message":"Success","data":"route"}`},
		{"/static/post", 405, `{"code":405,"message":"Method Not Allowed"}`},
		{"/static/deep/x", 200, ""},
		{"/static/deep", 200, ""},
		{"/staticx", 404, `{"code":404,"message":"Not Found"}`},
		{"/static%2Fa.txt", 404, `{"code":404,"message":"Not Found"}`},
		{"/panic", 500, `{"code":500,"message":"Internal Server Error"}`},
	}
	for _, tt := range tests {
		res := a.get(tt.path)
		res.want(t, tt.status, tt.body)
		if w := <-written; res.Header.Get("X-System") != "1" || strings.HasPrefix(tt.body, "{\"code\":404") != (w.Status == 0) ||
			w.Status != 0 && (w.Status != tt.status || w.Bytes != int64(len(tt.body))) {
			t.Errorf("%s: the system chain saw %+v", tt.path, w)
		}
	}
	head := a.do("HEAD", "/static/a.txt", "")
	if w := <-written; head.ContentLength != 4 || w.Bytes != 0 || w.Status != 200 {
		t.Errorf("HEAD: length %d, written %+v", head.ContentLength, w)
	}

	for _, bad := range [][]Mount{{{"static", http.NotFoundHandler()}}, {{"/a", nil}}, {{"/a", http.NotFoundHandler()}, {"/a/", http.NotFoundHandler()}}} {
		def.mounts = bad
		if _, err := def.build(io.Discard); err == nil {
			t.Errorf("%v: want an error", bad)
		}
	}
}

// TestUpgrade: an action takes the connection over.
func TestUpgrade(t *testing.T) {
	written := make(chan onion.Written, 1)
	log := system("demo-x:log", func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			value, err := next(ctx, c)
			written <- c.Response.Written
			return value, err
		}
	})
	upgrade := handle(func(ctx context.Context) (string, error) {
		conn, rw, err := http.NewResponseController(onion.CallFrom(ctx).Response.Writer).Hijack()
		if err != nil {
			return "", err
		}
		defer conn.Close()
		_, err = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\nhello")
		return "", errors.Join(err, rw.Flush())
	})
	def := newApp(onion.Get("a", "a", upgrade))
	def.onions = append(def.onions, log)
	a := def.run(t)
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(a.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /api/t/a HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	all, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 101 ") || !strings.HasSuffix(string(all), "\r\n\r\nhello") {
		t.Errorf("got %q, %v", all, err)
	}
	if w := <-written; w.Status != 101 {
		t.Errorf("written %+v", w)
	}
}

// TestStreaming: an action that writes itself can flush and set deadlines.
func TestStreaming(t *testing.T) {
	stream := handle(func(ctx context.Context) (any, error) {
		w := onion.CallFrom(ctx).Response.Writer
		control := http.NewResponseController(w)
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusAccepted)
		_, err := io.Copy(w, strings.NewReader("data: 1\n\n"))
		return "ignored", errors.Join(err, control.Flush(), control.SetWriteDeadline(time.Now().Add(time.Minute)))
	})
	a := newApp(onion.Get("a", "a", stream)).run(t)
	res := a.get("/api/t/a")
	if res.want(t, 202, "data: 1\n\n"); res.Header.Get("Content-Type") != "text/event-stream" || a.log.String() != "" {
		t.Errorf("header %v, log %s", res.Header, a.log)
	}
}

// TestClientGone: a client that leaves makes no noise and reaches no filter.
func TestClientGone(t *testing.T) {
	begun, outcome := make(chan struct{}), make(chan onion.Written, 1)
	wait := handle(func(ctx context.Context) (string, error) {
		close(begun)
		<-ctx.Done()
		return "", fmt.Errorf("wait: %w", ctx.Err())
	})
	filter := globalFilter("demo-x:filter", func(_ context.Context, _ *onion.Call, err error) (*onion.Reply, error) {
		t.Errorf("the filter saw %v", err)
		return nil, err
	})
	log := system("demo-x:log", func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			value, err := next(ctx, c)
			outcome <- c.Response.Written
			return value, err
		}
	})
	def := newApp(onion.Get("a", "a", wait))
	def.onions = append(def.onions, filter, log)
	a := def.run(t)
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", a.url+"/api/t/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-begun
		leave()
	}()
	if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
		res.Body.Close()
		t.Error("the request was answered")
	}
	if w := <-outcome; w.Status != statusClientGone {
		t.Errorf("written %+v", w)
	}
	if a.log.String() != "" {
		t.Errorf("logged: %s", a.log)
	}
}

// TestSwap: a request ends with the runtime it began with.
func TestSwap(t *testing.T) {
	begun, proceed := make(chan struct{}), make(chan struct{})
	first := newApp(onion.Get("a", "a", handle(func(context.Context) (string, error) {
		close(begun)
		<-proceed
		return "", onion.NewError(400, nil)
	})))
	filter := func(text string) onion.Onion {
		return globalFilter("demo-x:filter", func(context.Context, *onion.Call, error) (*onion.Reply, error) {
			return &onion.Reply{Status: 400, Body: []byte(text)}, nil
		})
	}
	first.onions = append(first.onions, filter("first"))
	a := first.run(t)
	second := newApp(onion.Get("b", "b", gives("second")))
	second.onions = append(second.onions, filter("second"))
	next, err := second.build(a.log)
	if err != nil {
		t.Fatal(err)
	}
	slow := make(chan response, 1)
	go func() {
		res, _ := a.try("GET", "/api/t/a", "")
		slow <- res
	}()
	<-begun
	if old := a.Swap(next); old == nil || old == next {
		t.Error("Swap gives the runtime it replaced")
	}
	a.get("/api/t/b").want(t, 200, `{"code":0,"message":"Success","data":"second"}`)
	a.get("/api/t/a").want(t, 404, `{"code":404,"message":"Not Found"}`)
	close(proceed)
	if res := <-slow; res.body != "first" {
		t.Errorf("the request under way got %q", res.body)
	}
}

func TestRuntimeErrorsAtOnce(t *testing.T) {
	type in struct{ A string }
	bad := func(context.Context, *in) (string, error) { return "", nil }
	def := newApp(onion.Get("one", ":id", gives(1)), onion.Get("two", ":nr", gives(1)), onion.Get("three", "x", bad), onion.Get("four", "{id}", gives(1)))
	def.proxy.Enabled = true
	def.mounts = []Mount{{"x", nil}}
	_, err := def.build(io.Discard)
	if err == nil {
		t.Fatal("want errors")
	}
	for _, part := range []string{"GET /api/t/:id", "GET /api/t/:nr", "server_test.go", "executor.in: field A: has no source", "/api/t/{id}", "proxy: enabled", `mount "x"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in\n%v", part, err)
		}
	}
}

// TestTimeouts: a client that never ends its header is cut off.
func TestTimeouts(t *testing.T) {
	def := newApp(onion.Get("a", "a", gives(1)))
	def.server.ReadHeaderTimeoutMs = 50
	a := def.run(t)
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(a.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /api/t/a HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if text, err := bufio.NewReader(conn).ReadString('\n'); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection stays open: %q, %v", text, err)
	}
	big := newApp(onion.Get("a", "a", gives(1)))
	big.server.MaxHeaderBytes = 2048
	if res := big.run(t).get("/api/t/a", "X-Big: "+strings.Repeat("x", 9000)); res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a large header: got %d", res.StatusCode)
	}
}

// TestCompatAccept is the other rule of contract C4, end to end.
func TestCompatAccept(t *testing.T) {
	def := newApp(onion.Get("a", "a", gives("text")))
	def.server.CompatAccept = true
	a := def.run(t)
	a.get("/api/t/a", "Accept: */*").want(t, 200, "text")
	a.get("/api/t/a", "Accept: application/json").want(t, 200, `{"code":0,"message":"Success","data":"text"}`)
}

// TestProxyAddress is contract D4 end to end.
func TestProxyAddress(t *testing.T) {
	type in struct {
		IP string `ip:""`
	}
	def := newApp(onion.Get("a", "a", func(ctx context.Context, in *in) (string, error) {
		return in.IP + " " + onion.CallFrom(ctx).Host, nil
	}))
	forwarded := []string{"X-Forwarded-For: 6.6.6.6", "X-Forwarded-For: 1.2.3.4", "X-Forwarded-Host: public.test"}
	a := def.run(t)
	if res := a.get("/api/t/a", forwarded...); !strings.Contains(res.body, "127.0.0.1 127.0.0.1:") {
		t.Errorf("nothing trusted: %s", res.body)
	}
	def.proxy = proxied("127.0.0.0/8")
	if res := def.run(t).get("/api/t/a", forwarded...); !strings.Contains(res.body, "1.2.3.4 public.test") {
		t.Errorf("loopback trusted: %s", res.body)
	}
}

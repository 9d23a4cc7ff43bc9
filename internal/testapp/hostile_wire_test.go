package testapp

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/internal/redistest"
)

// answer is a response that was read off the wire.
type answer struct {
	status int
	header http.Header
	body   string
}

// dial connects to the application.
func (s *Server) dial(t *testing.T) *net.TCPConn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(s.URL, "http://"), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// raw sends bytes and reads a response.
func (s *Server) raw(t *testing.T, request string) answer {
	t.Helper()
	conn := s.dial(t)
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	return read(t, conn, request)
}

func read(t *testing.T, conn net.Conn, request string) answer {
	t.Helper()
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Errorf("%.100q: %v", request, err)
		return answer{}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Errorf("%.100q: the body: %v", request, err)
	}
	return answer{res.StatusCode, res.Header, string(body)}
}

// gone waits until the other side has closed the connection, and gives what it said before.
func gone(t *testing.T, conn net.Conn, within time.Duration) string {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(conn)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		t.Errorf("the connection still stands after %v; it said %q", within, said)
	}
	return string(said)
}

// awaitGoroutines waits until there are no more goroutines than before.
func awaitGoroutines(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 64<<10)
			t.Fatalf("%d goroutines, before %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// TestSlowAndHuge: clients that take their time, or say too much, are cut off, and cost others nothing.
func TestSlowAndHuge(t *testing.T) {
	s := Start(t, Setup{Local: "server: {readHeaderTimeoutMs: 300, readTimeoutMs: 700, idleTimeoutMs: 300}"})
	const head = "POST /api/test/vona/probe/echo/7 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	before := runtime.NumGoroutine()
	trickle := func(conn net.Conn, text string) {
		for i := range len(text) {
			if _, err := conn.Write([]byte{text[i]}); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { // a header that never ends
			conn := s.dial(t)
			go trickle(conn, strings.Repeat("GET / HTTP/1.1\r\nX: y\r\n", 10))
			gone(t, conn, 10*time.Second)
			conn.Close()
		})
		all.Go(func() { // a body that never ends
			conn := s.dial(t)
			_, _ = io.WriteString(conn, head+"Content-Length: 1000\r\n\r\n{")
			go trickle(conn, strings.Repeat(" ", 500))
			if said := gone(t, conn, 10*time.Second); strings.Contains(said, " 200 ") || strings.Contains(said, " 50") {
				t.Errorf("a body that never came: %s", said)
			}
			conn.Close()
		})
		all.Go(func() { // nothing at all
			conn := s.dial(t)
			gone(t, conn, 10*time.Second)
			conn.Close()
		})
	}
	for range 20 { // others are served meanwhile
		if a := s.raw(t, "GET /api/test/vona/probe/hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); a.status != http.StatusOK {
			t.Errorf("meanwhile: %d", a.status)
		}
	}
	all.Wait()
	awaitGoroutines(t, before)

	for name, request := range map[string]string{
		"one field":        "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 80<<10) + "\r\n\r\n",
		"many fields":      "GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: y\r\n", 20<<10) + "\r\n",
		"a long path":      "GET /" + strings.Repeat("y", 80<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"many addresses":   "GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: " + strings.Repeat("1.2.3.4,", 12<<10) + "\r\n\r\n",
		"a name of 100 kB": "GET / HTTP/1.1\r\nHost: x\r\nx-vona-instance-name: " + strings.Repeat("n", 100<<10) + "\r\n\r\n",
	} {
		conn := s.dial(t)
		go func() { _, _ = io.WriteString(conn, request) }() // the server may stop reading
		if a := read(t, conn, request); a.status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s: %d", name, a.status)
		}
		conn.Close()
	}
	if keys := s.Redis.Keys("*"); len(keys) != 0 {
		t.Errorf("keys %v", keys)
	}
}

// TestRefusedBeforeTheBody: who is over the limit is told so without the body having been waited for (contract A1).
func TestRefusedBeforeTheBody(t *testing.T) {
	s := Start(t, Setup{Local: "onions: {interceptor: {a-ratelimit:rateLimit: {enable: true, rateLimit: {mode: enforce, limit: 1, windowMs: 86400000}}}}"})
	sameDay(t, func() {
		s.Redis.FlushAll()
		s.Do(t, http.MethodPost, "/api/test/vona/probe/echo/7", `{"name":"Ada"}`, isJSON)
		conn := s.dial(t)
		if _, err := io.WriteString(conn, "POST /api/test/vona/probe/echo/7 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
		if a := read(t, conn, "POST"); a.status != http.StatusTooManyRequests {
			t.Errorf("%d %s", a.status, a.body)
		}
		conn.Close()
	})
}

// TestHalfClosed: a client that says no more, but listens, gets a well-formed answer; one that has left costs nothing.
func TestHalfClosed(t *testing.T) {
	s := Start(t, Setup{})
	s.Do(t, http.MethodGet, "/api/test/vona/probe/hello", "") // the instance is there: nobody leaves while it is looked up
	before := runtime.NumGoroutine()
	sameDay(t, func() {
		s.Redis.FlushAll()
		var admitted, left int
		for range 20 {
			conn := s.dial(t)
			const request = "GET /api/test/vona/probe/limited HTTP/1.1\r\nHost: x\r\n\r\n"
			if _, err := io.WriteString(conn, request); err != nil {
				t.Fatal(err)
			}
			if err := conn.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			// net/http takes a half-closed connection for a client that has left:
			// an answer that is not ready by then is a 499.
			switch a := read(t, conn, request); a.status {
			case http.StatusOK:
				admitted++
			case http.StatusTooManyRequests:
			case 499:
				left++
			default:
				t.Errorf("%d %s", a.status, a.body)
			}
			gone(t, conn, 10*time.Second)
			conn.Close()
		}
		if admitted > 3 || left == 0 && admitted != 3 {
			t.Errorf("admitted %d, left %d, want 3 admitted", admitted, left)
		}
		for _, key := range s.Redis.Keys("*") {
			if n := s.Redis.Do("GET", key); n != "20" { // the attempts of those who left stand too (A11)
				t.Errorf("counted %v of 20", n)
			}
		}
	})
	awaitGoroutines(t, before)
	if n := s.Log.Count("rate_limit.redis_error"); n != 0 {
		t.Errorf("%d errors were logged:\n%s", n, s.Log)
	}
}

// TestClosedTabIsNoOutage: callers that leave while Redis takes its time are no failure of Redis (contract A11): no event, no
// open breaker, and their attempts stand.
func TestClosedTabIsNoOutage(t *testing.T) {
	redis := redistest.Start(t)
	proxy := redistest.NewProxy(t, redis.Addr())
	s := Start(t, Setup{Redis: redis, Via: proxy, Local: "redis: {clients: {limiter: {timeoutMs: 3000}}}\n" +
		"onions: {interceptor: {a-ratelimit:rateLimit: {enable: true, rateLimit: {mode: enforce, limit: 1000, windowMs: 86400000}}}}"})
	const path = "/api/test/vona/probe/hello"
	s.Do(t, http.MethodGet, path, "")
	proxy.Set(redistest.Hang())
	var tabs []*net.TCPConn
	for range 30 {
		conn := s.dial(t)
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		tabs = append(tabs, conn)
	}
	time.Sleep(50 * time.Millisecond) // they are under way, most of them; the others find the connection closed
	for _, conn := range tabs {
		_ = conn.SetLinger(0)
		conn.Close()
	}
	time.Sleep(50 * time.Millisecond)
	proxy.Set(redistest.Forward())
	res, _ := s.Do(t, http.MethodGet, path, "")
	if res.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %d", res.StatusCode)
	}
	if n := s.Log.Count("rate_limit.redis_error"); n != 0 {
		t.Errorf("%d errors were logged:\n%s", n, s.Log)
	}
	if _, body := s.Do(t, http.MethodGet, "/health/ready", ""); !strings.Contains(body, "breaker closed") {
		t.Errorf("ready says %s", body)
	}
}

// TestNotHTTP sends what is no request, or two in one: it is refused, and what follows is served.
func TestNotHTTP(t *testing.T) {
	s := Start(t, Setup{})
	for name, request := range map[string]string{
		"garbage":            "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
		"no host":            "GET /api/test/vona/probe/limited HTTP/1.1\r\n\r\n",
		"two hosts":          "GET /api/test/vona/probe/limited HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"two lengths":        "POST /api/test/vona/probe/echo/7 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
		"a folded field":     "GET /api/test/vona/probe/limited HTTP/1.1\r\nHost: x\r\n X: y\r\n\r\n",
		"a space in a name":  "GET /api/test/vona/probe/limited HTTP/1.1\r\nHost: x\r\nX : y\r\n\r\n",
		"a line in a method": "G\nET /api/test/vona/probe/limited HTTP/1.1\r\nHost: x\r\n\r\n",
		"a bad version":      "GET /api/test/vona/probe/limited HTTP/9.9\r\nHost: x\r\n\r\n",
		"a bad encoding":     "POST /api/test/vona/probe/echo/7 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n",
	} {
		conn := s.dial(t)
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		if said := gone(t, conn, 20*time.Second); !strings.Contains(said, " 400 ") && !strings.Contains(said, " 50") {
			t.Errorf("%s: %s", name, said)
		}
		conn.Close()
	}
	if keys := s.Redis.Keys("*"); len(keys) != 0 {
		t.Errorf("keys %v", keys)
	}
	if res, _ := s.Do(t, http.MethodGet, "/api/test/vona/probe/limited", ""); res.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %d", res.StatusCode)
	}
}

package testapp

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
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

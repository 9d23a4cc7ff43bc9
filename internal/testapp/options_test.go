package testapp

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestOptionsOfTheServer is contract B3: "OPTIONS *" is a request like any other,
// so the aggregate control counts it.
func TestOptionsOfTheServer(t *testing.T) {
	s := Start(t, Setup{Local: "onions: {middlewareSystem: {a-ratelimit:aggregate: {enable: true, rateLimit: {mode: enforce, limit: 100}}}}"})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("status %d", res.StatusCode)
	}
	if keys := s.Redis.Keys("*aggregate*"); len(keys) != 1 {
		t.Errorf("counted in %v", keys)
	}
}

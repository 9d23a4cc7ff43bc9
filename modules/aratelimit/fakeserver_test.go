//go:build unix

package aratelimit

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// fakeServer answers so many commands, all alike, and then hangs up.
type fakeServer struct {
	addr    string
	replies atomic.Int64
	wg      sync.WaitGroup
}

func listen(t *testing.T) *fakeServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeServer{addr: l.Addr().String()}
	f.replies.Store(1 << 40)
	f.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			f.wg.Go(func() { f.serve(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); f.wg.Wait() })
	return f
}

func (f *fakeServer) serve(conn net.Conn) {
	defer conn.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		request := bytes.ToLower(buf[:n])
		switch {
		case bytes.Contains(request, []byte("hello")):
			_, _ = conn.Write([]byte("-ERR unknown command\r\n"))
			continue
		case !bytes.Contains(request, []byte("evalsha")):
			_, _ = conn.Write([]byte("+OK\r\n"))
			continue
		}
		for range bytes.Count(request, []byte("evalsha")) {
			if f.replies.Add(-1) < 0 {
				return
			}
			_, _ = conn.Write([]byte("*2\r\n:1\r\n:1\r\n"))
		}
	}
}

package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v3"

	"github.com/vonago/vonago/executor"
)

// connections is the number of keep-alive connections that ask at the same time.
const connections = 64

// site is a server on a loopback port, and connections to it.
type site struct {
	name  string
	conns []*asker
}

// serve opens a site. All handlers on net/http have the same server around them.
func serve(tb testing.TB, name string, h http.Handler) *site {
	tb.Helper()
	l := listen(tb)
	server := executor.NewServer(executor.DefaultServerConfig(), h)
	go func() { _ = server.Serve(l) }() // it ends with Close
	tb.Cleanup(func() { _ = server.Close() })
	return connect(tb, name, l.Addr().String())
}

// serveFiber opens a site of fiber's own server.
func serveFiber(tb testing.TB, name string, a *fiber.App) *site {
	tb.Helper()
	l := listen(tb)
	go func() { _ = a.Listener(l, fiber.ListenConfig{DisableStartupMessage: true}) }() // it ends with Shutdown
	tb.Cleanup(func() { _ = a.ShutdownWithTimeout(time.Second) })
	return connect(tb, name, l.Addr().String())
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func connect(tb testing.TB, name, addr string) *site {
	tb.Helper()
	s := &site{name: name}
	request := "GET " + urlView + " HTTP/1.1\r\nHost: " + addr + "\r\nAccept: application/json\r\nUser-Agent: bench\r\n\r\n"
	for range connections {
		conn, err := (&net.Dialer{}).DialContext(tb.Context(), "tcp", addr)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = conn.Close() })
		s.conns = append(s.conns, &asker{conn: conn, request: []byte(request), reader: bufio.NewReader(conn)})
	}
	return s
}

// run asks over all connections for the length of a slice and gives the requests
// per second.
func (s *site) run(tb testing.TB, slice time.Duration) float64 {
	tb.Helper()
	runtime.GC()
	counts := make([]int, len(s.conns))
	began := time.Now()
	var wg sync.WaitGroup
	for i, a := range s.conns {
		wg.Go(func() {
			for time.Since(began) < slice {
				if err := a.ask(); err != nil {
					tb.Errorf("%s: %v", s.name, err)
					return
				}
				counts[i]++
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return float64(sum) / took.Seconds()
}

// asker is one connection of a client that does as little as it can, to leave the
// machine to the server.
type asker struct {
	conn    net.Conn
	request []byte
	reader  *bufio.Reader
}

var (
	statusOK   = []byte("HTTP/1.1 200")
	lengthHead = []byte("content-length:")
)

// ask sends the request and reads the answer, which must be a 200.
func (a *asker) ask() error {
	if _, err := a.conn.Write(a.request); err != nil {
		return err
	}
	line, err := a.reader.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, statusOK) {
		return fmt.Errorf("answered %q", bytes.TrimSpace(line))
	}
	length := -1
	for {
		line, err := a.reader.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if len(line) > len(lengthHead) && bytes.EqualFold(line[:len(lengthHead)], lengthHead) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(lengthHead):]))); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return fmt.Errorf("the answer has no Content-Length")
	}
	_, err = a.reader.Discard(length)
	return err
}

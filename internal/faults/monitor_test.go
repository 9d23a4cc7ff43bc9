package faults

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/internal/redistest"
)

// monitor listens to what a server executes, by its command MONITOR, and adds up the increments.
type monitor struct {
	t      testing.TB
	server *redistest.Server

	mu     sync.Mutex
	conn   net.Conn
	total  int64
	echoes map[string]bool
	marks  int
	ended  chan struct{}
}

func listen(t testing.TB, s *redistest.Server) *monitor {
	t.Helper()
	m := &monitor{t: t, server: s, echoes: map[string]bool{}}
	m.attach()
	t.Cleanup(m.detach)
	return m
}

// attach connects, for the first time or after the server was away.
func (m *monitor) attach() {
	m.t.Helper()
	conn, err := net.DialTimeout("tcp", m.server.Addr(), 5*time.Second)
	if err != nil {
		m.t.Fatalf("monitor: %v", err)
	}
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		m.t.Fatalf("monitor: %v", err)
	}
	lines := bufio.NewScanner(conn)
	if !lines.Scan() || lines.Text() != "+OK" {
		m.t.Fatalf("monitor: answered %q", lines.Text())
	}
	m.conn, m.ended = conn, make(chan struct{})
	go func() {
		defer close(m.ended)
		for lines.Scan() {
			m.read(lines.Text())
		}
	}()
}

func (m *monitor) detach() {
	_ = m.conn.Close()
	<-m.ended
}

// reattach is attach after the server was away.
func (m *monitor) reattach() {
	m.t.Helper()
	m.detach()
	m.attach()
}

// read reads a line such as `+1767225600.123456 [0 lua] "INCRBY" "key" "3"`.
func (m *monitor) read(line string) {
	_, command, _ := strings.Cut(line, "] ")
	words := strings.Split(command, `"`) // the words are those at odd places
	if len(words) < 4 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch strings.ToLower(words[1]) {
	case "incr":
		m.total++
	case "incrby":
		n, err := strconv.ParseInt(words[5], 10, 64)
		if err != nil {
			m.t.Errorf("monitor: %s: %v", line, err)
		}
		m.total += n
	case "echo":
		m.echoes[words[3]] = true
	}
}

// count is what all increments that the server has executed so far, and that the monitor was there to see, add up to.
func (m *monitor) count() int64 {
	m.t.Helper()
	m.marks++
	mark := fmt.Sprintf("mark-%d", m.marks)
	m.server.Do("ECHO", mark)
	var total int64
	await(m.t, "the monitor to come to the mark", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		total = m.total
		return m.echoes[mark]
	})
	return total
}

// await waits for a condition, for at most 20 s.
func await(t testing.TB, what string, condition func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !condition() {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(500 * time.Microsecond)
	}
	return time.Since(began)
}

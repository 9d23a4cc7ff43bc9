//go:build unix

package redistest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// short bounds a wait that is expected to end without an answer; long one that is expected to get it.
const (
	short = 60 * time.Millisecond
	long  = 10 * time.Second
)

// raw speaks inline commands over one connection, so that what travels is exactly known.
type raw struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, addr string) *raw {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &raw{t: t, Conn: c, r: bufio.NewReader(c)}
}

func (c *raw) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		c.t.Fatalf("send %q: %v", s, err)
	}
}

// sendUnanswered sends where the fault lets no answer through. With Forward the answer may come before the test goes on, and
// after Refuse there is nothing left to send on.
func (c *raw) sendUnanswered(f Fault, s string) {
	c.t.Helper()
	if f.kind != forward && f.kind != refuse {
		c.send(s)
	}
}

func (c *raw) line(wait time.Duration) (string, error) {
	c.t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(wait)); err != nil {
		c.t.Fatal(err)
	}
	s, err := c.r.ReadString('\n')
	return strings.TrimSpace(s), err
}

func (c *raw) want(s string) {
	c.t.Helper()
	if got, err := c.line(long); got != s || err != nil {
		c.t.Fatalf("read %q, %v, want %q", got, err, s)
	}
}

func (c *raw) wantSilence() {
	c.t.Helper()
	var timeout net.Error
	if got, err := c.line(short); !errors.As(err, &timeout) || !timeout.Timeout() {
		c.t.Fatalf("read %q, %v, want silence", got, err)
	}
}

func (c *raw) wantBroken() {
	c.t.Helper()
	var timeout net.Error
	if got, err := c.line(long); err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		c.t.Fatalf("read %q, %v, want a broken connection", got, err)
	}
}

func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(long); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain: %s", long, what)
		}
	}
}

func counter(s *Server, key string) string {
	n, err := s.Client().Get(context.Background(), key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err.Error()
	}
	return n
}

func TestProxyForwards(t *testing.T) {
	s := Start(t)
	p := NewProxy(t, s.Addr())
	c := newClient(t, p.Addr())
	big := strings.Repeat("x", 1<<20) // many reads
	if err := c.Set(t.Context(), "k", big, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Get(t.Context(), "k").Result(); err != nil || got != big {
		t.Fatalf("GET = %d bytes, %v", len(got), err)
	}
	if p.Accepted() != 1 || p.Open() != 1 {
		t.Errorf("Accepted, Open = %d, %d, want 1, 1", p.Accepted(), p.Open())
	}
	c.Close()
	await(t, "the closed connection is forgotten", func() bool { return p.Open() == 0 })
}

func TestProxyHang(t *testing.T) {
	s := Start(t)
	p := NewProxy(t, s.Addr())
	old := dial(t, p.Addr())
	old.send("PING\r\n")
	old.want("+PONG")
	p.Set(Hang())
	young := dial(t, p.Addr())
	old.send("INCR n\r\n")
	young.send("INCR n\r\n")
	old.wantSilence()
	young.wantSilence()
	if got := counter(s, "n"); got != "" {
		t.Errorf("n = %s while hanging, want nothing executed", got)
	}
	p.Set(Forward())
	if got, err := old.line(long); err != nil || got != ":1" && got != ":2" {
		t.Errorf("after the hang %q, %v", got, err)
	}
	if got, err := young.line(long); err != nil || got != ":1" && got != ":2" {
		t.Errorf("after the hang %q, %v", got, err)
	}
}

func TestProxyBlackhole(t *testing.T) {
	s := Start(t)
	p := NewProxy(t, s.Addr())
	c := dial(t, p.Addr())
	c.send("PING\r\n")
	c.want("+PONG")

	p.Set(Blackhole(10))
	c.send("INCR n\r\n") // 8 bytes
	c.want(":1")
	c.send("INCR n\r\n") // 2 of 8
	c.wantSilence()
	young := dial(t, p.Addr())
	young.send("PING\r\n")
	young.wantSilence()
	if got := counter(s, "n"); got != "1" {
		t.Errorf("n = %s, want 1: half a command was executed", got)
	}

	p.Set(Forward())
	c.send("PING\r\n")
	c.wantSilence() // lost bytes do not come back
	fresh := dial(t, p.Addr())
	fresh.send("PING\r\n")
	fresh.want("+PONG")
}

func TestProxyBlackholeLosesTheReplyOfItsLastRequest(t *testing.T) {
	s := Start(t)
	p := NewProxy(t, s.Addr())
	c := dial(t, p.Addr())
	p.Set(Blackhole(8))
	c.send("INCR n\r\n")
	await(t, "the request arrives", func() bool { return counter(s, "n") == "1" })
	c.wantSilence()
}

func TestProxyDelay(t *testing.T) {
	s := Start(t)
	p := NewProxy(t, s.Addr())
	c := dial(t, p.Addr())
	for _, f := range []Fault{Delay(short), Delay(short).On("incr").Times(2)} {
		p.Set(f)
		begin := time.Now()
		c.send("INCR n\r\n")
		if got, err := c.line(long); err != nil || time.Since(begin) < short {
			t.Errorf("answer %q, %v after %v, want at least %v", got, err, time.Since(begin), short)
		}
	}
	c.send("PING\r\n") // Delay on incr is still set
	c.want("+PONG")
}

func TestProxyLoseReply(t *testing.T) {
	s := Start(t)
	p := NewProxy(t, s.Addr())
	c := newClient(t, p.Addr())
	// The handshake of go-redis is let through by On, and the connection after it by Times.
	p.Set(LoseReply().On("incr").Times(1))
	if err := c.Incr(t.Context(), "n").Err(); err == nil {
		t.Fatal("INCR succeeded without its reply")
	}
	if got := counter(s, "n"); got != "1" {
		t.Errorf("n = %s, want it executed once", got)
	}
	if got, err := c.Incr(t.Context(), "n").Result(); got != 2 || err != nil {
		t.Errorf("the next INCR = %d, %v, want 2", got, err)
	}
	if p.Accepted() != 2 {
		t.Errorf("Accepted = %d, want 2: the cut connection and a new one", p.Accepted())
	}
}

func TestProxySwallow(t *testing.T) {
	s := Start(t)
	p := NewProxy(t, s.Addr())
	c := dial(t, p.Addr())
	p.Set(Swallow().Times(1))
	c.send("INCR n\r\n")
	await(t, "the request arrives", func() bool { return counter(s, "n") == "1" })
	c.wantSilence()
	c.send("INCR n\r\n") // still deaf, though the fault is over
	await(t, "the request arrives", func() bool { return counter(s, "n") == "2" })
	c.wantSilence()
	fresh := dial(t, p.Addr())
	fresh.send("INCR n\r\n")
	fresh.want(":3")
}

func TestProxyGarbage(t *testing.T) {
	s := Start(t)
	p := NewProxy(t, s.Addr())
	c := dial(t, p.Addr())
	p.Set(Garbage("!what?\r\n").On("INCR").Times(2))
	c.send("PING\r\n")
	c.want("+PONG")
	c.send("in") // the text lies across two reads
	await(t, "the first part passes", func() bool { return strings.HasSuffix(p.tail(), "in") })
	c.send("cr n\r\n")
	c.want("!what?")
	c.send("PING\r\n")
	c.want("+PONG")
	c.send("incr n\r\n")
	c.want("!what?")
	c.send("incr n\r\n")
	c.want(":3")
}

// tail returns what the only link remembers of the requests.
func (p *Proxy) tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.mu.Lock()
		defer l.mu.Unlock()
		return string(l.tail)
	}
	return ""
}

func TestProxyForgetsWhatWasArmedForAnotherFault(t *testing.T) {
	s := Start(t)
	p := NewProxy(t, s.Addr())
	c := dial(t, p.Addr())
	s.Pause()
	p.Set(Garbage("!one\r\n").On("incr"))
	c.send("INCR n\r\n")
	await(t, "the request is seen", func() bool { return p.tail() != "" })
	p.Set(Garbage("!two\r\n").On("get"))
	s.Resume()
	c.want(":1")
}

func TestProxyRefuse(t *testing.T) {
	s := Start(t)
	p := NewProxy(t, s.Addr())
	c := dial(t, p.Addr())
	c.send("PING\r\n")
	c.want("+PONG")
	p.Set(Refuse())
	c.wantBroken()
	if conn, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		if err == nil {
			conn.Close()
		}
		t.Errorf("dial = %v, want refused", err)
	}
	p.Set(Forward())
	fresh := dial(t, p.Addr())
	fresh.send("PING\r\n")
	fresh.want("+PONG")
}

func TestProxyCut(t *testing.T) {
	s := Start(t)
	p := NewProxy(t, s.Addr())
	for _, f := range []Fault{Forward(), Hang(), Blackhole(0), Delay(long)} {
		p.Set(Forward())
		c := dial(t, p.Addr())
		c.send("PING\r\n")
		c.want("+PONG")
		p.Set(f)
		c.sendUnanswered(f, "PING\r\n")
		p.Cut()
		c.wantBroken()
		await(t, "the cut connection is forgotten", func() bool { return p.Open() == 0 })
	}
}

func TestProxyToNowhere(t *testing.T) {
	s := Start(t)
	p := NewProxy(t, s.Addr())
	s.Kill()
	if c, err := net.Dial("tcp", p.Addr()); err == nil { // the reset can be faster than the dial
		(&raw{t: t, Conn: c, r: bufio.NewReader(c)}).wantBroken()
		c.Close()
	}
	s.Restart()
	c := dial(t, p.Addr())
	c.send("PING\r\n")
	c.want("+PONG")
	s.Kill()
	c.wantBroken()
}

func TestProxyCloseEndsEverything(t *testing.T) {
	s := Start(t)
	for i, f := range []Fault{Forward(), Hang(), Blackhole(0), Delay(long), Swallow(), Refuse()} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			p := NewProxy(t, s.Addr())
			c := dial(t, p.Addr())
			c.send("PING\r\n")
			c.want("+PONG")
			p.Set(f)
			c.sendUnanswered(f, "PING\r\n")
			p.Close()
			p.Close() // twice is fine
			p.Set(Hang())
			goleak.VerifyNone(t, before)
			c.wantBroken()
		})
	}
}

//go:build unix

package redistest

import (
	"errors"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Proxy is a TCP proxy on a loopback port that can break the traffic it carries; see Fault for what it can do. It starts with
// Forward. Every method may be called from any goroutine.
//
// The proxy knows nothing of the protocol: a request or a reply is what one read returns. That is one command and its answer
// for a client that waits for each answer, as a go-redis pool does, and one whole pipeline while it is small.
type Proxy struct {
	t      testing.TB
	target string
	port   int

	mu       sync.Mutex
	fault    Fault
	serial   int           // counts the faults that have been set
	changed  chan struct{} // closed and replaced when fault changes
	listener net.Listener  // nil while refusing
	links    map[*link]struct{}
	accepted int
	closed   bool
	wg       sync.WaitGroup
}

// NewProxy starts a proxy to the target address host:port. It ends in t.Cleanup, or with Close.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, port, err := listenFree()
	if err != nil {
		t.Fatalf("redistest: start a proxy: %v", err)
	}
	p := &Proxy{
		t: t, target: target, port: port, listener: l,
		changed: make(chan struct{}), links: map[*link]struct{}{},
	}
	p.wg.Go(func() { p.accept(l) })
	t.Cleanup(p.Close)
	return p
}

// Addr returns the address of the proxy as host:port.
func (p *Proxy) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

// Set puts a fault in the place of the one before it, for connections that stand and for new ones.
func (p *Proxy) Set(f Fault) {
	p.t.Helper()
	if (f.match != "" || f.times != 0) && !f.aboutReplies() {
		p.t.Errorf("redistest: On and Times go with Delay, LoseReply, Swallow and Garbage only")
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.setLocked(f)
	switch {
	case f.kind == refuse:
		p.cutLocked()
		if p.listener != nil {
			_ = p.listener.Close()
			p.listener = nil
		}
	case p.listener == nil:
		l, err := listen(p.port)
		if err != nil {
			p.t.Errorf("redistest: proxy listens again on %s: %v", p.Addr(), err)
			return
		}
		p.listener = l
		p.wg.Go(func() { p.accept(l) })
	}
}

// Cut resets every connection that stands. New ones are accepted as before.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutLocked()
}

// Accepted returns how many connections have been accepted since the proxy started.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Open returns how many connections stand now. It follows a close by an end only after the proxy has seen it.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Close cuts every connection, stops listening and returns when nothing of the proxy runs any more. Closing twice is fine.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.setLocked(Forward()) // wakes what waits
	p.cutLocked()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *Proxy) forget(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

func (p *Proxy) setLocked(f Fault) {
	p.fault = f
	p.serial++
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) cutLocked() {
	for l := range p.links {
		l.cut()
	}
}

func (p *Proxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			p.t.Errorf("redistest: proxy accepts: %v", err)
			return
		}
		p.open(client)
	}
}

// open joins an accepted connection to a new one to the target, or closes it if the target is away.
func (p *Proxy) open(client net.Conn) {
	server, err := net.DialTimeout("tcp", p.target, time.Second) //nolint:noctx // it has a bound of its own
	if err != nil {
		reset(client)
		return
	}
	l := newLink(p, client, server)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted++
	if p.closed || p.fault.kind == refuse {
		l.cut()
		return
	}
	p.links[l] = struct{}{}
	p.wg.Go(func() { l.run(l.client, l.server, l.request) })
	p.wg.Go(func() { l.run(l.server, l.client, l.reply) })
}

// inForce is the fault of a moment.
type inForce struct {
	Fault
	serial  int             // of the Set that brought it
	changed <-chan struct{} // closed when another one takes its place
}

func (p *Proxy) current() inForce {
	p.mu.Lock()
	defer p.mu.Unlock()
	return inForce{Fault: p.fault, serial: p.serial, changed: p.changed}
}

// let returns how many of n bytes of a request a blackhole lets through, and takes them off what it lets through later.
func (p *Proxy) let(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault.kind != blackhole {
		return n
	}
	n = int(min(int64(n), p.fault.bytes))
	p.fault.bytes -= int64(n)
	return n
}

// take counts one reply against the Times of the fault and reports whether the fault is still there to be applied to it.
func (p *Proxy) take(f inForce) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.serial != f.serial {
		return false
	}
	switch p.fault.times {
	case 0:
	case 1:
		p.setLocked(Forward())
	default:
		p.fault.times--
	}
	return true
}

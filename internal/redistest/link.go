//go:build unix

package redistest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// link is one connection through a proxy: a connection to each side and a goroutine for each direction.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	cutOnce        sync.Once
	done           chan struct{} // closed when the link is cut

	mu    sync.Mutex
	left  int    // directions that are not over
	armed int    // serial of the fault whose text a request contained, so that the next reply is the one it is about
	deaf  bool   // replies are thrown away
	dead  bool   // bytes of a request were dropped, so everything after them is too
	tail  []byte // the end of the requests before, because the text can lie across two reads
}

func newLink(p *Proxy, client, server net.Conn) *link {
	return &link{proxy: p, client: client, server: server, done: make(chan struct{}), left: 2}
}

// run copies one direction until it ends, through handle, which says whether to go on.
func (l *link) run(from, to net.Conn, handle func(chunk []byte) bool) {
	defer l.over()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if errors.Is(err, io.EOF) {
			closeWrite(to) // the other direction may still have something to say
			return
		}
		if err != nil || !handle(buf[:n]) {
			l.cut()
			return
		}
	}
}

// request handles what the client has sent.
func (l *link) request(chunk []byte) bool {
	f, ok := l.await()
	if !ok {
		return false
	}
	if f.match != "" {
		l.look(f, chunk)
	}
	if l.isDead() {
		return true
	}
	through := chunk[:l.proxy.let(len(chunk))]
	if len(through) < len(chunk) {
		l.locked(func() { l.dead = true })
	}
	_, err := l.server.Write(through)
	return err == nil
}

// reply handles what the server has sent.
func (l *link) reply(chunk []byte) bool {
	f, ok := l.await()
	if !ok {
		return false
	}
	if f.kind == blackhole && f.bytes == 0 {
		l.locked(func() { l.dead = true })
	}
	if l.isDeaf() {
		return true
	}
	if f.aboutReplies() && l.isMeant(f) && l.proxy.take(f) {
		switch f.kind { //nolint:exhaustive // the others are not about replies
		case delay:
			if !l.sleep(f.delay) {
				return false
			}
		case garbage:
			chunk = []byte(f.garbage)
		case swallow:
			l.locked(func() { l.deaf = true })
			return true
		case loseReply:
			return false
		}
	}
	_, err := l.client.Write(chunk)
	return err == nil
}

// await returns the fault in force, once that is not Hang, or false if the link has been cut.
func (l *link) await() (inForce, bool) {
	for {
		f := l.proxy.current()
		if f.kind != hang {
			return f, true
		}
		select {
		case <-f.changed:
		case <-l.done:
			return f, false
		}
	}
}

// look looks for the text of the fault in a chunk of the requests, and arms the link if it ends there.
func (l *link) look(f inForce, chunk []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := slices.Concat(l.tail, bytes.ToLower(chunk))
	l.tail = seen[max(0, len(seen)-len(f.match)+1):]
	if bytes.Contains(seen, bytes.ToLower([]byte(f.match))) {
		l.armed = f.serial
	}
}

// isMeant reports whether the reply at hand is one that the fault is about. A request that matched counts once.
func (l *link) isMeant(f inForce) bool {
	if f.match == "" {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.armed != f.serial {
		return false
	}
	l.armed = 0
	return true
}

// sleep waits for d, or returns false if the link is cut meanwhile.
func (l *link) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.done:
		return false
	}
}

func (l *link) locked(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
}

func (l *link) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

func (l *link) isDeaf() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deaf || l.dead
}

// over ends one direction, and the link with the second of them.
func (l *link) over() {
	l.mu.Lock()
	l.left--
	last := l.left == 0
	l.mu.Unlock()
	if last {
		_ = l.client.Close()
		_ = l.server.Close()
		l.proxy.forget(l)
	}
}

// cut resets both connections, which ends both directions.
func (l *link) cut() {
	l.cutOnce.Do(func() {
		close(l.done)
		reset(l.client)
		reset(l.server)
	})
}

// reset closes a connection with RST in the place of FIN.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func closeWrite(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}

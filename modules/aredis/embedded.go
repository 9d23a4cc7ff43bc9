package aredis

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// tick is how often the embedded server's keys grow older. Its time to live is that much coarser than Redis'.
const tick = 25 * time.Millisecond

// embedded is a Redis server inside the process, on a loopback port that the system chooses.
type embedded struct {
	mu      sync.Mutex
	server  *miniredis.Miniredis // nil while it does not run
	addr    string
	done    chan struct{} // closed to stop the clock
	stopped sync.WaitGroup
}

var errNotRunning = errors.New("the embedded Redis server is not running")

func (e *embedded) start() (addr string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server != nil {
		return "", errors.New("it is running already")
	}
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		return "", err
	}
	done := make(chan struct{})
	e.server, e.addr, e.done = server, server.Addr(), done
	e.stopped.Go(func() { age(server, done) })
	return e.addr, nil
}

// age makes keys expire: miniredis has no clock of its own for that.
func age(server *miniredis.Miniredis, done <-chan struct{}) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			now := time.Now()
			server.FastForward(now.Sub(last))
			last = now
		}
	}
}

func (e *embedded) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server == nil {
		return
	}
	close(e.done)
	e.stopped.Wait()
	e.server.Close()
	e.server, e.addr = nil, ""
}

// dial connects to the server wherever go-redis believes it to be.
func (e *embedded) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	e.mu.Lock()
	addr := e.addr
	e.mu.Unlock()
	if addr == "" {
		return nil, errNotRunning
	}
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

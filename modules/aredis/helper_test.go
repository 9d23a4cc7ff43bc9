package aredis

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vonago/vonago/onion"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counterScript is the shape of the limiter's script (contract A7).
const counterScript = `
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
local ttl = redis.call('PTTL', KEYS[1])
if ttl < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  ttl = tonumber(ARGV[1])
end
return {count, ttl}`

func testEnv(mode onion.Mode) onion.Env {
	return onion.NewEnv("shop", mode, "normal", slog.New(slog.NewTextHandler(io.Discard, nil)), nil)
}

// at is a connection to one server.
func at(t *testing.T, addr string) Connection {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return Connection{Host: &host, Port: &n}
}

// start makes clients for the test and stops them with it.
func start(t *testing.T, cfg Config, names ...string) *Clients {
	t.Helper()
	c, err := NewClients(testEnv(onion.ModeTest), cfg, names...)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return c
}

func get(t *testing.T, c *Clients, name string) *Client {
	t.Helper()
	client, err := c.Client(name)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// await polls until the condition holds, for at most five seconds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain awaited: %s", what)
		}
	}
}

// syncBuffer is a log that goroutines may share.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

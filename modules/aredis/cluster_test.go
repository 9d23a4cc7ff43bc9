//go:build unix

package aredis

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/vonago/vonago/internal/redistest"
)

// startNodes starts a cluster of two masters. The first serves every slot and tells clients that it is to be found at the
// proxy; the second serves none yet.
func startNodes(t *testing.T) (first, second *redistest.Server, proxy *redistest.Proxy) {
	t.Helper()
	// The node timeout is long: a node that a test has killed must not make the other one refuse its slots.
	args := redistest.Args("--cluster-enabled", "yes", "--cluster-node-timeout", "60000", "--cluster-require-full-coverage", "no")
	first, second = redistest.Start(t, args), redistest.Start(t, args)
	proxy = redistest.NewProxy(t, first.Addr())
	_, port, err := net.SplitHostPort(proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	first.Do("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
	first.Do("CONFIG", "SET", "cluster-announce-port", port)
	// The bus is not the announced port plus 10000.
	first.Do("CONFIG", "SET", "cluster-announce-bus-port", first.Port()+10000)
	second.Do("CLUSTER", "MEET", "127.0.0.1", first.Port(), first.Port()+10000)
	await(t, "the nodes know each other and their slots", func() bool {
		return strings.Contains(fmt.Sprint(second.Do("CLUSTER", "SLOTS")), port) &&
			strings.Contains(fmt.Sprint(first.Do("CLUSTER", "INFO")), "cluster_known_nodes:2") &&
			strings.Contains(fmt.Sprint(first.Do("CLUSTER", "INFO")), "cluster_state:ok") &&
			strings.Contains(fmt.Sprint(second.Do("CLUSTER", "INFO")), "cluster_state:ok")
	})
	return first, second, proxy
}

func clusterOf(t *testing.T, addr string) *Client {
	t.Helper()
	nodes := ClientConfig{Connection: Connection{Nodes: []string{addr}, TimeoutMs: new(500)}}
	return get(t, start(t, Config{Clients: map[string]ClientConfig{Limiter: nodes}}), Limiter)
}

// Contract A7 in a cluster: go-redis' cluster client would send again.
func TestClusterLostReply(t *testing.T) {
	first, _, proxy := startNodes(t)
	script := redis.NewScript(counterScript)
	call := func(c *Client) error { return script.EvalSha(t.Context(), c.Redis, []string{"n"}, 60_000).Err() }
	pipeline := func(c *Client) error {
		_, err := c.Redis.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			script.EvalSha(t.Context(), p, []string{"n"}, 60_000)
			script.EvalSha(t.Context(), p, []string{"m"}, 60_000)
			return nil
		})
		return err
	}
	for name, fault := range map[string]redistest.Fault{
		"cut":     redistest.LoseReply().On("evalsha"),
		"silence": redistest.Swallow().On("evalsha"),
		"garbage": redistest.Garbage("?nonsense\r\n").On("evalsha"),
		// The server did answer, that it cannot now; in a batch others may have been executed all the same.
		"loading": redistest.Garbage("-LOADING Redis is loading\r\n:2\r\n").On("evalsha"),
	} {
		for kind, do := range map[string]func(*Client) error{"call": call, "pipeline": pipeline} {
			t.Run(name+" "+kind, func(t *testing.T) {
				proxy.Set(redistest.Forward())
				first.FlushAll()
				c := clusterOf(t, proxy.Addr())
				if _, ok := c.Redis.(*redis.ClusterClient); !ok {
					t.Fatalf("nodes make a %T", c.Redis)
				}
				await(t, "the script is loaded", func() bool { return script.Load(t.Context(), c.Redis).Err() == nil })
				proxy.Set(fault.Times(1))
				if err := do(c); err == nil {
					t.Error("no error though the reply was lost")
				}
				proxy.Set(redistest.Forward())
				if got := first.Do("GET", "n"); got != "1" {
					t.Errorf("counted %v times, want once", got)
				}
				await(t, "the next attempt succeeds", func() bool { return do(c) == nil })
			})
		}
	}
}

// A slot that moves is followed, and nothing counted twice; and a node that is gone is given up for the one that serves its
// slots now.
func TestClusterChanges(t *testing.T) {
	first, second, proxy := startNodes(t)
	c := clusterOf(t, proxy.Addr())
	if err := c.Redis.Incr(t.Context(), "n").Err(); err != nil {
		t.Fatal(err)
	}
	slot, id := first.Do("CLUSTER", "KEYSLOT", "n"), second.Do("CLUSTER", "MYID")
	// MOVED is answered for a slot without keys only.
	first.FlushAll()
	first.Do("CLUSTER", "SETSLOT", slot, "NODE", id)
	second.Do("CLUSTER", "SETSLOT", slot, "NODE", id)
	for _, do := range []func() error{
		func() error { return c.Redis.Incr(t.Context(), "n").Err() },
		func() error {
			_, err := c.Redis.Pipelined(t.Context(), func(p redis.Pipeliner) error { p.Incr(t.Context(), "n"); return nil })
			return err
		},
	} {
		if err := do(); err != nil {
			t.Errorf("after the move: %v", err)
		}
	}
	if got := second.Do("GET", "n"); got != "2" {
		t.Errorf("counted %v at the new node, want 2", got)
	}

	first.Kill()
	proxy.Set(redistest.Refuse())
	if err := c.Redis.Incr(t.Context(), "m").Err(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("INCR at a dead node = %v, want refused", err)
	}
	second.Do("CLUSTER", "FORGET", firstID(t, second))
	second.Do("CLUSTER", "ADDSLOTS", second.Do("CLUSTER", "KEYSLOT", "m"))
	await(t, "the other node is asked", func() bool { return c.Redis.Incr(t.Context(), "m").Err() == nil })
	if got := second.Do("GET", "m"); got != "1" {
		t.Errorf("counted %v, want 1", got)
	}
}

// firstID is the id of the node that is not the one asked.
func firstID(t *testing.T, node *redistest.Server) string {
	t.Helper()
	for line := range strings.Lines(node.Do("CLUSTER", "NODES").(string)) {
		if id, _, _ := strings.Cut(line, " "); !strings.Contains(line, "myself") {
			return id
		}
	}
	t.Fatal("there is no other node")
	return ""
}

func TestClusterTimeoutAndReady(t *testing.T) {
	first, _, proxy := startNodes(t)
	conn := Connection{Nodes: []string{proxy.Addr()}, TimeoutMs: new(100), PoolSize: new(2)}
	clients := start(t, Config{Clients: map[string]ClientConfig{Cache: {Connection: conn}}})
	c := get(t, clients, Cache)
	wantTimeout := func() {
		t.Helper()
		proxy.Set(redistest.Hang())
		begin := time.Now()
		if err := c.Redis.Incr(t.Context(), "n").Err(); !isTimeout(err) {
			t.Errorf("INCR = %v, want a timeout", err)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("took %v, want 100ms", took)
		}
		wantReady(t, clients, `redis client "cache" did not answer in time`)
		proxy.Set(redistest.Forward())
	}
	wantTimeout() // before the client knows anything of the cluster
	await(t, "ready", func() bool { return clients.Ready(t.Context()) == nil })
	wantTimeout()
	connect(t, c)
	wantTimeout()
	// go-redis would ask for it before the first command, with a deadline of its own.
	if n := first.Calls("command"); n != 0 {
		t.Errorf("the command table was asked for %d times", n)
	}
}

func TestClusterReturn(t *testing.T) {
	_, _, proxy := startNodes(t)
	conn := Connection{Nodes: []string{proxy.Addr()}, TimeoutMs: new(5000), PoolSize: new(2)}
	c := get(t, start(t, Config{Clients: map[string]ClientConfig{Cache: {Connection: conn}}}), Cache)
	connect(t, c)
	proxy.Set(redistest.Refuse())
	for range 20 {
		if err := c.Redis.Incr(t.Context(), "n").Err(); err == nil {
			t.Fatal("INCR succeeded through a proxy that refuses")
		}
	}
	proxy.Set(redistest.Forward())
	if err := c.Redis.Incr(t.Context(), "n").Err(); err != nil {
		t.Errorf("the first INCR after the return = %v", err)
	}
}

// A stand-in for a sentinel tells where the master is; the masters are real.
func TestSentinel(t *testing.T) {
	first, second := redistest.Start(t), redistest.Start(t)
	var master atomic.Pointer[string]
	master.Store(new(first.Addr()))
	sentinel, err := miniserver.NewServer("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer sentinel.Close()
	sentinel.Register("SENTINEL", func(p *miniserver.Peer, _ string, args []string) {
		if args[0] != "get-master-addr-by-name" {
			p.WriteLen(0)
			return
		}
		if args[1] != "m" {
			p.WriteNull()
			return
		}
		host, port, _ := net.SplitHostPort(*master.Load())
		p.WriteStrings([]string{host, port})
	})
	sentinel.Register("SUBSCRIBE", func(p *miniserver.Peer, _ string, args []string) {
		for i, channel := range args {
			p.WriteLen(3)
			p.WriteBulk("subscribe")
			p.WriteBulk(channel)
			p.WriteInt(i + 1)
		}
	})
	conn := Connection{Sentinels: []string{sentinel.Addr().String()}, Name: new("m"), DB: new(2), TimeoutMs: new(500)}
	clients := start(t, Config{Clients: map[string]ClientConfig{Limiter: {Connection: conn}}})
	c := get(t, clients, Limiter)
	if err := c.Redis.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if info := first.Do("INFO", "keyspace"); !strings.Contains(info.(string), "db2:keys=1") {
		t.Errorf("the key is not at the master, in database 2: %v", info)
	}
	first.Kill()
	master.Store(new(second.Addr()))
	await(t, "the new master is asked", func() bool { return c.Redis.Set(t.Context(), "k", "v", 0).Err() == nil })
	if info := second.Do("INFO", "keyspace"); !strings.Contains(info.(string), "db2:keys=1") {
		t.Errorf("the key is not at the new master: %v", info)
	}
	if err := clients.Ready(t.Context()); err != nil {
		t.Errorf("Ready = %v", err)
	}
}

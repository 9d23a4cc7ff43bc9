//go:build unix

package aratelimit

import (
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vonago/vonago/internal/redistest"
	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
)

// startMasters starts a cluster of two masters with half of the slots each, that
// clients find at proxies.
func startMasters(t *testing.T) (servers [2]*redistest.Server, proxies [2]*redistest.Proxy) {
	t.Helper()
	for i := range servers {
		s := redistest.Start(t, redistest.Args("--cluster-enabled", "yes", "--cluster-node-timeout", "60000", "--cluster-require-full-coverage", "no"))
		p := redistest.NewProxy(t, s.Addr())
		_, port, err := net.SplitHostPort(p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		s.Do("CONFIG", "SET", "cluster-announce-port", port)
		s.Do("CONFIG", "SET", "cluster-announce-bus-port", s.Port()+10000)
		servers[i], proxies[i] = s, p
	}
	servers[0].Do("CLUSTER", "ADDSLOTSRANGE", 0, 8191)
	servers[1].Do("CLUSTER", "ADDSLOTSRANGE", 8192, 16383)
	servers[1].Do("CLUSTER", "MEET", "127.0.0.1", servers[0].Port(), servers[0].Port()+10000)
	until(t, 20*time.Second, "the masters know each other", func() bool {
		for _, s := range servers {
			info := fmt.Sprint(s.Do("CLUSTER", "INFO"))
			if !strings.Contains(info, "cluster_slots_assigned:16384") || !strings.Contains(info, "cluster_state:ok") {
				return false
			}
		}
		return true
	})
	return servers, proxies
}

// keyAt gives a key that the master serves.
func keyAt(t *testing.T, s *redistest.Server, second bool) string {
	t.Helper()
	for i := range 1000 {
		key := fmt.Sprintf("limiter:k%d", i)
		if (s.Do("CLUSTER", "KEYSLOT", key).(int64) >= 8192) == second {
			return key
		}
	}
	t.Fatal("no key")
	return ""
}

func clusterCounter(t *testing.T, addr string, timeoutMs int) *redisCounter {
	t.Helper()
	cfg := aredis.Config{Clients: map[string]aredis.ClientConfig{aredis.Limiter: {Connection: aredis.Connection{Nodes: []string{addr}, TimeoutMs: &timeoutMs}}}}
	clients, err := aredis.NewClients(onion.NewEnv("test", onion.ModeTest, "normal", slog.New(slog.DiscardHandler), nil), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = clients.Stop(t.Context()) })
	client, err := clients.Client(aredis.Limiter)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := client.Redis.(*redis.ClusterClient); !ok {
		t.Fatalf("nodes make a %T", client.Redis)
	}
	return newRedisCounter(client.Redis, client.Timeout, DefaultConfig().Breaker, slog.New(slog.DiscardHandler))
}

// In a cluster attempts share round trips per master, and a master that is away
// fails its own keys alone: neither does anybody wait for it, nor does its breaker
// stop the others.
// masters is a cluster of two, and a counter that knows both.
type masters struct {
	servers [2]*redistest.Server
	proxies [2]*redistest.Proxy
	keys    [2]string // one at each
	counter *redisCounter
}

func knownMasters(t *testing.T, timeoutMs int) masters {
	t.Helper()
	var m masters
	m.servers, m.proxies = startMasters(t)
	m.counter = clusterCounter(t, m.proxies[0].Addr(), timeoutMs)
	t.Cleanup(m.counter.stop)
	m.keys = [2]string{keyAt(t, m.servers[0], false), keyAt(t, m.servers[0], true)}
	for _, key := range m.keys {
		until(t, 10*time.Second, "the cluster is known", func() bool { _, err := m.counter.Incr(t.Context(), key, 60_000); return err == nil })
		if m.counter.lanes.of(key) == m.counter.lanes.anyNode {
			t.Errorf("the master of %s is not known", key)
		}
	}
	if m.counter.lanes.of(m.keys[0]) == m.counter.lanes.of(m.keys[1]) {
		t.Fatal("two masters share a lane")
	}
	return m
}

func TestLanesOfCluster(t *testing.T) {
	m := knownMasters(t, 500)
	proxies, keys, c := m.proxies, m.keys, m.counter
	p := &tap{}
	c.client.AddHook(p)
	healthy := attemptAsync(t.Context(), c, same(keys[0], 64)...)
	other := attemptAsync(t.Context(), jointCounter{c}, same(keys[1], 64)...)
	for _, v := range append(drain(healthy, 64), drain(other, 64)...) {
		if v.err != nil {
			t.Fatal(v.err)
		}
	}
	if n := p.trips.Load(); n > 100 {
		t.Errorf("%d round trips for 128 attempts", n)
	}

	proxies[1].Set(redistest.Hang())
	slow, quick := attemptAsync(t.Context(), c, same(keys[1], 10)...), attemptAsync(t.Context(), c, same(keys[0], 10)...)
	for _, v := range drain(quick, 10) {
		if v.err != nil || v.took > 450*time.Millisecond {
			t.Errorf("the healthy master: %v after %v", v.err, v.took)
		}
	}
	for _, v := range drain(slow, 10) {
		if classOf(v.err) != classTimeout {
			t.Errorf("the master that hangs: %v", v.err)
		}
	}
	until(t, 10*time.Second, "the breaker opens", func() bool { _, err := c.Incr(t.Context(), keys[1], 60_000); return classOf(err) == classBreaker })
	if got := describe(c.lanes.states()); got != "breaker open (1 of 2)" && got != "breaker half-open (1 of 2)" {
		t.Errorf("%s", got)
	}
	for range 10 {
		if _, err := c.Incr(t.Context(), keys[0], 60_000); err != nil {
			t.Errorf("the healthy master: %v", err)
		}
	}

	proxies[1].Set(redistest.Forward())
	proxies[1].Cut()
	if took := until(t, 10*time.Second, "the master is found again", func() bool { _, err := c.Incr(t.Context(), keys[1], 60_000); return err == nil }); took > time.Second {
		t.Errorf("found again after %v", took)
	}
}

// A breaker counts the failures of its master also where attempts go to the masters
// in turn, so that no lane is in use while another one is (contract A11).
func TestLanesInTurn(t *testing.T) {
	m := knownMasters(t, 500)
	keys, c := m.keys, m.counter
	lanes := [2]*lane{c.lanes.of(keys[0]), c.lanes.of(keys[1])}
	m.proxies[1].Set(redistest.Hang())
	waited := 0
	for range 20 {
		if _, err := c.Incr(t.Context(), keys[0], 60_000); err != nil {
			t.Fatalf("the healthy master: %v", err)
		}
		if _, err := c.Incr(t.Context(), keys[1], 60_000); classOf(err) == classTimeout {
			waited++
		} else if classOf(err) != classBreaker {
			t.Fatalf("the master that hangs: %v", err)
		}
	}
	if opens := DefaultConfig().Breaker.Failures; waited < opens || waited > 12 { // as many as open the breaker, and a few probes
		t.Errorf("%d of 20 attempts waited, want little more than %d", waited, opens)
	}
	for i, key := range keys {
		if c.lanes.of(key) != lanes[i] {
			t.Errorf("master %d has another lane than at first", i)
		}
	}
}

// A master whose slots another one has taken over is none any more: it is neither
// counted nor kept.
func TestLanesOfAFormerMaster(t *testing.T) {
	m := knownMasters(t, 100)
	servers, keys, c := m.servers, m.keys, m.counter
	c.lanes.memory = 200 * time.Millisecond
	m.proxies[1].Set(redistest.Hang())
	until(t, 10*time.Second, "the breaker opens", func() bool { _, err := c.Incr(t.Context(), keys[1], 60_000); return classOf(err) == classBreaker })
	if got := describe(c.lanes.states()); !strings.HasSuffix(got, "(1 of 2)") {
		t.Errorf("before: %s", got)
	}

	for _, s := range servers {
		s.Do("CLUSTER", "DELSLOTSRANGE", 8192, 16383)
	}
	servers[0].Do("CLUSTER", "ADDSLOTSRANGE", 8192, 16383)
	servers[0].Do("CLUSTER", "BUMPEPOCH")
	until(t, 20*time.Second, "the other master is asked", func() bool {
		_, err := c.Incr(t.Context(), keys[1], 60_000)
		return err == nil && c.lanes.of(keys[0]) == c.lanes.of(keys[1])
	})
	until(t, 10*time.Second, "the former master is not counted", func() bool { return describe(c.lanes.states()) == "breaker closed" })
	c.lanes.add("127.0.0.1:1", keys[0])
	c.lanes.mu.RLock()
	defer c.lanes.mu.RUnlock()
	if n := len(c.lanes.byNode); n != 2 { // the master and the new one
		t.Errorf("%d lanes are known, want 2", n)
	}
}

// A lost script is loaded on the master that lost it.
func TestLanesNoScript(t *testing.T) {
	servers, proxies := startMasters(t)
	c := clusterCounter(t, proxies[0].Addr(), longMs)
	t.Cleanup(c.stop)
	keys := [2]string{keyAt(t, servers[0], false), keyAt(t, servers[0], true)}
	for range 2 {
		for i, key := range keys {
			servers[i].FlushScripts()
			joints, singles := attemptAsync(t.Context(), jointCounter{c}, same(key, 20)...), attemptAsync(t.Context(), c, same(key, 20)...)
			for _, v := range append(drain(joints, 20), drain(singles, 20)...) {
				if v.err != nil {
					t.Error(v.err)
				}
			}
		}
	}
	for i, key := range keys {
		if n := servers[i].Do("GET", key); n != "80" {
			t.Errorf("80 attempts count %v", n)
		}
	}
}

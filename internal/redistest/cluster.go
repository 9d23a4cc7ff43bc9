//go:build unix

package redistest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// slots is how many slots a Redis Cluster has.
const slots = 16384

// Cluster is a Redis Cluster.
type Cluster struct {
	// Masters served the slots at start, in equal ranges. Replicas follow them in turn: the first the first master.
	Masters, Replicas []*Server

	t testing.TB
}

// StartCluster starts a Redis Cluster for the test and returns when all nodes know each other and all slots are served. A
// master that is away is found out after 1.5 s, and a replica of it takes its place about a second later. The cluster ends in
// t.Cleanup.
func StartCluster(t testing.TB, masters, replicas int, opts ...Option) *Cluster {
	t.Helper()
	opts = append([]Option{Args(
		"--cluster-enabled", "yes", "--cluster-node-timeout", "1500", "--cluster-require-full-coverage", "no",
		"--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0",
	)}, opts...)
	c := &Cluster{t: t}
	for range masters {
		c.Masters = append(c.Masters, Start(t, opts...))
	}
	for range replicas {
		c.Replicas = append(c.Replicas, Start(t, opts...))
	}
	for i, m := range c.Masters {
		m.Do("CLUSTER", "ADDSLOTSRANGE", i*slots/masters, (i+1)*slots/masters-1)
	}
	for i, n := range c.Nodes() {
		n.Do("CLUSTER", "SET-CONFIG-EPOCH", i+1)
		if i > 0 {
			n.Do("CLUSTER", "MEET", "127.0.0.1", c.Masters[0].Port())
		}
	}
	c.await("the nodes to know each other", func() bool { return c.all(fmt.Sprintf("cluster_known_nodes:%d\r", masters+replicas)) })
	for i, r := range c.Replicas {
		r.Do("CLUSTER", "REPLICATE", c.Masters[i%masters].Do("CLUSTER", "MYID"))
	}
	c.await("all slots to be served", func() bool {
		for _, r := range c.Replicas {
			if !strings.Contains(fmt.Sprint(r.Do("INFO", "replication")), "master_link_status:up") {
				return false
			}
		}
		return c.all("cluster_state:ok") && c.all(fmt.Sprintf("cluster_slots_assigned:%d\r", slots)) && c.agreed()
	})
	return c
}

// Nodes are all nodes, the masters first.
func (c *Cluster) Nodes() []*Server { return append(append([]*Server{}, c.Masters...), c.Replicas...) }

// Addrs are the addresses of the masters that the cluster started with, as host:port.
func (c *Cluster) Addrs() []string {
	var all []string
	for _, m := range c.Masters {
		all = append(all, m.Addr())
	}
	return all
}

// Owner is the node that serves the slot of a key now, as most nodes that run see it; nil if there is none.
func (c *Cluster) Owner(key string) *Server {
	c.t.Helper()
	votes := map[*Server]int{}
	var owner *Server
	for _, n := range c.running() {
		if o := c.ownerBy(n, key); o != nil {
			votes[o]++
			if votes[o] > votes[owner] {
				owner = o
			}
		}
	}
	return owner
}

// ownerBy is the node that serves the slot of a key in the view of one node.
func (c *Cluster) ownerBy(by *Server, key string) *Server {
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	slot, err := by.Client().ClusterKeySlot(ctx, key).Result()
	if err != nil {
		c.t.Fatalf("redistest: the slot of %s: %v", key, err)
	}
	ranges, err := by.Client().ClusterSlots(ctx).Result() //nolint:staticcheck // Redis 6 has no CLUSTER SHARDS
	if err != nil {
		c.t.Fatalf("redistest: the slots of a cluster: %v", err)
	}
	for _, r := range ranges {
		if int64(r.Start) > slot || int64(r.End) < slot || len(r.Nodes) == 0 {
			continue
		}
		for _, n := range c.Nodes() {
			if n.Addr() == r.Nodes[0].Addr && n.Pid() != 0 {
				return n
			}
		}
	}
	return nil
}

// Keys are the keys of all nodes that serve slots and match the glob pattern.
func (c *Cluster) Keys(pattern string) []string {
	c.t.Helper()
	var all []string
	for _, n := range c.running() {
		if strings.Contains(fmt.Sprint(n.Do("ROLE")), "master") {
			all = append(all, n.Keys(pattern)...)
		}
	}
	return all
}

// FlushAll deletes every key.
func (c *Cluster) FlushAll() {
	c.t.Helper()
	for _, n := range c.running() {
		if strings.Contains(fmt.Sprint(n.Do("ROLE")), "master") {
			n.FlushAll()
		}
	}
}

// Move makes another master serve the slot of a key, with the key if there is one. When half is called the move is half done:
// the old master answers ASK for a key that it has no more, and MOVED afterwards.
func (c *Cluster) Move(key string, to *Server, half func()) {
	c.t.Helper()
	from := c.Owner(key)
	slot := from.Do("CLUSTER", "KEYSLOT", key)
	fromID, toID := from.Do("CLUSTER", "MYID"), to.Do("CLUSTER", "MYID")
	to.Do("CLUSTER", "SETSLOT", slot, "IMPORTING", fromID)
	from.Do("CLUSTER", "SETSLOT", slot, "MIGRATING", toID)
	if len(from.Keys(key)) > 0 {
		from.Do("MIGRATE", "127.0.0.1", to.Port(), key, 0, 5000)
	}
	if half != nil {
		half()
	}
	to.Do("CLUSTER", "SETSLOT", slot, "NODE", toID)
	from.Do("CLUSTER", "SETSLOT", slot, "NODE", toID)
}

func (c *Cluster) running() []*Server {
	var all []*Server
	for _, n := range c.Nodes() {
		if n.Pid() != 0 {
			all = append(all, n)
		}
	}
	return all
}

// all tells whether every node's INFO of the cluster has the text.
func (c *Cluster) all(text string) bool {
	for _, n := range c.running() {
		if !strings.Contains(fmt.Sprint(n.Do("CLUSTER", "INFO")), text) {
			return false
		}
	}
	return true
}

// agreed tells whether every node knows who serves what.
func (c *Cluster) agreed() bool {
	for _, n := range c.running() {
		if ranges, ok := n.Do("CLUSTER", "SLOTS").([]any); !ok || len(ranges) != len(c.Masters) {
			return false
		}
	}
	return true
}

func (c *Cluster) await(what string, is func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(startWait); !is(); {
		if time.Now().After(deadline) {
			c.t.Fatalf("redistest: a cluster waits in vain for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

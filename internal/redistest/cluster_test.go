//go:build unix

package redistest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestCluster(t *testing.T) {
	c := StartCluster(t, 3, 1)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
	t.Cleanup(func() { client.Close() })
	for i := range 30 {
		if err := client.Set(t.Context(), fmt.Sprint("k", i), i, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if keys := c.Keys("k*"); len(keys) != 30 {
		t.Errorf("keys %v", keys)
	}
	for _, m := range c.Masters {
		if len(m.Keys("*")) == 0 {
			t.Errorf("%s has none of 30 keys", m.Addr())
		}
	}

	from := c.Owner("k1")
	to := c.Masters[0]
	if from == to {
		to = c.Masters[1]
	}
	c.Move("k1", to, func() {
		if err := from.Client().Get(t.Context(), "k1").Err(); err == nil || !strings.HasPrefix(err.Error(), "ASK ") {
			t.Errorf("half moved: %v", err)
		}
	})
	if err := from.Client().Get(t.Context(), "k1").Err(); err == nil || !strings.HasPrefix(err.Error(), "MOVED ") {
		t.Errorf("moved: %v", err)
	}
	if got := client.Get(t.Context(), "k1").Val(); got != "1" {
		t.Errorf("the key has %q after the move", got)
	}

	// The first master has a replica.
	c.Masters[0].Kill()
	c.await("the replica to take its place", func() bool {
		return strings.HasPrefix(fmt.Sprint(c.Replicas[0].Do("ROLE")), "[master")
	})
	c.FlushAll()
	if keys := c.Keys("*"); len(keys) != 0 {
		t.Errorf("keys after FlushAll: %v", keys)
	}
}

func TestSentinel(t *testing.T) {
	s := StartSentinel(t, "main", 1)
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.Name, SentinelAddrs: s.Addrs()})
	t.Cleanup(func() { client.Close() })
	if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s.await("the replica to have it", func() bool { return s.Replica.Do("EXISTS", "k") == int64(1) })
	if err := s.Replica.Client().Set(t.Context(), "k", "w", 0).Err(); !redis.IsReadOnlyError(err) {
		t.Errorf("a write to the replica: %v", err)
	}
	s.Master.Kill()
	s.AwaitMaster(s.Replica)
	s.await("the client to follow", func() bool {
		err := client.Set(t.Context(), "k", "w", 0).Err()
		return err == nil || errors.Is(err, redis.Nil)
	})
	if got := s.Replica.Do("GET", "k"); got != "w" {
		t.Errorf("the new master has %v", got)
	}
}

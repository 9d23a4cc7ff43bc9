package aratelimit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// lanes are the lanes to Redis: one, or in a cluster one for each master. A
// pipeline of commands for several masters would end when the slowest has
// answered, and a master that is away would open the breaker for all.
type lanes struct {
	open    func() *lane
	cluster *redis.ClusterClient // nil if there is none
	anyNode *lane                // all there is without a cluster; in one for keys whose node nobody knows yet

	mu      sync.RWMutex
	byNode  map[string]node // of a cluster, by address
	memory  time.Duration   // how long a lane is known after its last use, if its key leads elsewhere
	stopped bool
}

// node is the lane to a master of a cluster, and a key that led there.
type node struct {
	lane *lane
	key  string
}

func newLanes(client redis.UniversalClient, timeout time.Duration, cfg BreakerConfig, logger *slog.Logger) *lanes {
	l := &lanes{byNode: map[string]node{}, memory: 10 * time.Second}
	l.open = func() *lane {
		return &lane{client: client, timeout: timeout, breaker: newBreaker(cfg), logger: logger}
	}
	l.cluster, _ = client.(*redis.ClusterClient)
	l.anyNode = l.open()
	return l
}

// over is a context that has ended: with it MasterForKey says what is known, and
// waits for nothing.
var over = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// of gives the lane of a key.
func (l *lanes) of(key string) *lane {
	if l.cluster == nil {
		return l.anyNode
	}
	master, err := l.cluster.MasterForKey(over, key)
	if err != nil {
		return l.anyNode
	}
	addr := master.Options().Addr
	l.mu.RLock()
	known := l.byNode[addr]
	l.mu.RUnlock()
	if known.lane != nil {
		return known.lane
	}
	return l.add(addr, key)
}

// add makes a lane for a master that is new, and forgets those that are none any
// more: nodes come and go in the life of a cluster.
func (l *lanes) add(addr, key string) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.byNode[addr]; known.lane != nil {
		return known.lane
	}
	for other, n := range l.byNode {
		if !l.current(other, n) {
			delete(l.byNode, other)
		}
	}
	lane := l.open()
	lane.stopped.Store(l.stopped)
	l.byNode[addr] = node{lane, key}
	return lane
}

// current reports whether a node is still a master, as far as the client knows.
// One that has passed the slot of its key on may have others, and is then in use.
func (l *lanes) current(addr string, n node) bool {
	master, err := l.cluster.MasterForKey(over, n.key)
	return err != nil || master.Options().Addr == addr || n.lane.usedSince(time.Now().Add(-l.memory))
}

// states counts the breakers by state, in a cluster those of its masters. The lane
// for keys of unknown nodes counts only where there is no other.
func (l *lanes) states() map[state]int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	states := map[state]int{}
	for addr, n := range l.byNode {
		if l.current(addr, n) {
			states[n.lane.breaker.state()]++
		}
	}
	if len(states) == 0 {
		states[l.anyNode.breaker.state()] = 1
	}
	return states
}

func (l *lanes) stop() {
	l.mu.Lock()
	l.stopped = true
	all := []*lane{l.anyNode}
	for _, n := range l.byNode {
		all = append(all, n.lane)
	}
	l.mu.Unlock()
	for _, lane := range all {
		lane.stop()
	}
}

package aratelimit

import (
	"context"
	"log/slog"
	"maps"
	"slices"
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
	byNode  map[string]*lane // of a cluster, by address
	stopped bool
}

func newLanes(client redis.UniversalClient, timeout time.Duration, cfg BreakerConfig, logger *slog.Logger) *lanes {
	l := &lanes{byNode: map[string]*lane{}}
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
	node := master.Options().Addr
	l.mu.RLock()
	lane := l.byNode[node]
	l.mu.RUnlock()
	if lane != nil {
		return lane
	}
	return l.add(node)
}

// add makes a lane for a node that is new, and forgets those where nothing is
// under way: nodes come and go in the life of a cluster.
func (l *lanes) add(node string) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lane := l.byNode[node]; lane != nil {
		return lane
	}
	for other, lane := range l.byNode {
		if lane.idle() && lane.breaker.state() == stateClosed {
			delete(l.byNode, other)
		}
	}
	lane := l.open()
	lane.stopped.Store(l.stopped)
	l.byNode[node] = lane
	return lane
}

// states counts the breakers by state. The lane for keys of unknown nodes counts
// only where there is no other.
func (l *lanes) states() map[state]int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.byNode) == 0 {
		return map[state]int{l.anyNode.breaker.state(): 1}
	}
	states := map[state]int{}
	for _, lane := range l.byNode {
		states[lane.breaker.state()]++
	}
	return states
}

func (l *lanes) stop() {
	l.mu.Lock()
	l.stopped = true
	all := append(slices.Collect(maps.Values(l.byNode)), l.anyNode)
	l.mu.Unlock()
	for _, lane := range all {
		lane.stop()
	}
}

//go:build unix

package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Sentinel is a master and its replica, watched by Redis Sentinel.
type Sentinel struct {
	// Name is what the sentinels call the master.
	Name string
	// Master and Replica have those roles at start.
	Master, Replica *Server
	// Watchers are the sentinels. Their Client speaks to a sentinel, which knows few commands.
	Watchers []*Server

	t testing.TB
}

// StartSentinel starts a master, a replica and so many sentinels for the test, and returns when the sentinels know both. A
// majority of them makes the replica the master when the master has been away for 1.5 s. All end in t.Cleanup.
func StartSentinel(t testing.TB, name string, watchers int, opts ...Option) *Sentinel {
	t.Helper()
	opts = append([]Option{Args("--repl-diskless-sync-delay", "0")}, opts...)
	s := &Sentinel{Name: name, t: t, Master: Start(t, opts...)}
	s.Replica = Start(t, opts...)
	s.Replica.Do("REPLICAOF", "127.0.0.1", s.Master.Port())
	s.await("the replica to be in step", func() bool {
		return strings.Contains(fmt.Sprint(s.Replica.Do("INFO", "replication")), "master_link_status:up")
	})
	for range watchers {
		s.Watchers = append(s.Watchers, Start(t, watching(name, s.Master.Port(), watchers/2+1)))
	}
	s.await("the sentinels to know everybody", func() bool {
		want := fmt.Sprintf("slaves=1,sentinels=%d", watchers)
		for _, w := range s.Watchers {
			if !strings.Contains(fmt.Sprint(w.Do("INFO", "sentinel")), want) {
				return false
			}
		}
		return true
	})
	return s
}

// Addrs are the addresses of the sentinels as host:port.
func (s *Sentinel) Addrs() []string {
	var all []string
	for _, w := range s.Watchers {
		all = append(all, w.Addr())
	}
	return all
}

// AwaitMaster waits until all sentinels call this server the master and it takes writes.
func (s *Sentinel) AwaitMaster(server *Server) {
	s.t.Helper()
	s.await("another master", func() bool {
		for _, w := range s.Watchers {
			if s.namedBy(w) != server.Addr() {
				return false
			}
		}
		return strings.HasPrefix(fmt.Sprint(server.Do("ROLE")), "[master")
	})
}

// Named is the address of the master as the first sentinel names it now.
func (s *Sentinel) Named() string { return s.namedBy(s.Watchers[0]) }

func (s *Sentinel) namedBy(w *Server) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(w.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.Name)), "[]"), " ", ":")
}

func (s *Sentinel) await(what string, is func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(2 * startWait); !is(); {
		if time.Now().After(deadline) {
			s.t.Fatalf("redistest: waited in vain for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// watching makes a server a sentinel. A sentinel has a file of configuration, which it rewrites.
func watching(name string, port, quorum int) Option {
	return func(s *Server) {
		s.sentinel = fmt.Sprintf(`sentinel monitor %s 127.0.0.1 %d %d
sentinel down-after-milliseconds %s 1500
sentinel failover-timeout %s 5000
`, name, port, quorum, name, name)
	}
}

// sentinelArgs writes the file, once, and gives the arguments that make the process a sentinel.
func (s *Server) sentinelArgs() ([]string, error) {
	file := filepath.Join(s.dir, fmt.Sprintf("sentinel-%d.conf", s.port))
	if _, err := os.Stat(file); err != nil {
		text := "bind 127.0.0.1\nport " + strconv.Itoa(s.port) + "\ndir " + strconv.Quote(s.dir) + "\n" + s.sentinel
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("write the configuration of a sentinel: %w", err)
		}
	}
	return []string{file, "--sentinel"}, nil
}

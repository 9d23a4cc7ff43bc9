//go:build unix

package redistest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

// askWait bounds what the helpers below ask of a server, so that a paused one fails the test and does not hang it.
const askWait = 5 * time.Second

// Keys returns the keys of database 0 that match the glob pattern, sorted.
func (s *Server) Keys(pattern string) []string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	keys, err := s.Client().Keys(ctx, pattern).Result()
	if err != nil {
		s.t.Fatalf("redistest: list the keys %q: %v", pattern, err)
	}
	slices.Sort(keys)
	return keys
}

// FlushAll deletes every key of every database. Scripts stay.
func (s *Server) FlushAll() { s.t.Helper(); s.Do("FLUSHALL") }

// FlushScripts forgets every loaded script, so that the next EVALSHA is answered with NOSCRIPT.
func (s *Server) FlushScripts() { s.t.Helper(); s.Do("SCRIPT", "FLUSH", "SYNC") }

// Do sends one command and returns its answer. An error answer fails the test.
func (s *Server) Do(args ...any) any {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	v, err := s.Client().Do(ctx, args...).Result()
	if err != nil {
		s.t.Fatalf("redistest: %v: %v", args, err)
	}
	return v
}

// Calls returns how often the server has executed a command, for example "evalsha", since it started or since ResetCalls.
// Commands called by a script count too.
func (s *Server) Calls(command string) int64 {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	info, err := s.Client().Info(ctx, "commandstats").Result()
	if err != nil {
		s.t.Fatalf("redistest: read the command counts: %v", err)
	}
	// A line reads cmdstat_evalsha:calls=21,usec=175,...
	_, rest, ok := strings.Cut(info, "cmdstat_"+strings.ToLower(command)+":calls=")
	if !ok {
		return 0
	}
	digits, _, _ := strings.Cut(rest, ",")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		s.t.Fatalf("redistest: read the count of %s: %v", command, err)
	}
	return n
}

// ResetCalls sets the counts that Calls reads to zero.
func (s *Server) ResetCalls() { s.t.Helper(); s.Do("CONFIG", "RESETSTAT") }

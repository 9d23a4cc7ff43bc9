package faults

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/vonago/vonago/internal/redistest"
)

// counted says how often an attempt is counted that is made while a fault is there, and that was sent.
type counted int

const (
	never counted = iota // the server does not get it, or refuses it
	once                 // it is executed, whatever is heard of it
	later                // it lies in a buffer: it may be executed when the server goes on, or never
)

// verdict is what the limiter makes of an attempt.
type verdict int

const (
	fails    verdict = iota // Redis failed: 503, or let pass while observing
	admitted                // nothing is to be noticed
	rejected                // over the limit: 429, or let pass while observing
	mixed                   // some fail, some are admitted
)

// fault is something that goes wrong.
type fault struct {
	name    string
	verdict verdict
	class   string // errorClass of the events, besides "breaker"
	counted counted
	pool    int  // connections of the limiter's client, if not the usual number
	private bool // concerns one key only: no reason to open the breaker; what MONITOR tells are increments that failed
	inject  func(b *bench)
	keep    func(b *bench) // again and again while the fault is there; nil for nothing
	heal    func(b *bench)
	holds   func(b *bench) error // what must be so at the end
}

// event is what must be logged for a decision under the fault; "" for nothing.
func (f fault) event(m mode) string {
	switch {
	case f.verdict == fails:
		return "rate_limit.redis_error"
	case f.verdict == rejected && m.enforce:
		return "rate_limit.rejected"
	case f.verdict == rejected:
		return "rate_limit.would_reject"
	}
	return ""
}

// status is what the limiter answers under the fault; 200 is that it lets pass.
func (f fault) status(m mode) int {
	switch {
	case f.verdict == fails && m.enforce:
		return http.StatusServiceUnavailable
	case f.verdict == rejected && m.enforce:
		return http.StatusTooManyRequests
	}
	return http.StatusOK
}

// proxied is a fault of the proxy's; fresh makes it hit new connections.
func proxied(f fault, what func(b *bench) redistest.Fault, fresh bool) fault {
	f.inject = func(b *bench) {
		b.proxy.Set(what(b))
		if fresh {
			b.proxy.Cut()
		}
	}
	f.heal = func(b *bench) { b.proxy.Set(redistest.Forward()) }
	return f
}

// told is a fault that a command brings about and another one ends. Connections that stand are cut where they would not
// notice.
func told(f fault, fresh bool, inject, heal []any) fault {
	f.inject = func(b *bench) {
		b.server.Do(inject...)
		if fresh {
			b.proxy.Cut()
		}
	}
	f.heal = func(b *bench) { b.server.Do(heal...) }
	return f
}

func always(f redistest.Fault) func(*bench) redistest.Fault {
	return func(*bench) redistest.Fault { return f }
}

// all are the faults of the matrix.
func all() []fault {
	return append(unreachable(), unusable()...)
}

// unreachable are the faults of a server, a network or a connection.
func unreachable() []fault {
	return []fault{
		{
			name: "process killed, restarted", class: "refused",
			inject: func(b *bench) { b.server.Kill() },
			heal:   func(b *bench) { b.server.Restart(); b.heard.reattach() },
		},
		{
			name: "process stopped (SIGSTOP)", class: "timeout", counted: later,
			inject: func(b *bench) { b.server.Pause() },
			heal:   func(b *bench) { b.server.Resume() },
		},
		proxied(fault{name: "connections refused", class: "refused"}, always(redistest.Refuse()), false),
		proxied(fault{name: "accepted, never answered", class: "timeout", counted: later}, always(redistest.Hang()), true),
		proxied(fault{name: "packets dropped", class: "timeout"}, always(redistest.Blackhole(0)), false),
		proxied(fault{name: "reply later than the timeout", class: "timeout", counted: once},
			func(b *bench) redistest.Fault { return redistest.Delay(b.set.timeout * 3 / 2).On("eval") }, false),
		proxied(fault{name: "reply lost, connection cut", class: "refused", counted: once}, always(redistest.LoseReply().On("eval")), false),
		proxied(fault{name: "reply lost in silence", class: "timeout", counted: once}, always(redistest.Swallow().On("eval")), false),
		proxied(fault{name: "pool exhausted", verdict: mixed, class: "timeout", counted: once, pool: 1},
			func(b *bench) redistest.Fault { return redistest.Delay(b.set.timeout * 4 / 5).On("eval") }, false),
		told(fault{name: "too many clients", class: "refused"}, true,
			[]any{"CONFIG", "SET", "maxclients", 1}, []any{"CONFIG", "SET", "maxclients", 10000}),
	}
}

// unusable are the faults of what a server answers.
func unusable() []fault {
	list := []fault{
		proxied(fault{name: "garbage for a reply", class: "protocol", counted: once}, always(redistest.Garbage("?nonsense\r\n").On("eval")), false),
		proxied(fault{name: "another reply than the script's", class: "protocol", counted: once}, always(redistest.Garbage(strings.Repeat("*1\r\n:1\r\n", 64)).On("eval")), false),
		{
			name: "SCRIPT FLUSH again and again", verdict: admitted, counted: once,
			inject: func(b *bench) { b.server.FlushScripts() },
			keep:   func(b *bench) { b.server.FlushScripts() },
			heal:   func(*bench) {},
		},
		told(fault{name: "read-only replica", class: "readonly"}, false,
			[]any{"REPLICAOF", "127.0.0.1", 1}, []any{"REPLICAOF", "NO", "ONE"}),
		told(fault{name: "maxmemory, noeviction", class: "oom"}, false,
			[]any{"CONFIG", "SET", "maxmemory", 1}, []any{"CONFIG", "SET", "maxmemory", 0}),
		told(fault{name: "no password for AUTH", class: "auth"}, true,
			[]any{"CONFIG", "SET", "requirepass", "secret"}, []any{"CONFIG", "SET", "requirepass", ""}),
		told(fault{name: "ACL forbids the script", class: "auth"}, false,
			[]any{"ACL", "SETUSER", "default", "-evalsha", "-eval"}, []any{"ACL", "SETUSER", "default", "+evalsha", "+eval"}),
		told(fault{name: "ACL forbids its commands", class: "auth"}, false,
			[]any{"ACL", "SETUSER", "default", "-incr", "-incrby"}, []any{"ACL", "SETUSER", "default", "+incr", "+incrby"}),
		{
			name: "wrong type at the key", class: "other", private: true,
			inject: func(b *bench) { key := b.key(); b.server.Do("DEL", key); b.server.Do("RPUSH", key, "x") },
			heal:   func(b *bench) { b.server.Do("DEL", b.key()) },
		},
	}
	return append(list, endless("a key without TTL", admitted, 7), endless("the same, above its limit", rejected, 5_000_000))
}

// endless is a key that has lost its expiry.
func endless(name string, v verdict, count int) fault {
	set := func(b *bench) { b.server.Do("SET", b.key(), count) }
	return fault{
		name: name, verdict: v, counted: once, inject: set, keep: set,
		heal: func(b *bench) { b.server.Do("DEL", b.key()) },
		holds: func(b *bench) error {
			window := 24 * time.Hour
			if b.mode.aggregate {
				window = time.Second
			}
			// A key of the aggregate may have expired by now, which is as well.
			ttl := b.server.Do("PTTL", b.key()).(int64)
			if ttl == -1 || time.Duration(ttl)*time.Millisecond > window {
				return fmt.Errorf("the key has a TTL of %d ms", ttl)
			}
			return nil
		},
	}
}

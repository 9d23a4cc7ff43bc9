//go:build unix

package redistest

import "time"

// Fault says what a Proxy does to the traffic while the fault is set. The zero value, Forward, does nothing to it.
type Fault struct {
	kind    kind
	bytes   int64
	delay   time.Duration
	garbage string
	match   string
	times   int // 0 is without end
}

type kind int

const (
	forward kind = iota
	hang
	blackhole
	delay
	loseReply
	swallow
	garbage
	refuse
)

// Forward passes everything on unchanged.
func Forward() Fault { return Fault{} }

// Hang accepts connections and then answers nothing, as a stopped server does: bytes wait, in both directions, and go on when
// another fault is set. A request goes on even if its client has left by then.
func Hang() Fault { return Fault{kind: hang} }

// Blackhole passes the next n bytes of requests on, over all connections together, and then drops everything without a word,
// as a network does that is gone. A connection that has lost bytes stays dead when another fault is set, until one of its ends
// closes it. New connections are accepted all the while: the kernel does that.
func Blackhole(n int64) Fault { return Fault{kind: blackhole, bytes: n} }

// Delay holds every reply back for d.
func Delay(d time.Duration) Fault { return Fault{kind: delay, delay: d} }

// LoseReply passes a request on, waits for the reply, and cuts the connection in its place: the command has been executed,
// the client sees a broken connection.
func LoseReply() Fault { return Fault{kind: loseReply} }

// Swallow passes a request on and throws its reply away: the command has been executed, the client waits for ever. The
// connection gives no reply to anything after that, even when another fault is set.
func Swallow() Fault { return Fault{kind: swallow} }

// Garbage puts the given bytes in the place of a reply.
func Garbage(reply string) Fault { return Fault{kind: garbage, garbage: reply} }

// Refuse cuts every connection and stops listening, so that new ones are refused. Setting another fault listens again.
func Refuse() Fault { return Fault{kind: refuse} }

// On limits Delay, LoseReply, Swallow and Garbage to the next reply after a request that contains text, whatever its case:
// Garbage("?").On("evalsha") leaves the handshake of a new connection alone. The other faults are not about replies and
// cannot be limited.
func (f Fault) On(text string) Fault {
	f.match = text
	return f
}

// Times ends Delay, LoseReply, Swallow and Garbage after n replies, n at least 1. The proxy forwards from then on.
func (f Fault) Times(n int) Fault {
	f.times = n
	return f
}

func (f Fault) aboutReplies() bool {
	return f.kind == delay || f.kind == loseReply || f.kind == swallow || f.kind == garbage
}

package aratelimit

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// class is the sanitised kind of a Redis failure: all that events, metrics and
// errors ever tell of it (contract E2).
type class string

const (
	classTimeout  class = "timeout"  // no reply, connection or free connection in time
	classRefused  class = "refused"  // no connection, or one that the other side cut
	classCanceled class = "canceled" // cut off by shutdown
	classNoScript class = "noscript" // the script is lost and cannot be loaded
	classReadonly class = "readonly" // a replica, or a server that takes no writes
	classOOM      class = "oom"      // maxmemory reached
	classAuth     class = "auth"     // password, user or ACL
	classCluster  class = "cluster"  // slots or a failover under way
	classProtocol class = "protocol" // a reply that is none, or not the script's
	classBreaker  class = "breaker"  // not even tried
	classOther    class = "other"
)

// failure is an error whose class is known where it is made.
type failure struct {
	class class
	text  string
}

func (f *failure) Error() string { return f.text }

// unavailable is the cause of a 503: the class, and nothing that Redis, a driver
// or a network said.
type unavailable struct{ class class }

func (u unavailable) Error() string {
	return "the rate limit counter is unavailable: " + string(u.class)
}

// classOf finds the class of an error of a Counter.
func classOf(err error) class {
	var f *failure
	var reply redis.Error
	switch {
	case errors.As(err, &f):
		return f.class
	case errors.Is(err, redis.Nil):
		return classProtocol
	case errors.As(err, &reply):
		return replyClass(err, reply.Error())
	}
	return transportClass(err)
}

// replyClass sorts error replies. Inside a script Redis before 7 wraps the error
// of a command: "ERR Error running script ...: -OOM command not allowed ...".
func replyClass(err error, text string) class {
	switch {
	case isNoScript(err):
		return classNoScript
	case redis.IsReadOnlyError(err):
		return classReadonly
	case redis.IsOOMError(err), strings.Contains(text, "-OOM "):
		return classOOM
	case redis.IsAuthError(err), redis.IsPermissionError(err), hasPrefix(text, authTexts):
		return classAuth
	case redis.IsMaxClientsError(err):
		return classRefused
	case hasPrefix(text, clusterTexts):
		return classCluster
	}
	return classOther
}

var (
	// An ACL that forbids a command inside a script says so without a code of its own.
	authTexts = []string{
		"ERR AUTH", "ERR invalid password", "ERR The user executing the script", "ERR ACL failure in script",
	}
	clusterTexts = []string{"MOVED ", "ASK ", "CLUSTERDOWN ", "TRYAGAIN ", "CROSSSLOT ", "MASTERDOWN ", "NOREPLICAS "}
	// go-redis gives what it cannot read, or not reach, as plain errors of its own.
	protocolTexts = []string{
		"redis: can't parse", "redis: can't read", "redis: invalid reply", "redis: invalid line",
		"redis: unexpected type", "redis: got ", "bigInt(",
	}
)

func hasPrefix(text string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

// transportClass sorts what is no reply. A timeout comes before its wrapping: a
// dial that took too long is a timeout, not a refusal.
func transportClass(err error) class {
	var network net.Error
	var operation *net.OpError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, redis.ErrClosed):
		return classCanceled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, redis.ErrPoolTimeout), errors.As(err, &network) && network.Timeout():
		return classTimeout
	case errors.As(err, &operation) && operation.Op == "dial",
		errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return classRefused
	}
	return driverClass(err.Error())
}

func driverClass(text string) class {
	switch {
	case hasPrefix(text, protocolTexts):
		return classProtocol
	case strings.HasPrefix(text, "redis: cluster"):
		return classCluster
	case strings.HasPrefix(text, "redis: all sentinels"):
		return classRefused
	}
	return classOther
}

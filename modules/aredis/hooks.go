package aredis

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// bounds is the hook around every command and pipeline of a client.
type bounds struct {
	timeout time.Duration
	// once keeps a cluster client from sending a command again after a lost reply or a timeout, which go-redis does up to
	// MaxRedirects times whatever MaxRetries says.
	once bool
	// reload makes a cluster client learn anew who serves what; nil for others. Left alone it would, of a master that is
	// gone and says MOVED no more, only learn after a minute.
	reload func(context.Context)
}

// DialHook leaves dialling alone.
func (b bounds) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook bounds a command as a whole: waiting for a connection, making one, signing in, redirects, reply.
func (b bounds) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !blocks(cmd) && !endsWithin(ctx, b.timeout) {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, b.timeout)
			defer cancel()
		}
		sent := cmd
		if b.once {
			sent = unrepeated{cmd}
		}
		err := next(ctx, sent)
		b.learn(ctx, err)
		return err
	}
}

// ProcessPipelineHook bounds a pipeline or transaction as a whole.
func (b bounds) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !endsWithin(ctx, b.timeout) {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, b.timeout)
			defer cancel()
		}
		sent := cmds
		if b.once {
			sent = make([]redis.Cmder, len(cmds))
			for i, cmd := range cmds {
				sent[i] = unrepeated{cmd}
			}
		}
		err := next(ctx, sent)
		for _, cmd := range cmds {
			if b.reload == nil || b.learn(ctx, cmd.Err()) {
				break
			}
		}
		return err
	}
}

// learn asks for a reload if the error is that nobody answered. Requests for reloads are merged by go-redis.
func (b bounds) learn(ctx context.Context, err error) bool {
	var answer redis.Error
	if b.reload == nil || err == nil || errors.As(err, &answer) || errors.Is(err, context.Canceled) {
		return false
	}
	b.reload(ctx)
	return true
}

// endsWithin tells whether the context ends within the timeout anyway.
func endsWithin(ctx context.Context, timeout time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= timeout
}

// blocks tells whether the command waits at the server for as long as its own argument says. go-redis gives such a command
// ten seconds above that.
func blocks(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "blpop", "brpop", "brpoplpush", "blmove", "blmpop", "bzpopmin", "bzpopmax", "bzmpop", "xread", "xreadgroup", "wait", "waitaof":
		return true
	}
	return false
}

// unrepeated is a command that go-redis sends once: not again unless the server has said that it was not executed.
type unrepeated struct{ redis.Cmder }

// NoRetry is asked by go-redis.
func (unrepeated) NoRetry() bool { return true }

// dials is the hook around making connections. A dial that fails it hands over as a connection that fails.
//
// go-redis counts dials that fail. When there were as many as the pool has places it gives up dialling, tries once a second
// in a goroutine that outlives Close, and so takes a second to see that Redis is back; and it writes each one to stderr.
type dials struct{}

// DialHook makes a failed dial a connection whose first write fails with the error of the dial.
func (dials) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err != nil {
			return unmade{err}, nil //nolint:nilerr // the error is told by the connection
		}
		return conn, nil
	}
}

// ProcessHook leaves commands alone.
func (dials) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook leaves pipelines alone.
func (dials) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// unmade is a connection that could not be made.
type unmade struct{ err error }

func (u unmade) Read([]byte) (int, error)         { return 0, u.err }
func (u unmade) Write([]byte) (int, error)        { return 0, u.err }
func (u unmade) Close() error                     { return nil }
func (u unmade) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (u unmade) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (u unmade) SetDeadline(time.Time) error      { return nil }
func (u unmade) SetReadDeadline(time.Time) error  { return nil }
func (u unmade) SetWriteDeadline(time.Time) error { return nil }

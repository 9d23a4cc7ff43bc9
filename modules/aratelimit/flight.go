package aratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// flight is one round trip: its attempts, and the commands that carry them. It is
// used again for the next one.
type flight struct {
	all      []*attempt
	single   []*attempt // each with a command of its own
	joint    []*attempt // one command for all of a key
	commands []command
}

// command is a command and the attempts that it adds.
type command struct {
	attempts []*attempt
	cmd      *redis.Cmd
}

var flights = sync.Pool{New: func() any { return &flight{} }}

func newFlight() *flight {
	return flights.Get().(*flight) //nolint:forcetypeassert // nothing else is put there
}

func (f *flight) done() {
	f.reset()
	flights.Put(f)
}

func (f *flight) reset() {
	clear(f.all)
	clear(f.single)
	clear(f.joint)
	clear(f.commands)
	f.all, f.single, f.joint, f.commands = f.all[:0], f.single[:0], f.joint[:0], f.commands[:0]
}

func (f *flight) add(a *attempt) { f.all = append(f.all, a) }

// sort tells attempts apart and gives the latest of their deadlines. One whose
// deadline is over is not sent: nobody waits for it, and it would be counted late.
// One whose caller has left is sent, for it was made (contract A11).
func (f *flight) sort(now time.Time) (deadline time.Time) {
	for _, a := range f.all {
		switch {
		case !a.deadline.After(now):
			a.err = errLate
			continue
		case a.script == joint:
			f.joint = append(f.joint, a)
		default:
			f.single = append(f.single, a)
		}
		if a.deadline.After(deadline) {
			deadline = a.deadline
		}
	}
	return deadline
}

// load makes the list of commands.
func (f *flight) load() {
	for i := range f.single {
		f.commands = append(f.commands, command{attempts: f.single[i : i+1]})
	}
	for rest := f.joint; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].key == rest[0].key && rest[n].windowMs == rest[0].windowMs {
			n++
		}
		f.commands = append(f.commands, command{attempts: rest[:n]})
		rest = rest[n:]
	}
}

// fail leaves an error in every attempt that has none.
func (f *flight) fail(err error) {
	for _, a := range f.all {
		if a.err == nil {
			a.err = err
		}
	}
}

// send makes the round trip and tells what it proves. Commands whose script the
// server has lost were not executed: they are sent again, with the script, and
// nothing else is. A panic fails this flight and nothing else. Of ctx only the
// values are used.
func (l *lane) send(ctx context.Context, deadline time.Time, f *flight) (proof error) {
	if len(f.single)+len(f.joint) == 0 {
		return errNoSign
	}
	defer func() {
		if p := recover(); p != nil {
			l.logger.LogAttrs(ctx, slog.LevelError, "a round trip of the rate limit counter panicked",
				slog.String("panic", fmt.Sprintf("%T", p)), slog.String("stack", string(debug.Stack())))
			f.void(errPanicked)
			proof = errFailed
		}
	}()
	limit := newBound(ctx, deadline)
	defer limit.release()
	f.load()
	failed := l.exec(limit, f.commands, false) //nolint:contextcheck // it has ctx's values
	lost := f.commands[:0]
	for _, c := range f.commands {
		if c.read(failed) {
			lost = append(lost, c)
		}
	}
	if len(lost) > 0 {
		failed = l.exec(limit, lost, true) //nolint:contextcheck // as above
		for _, c := range lost {
			c.read(failed)
		}
	}
	return f.proof()
}

// exec sends commands in one round trip. Their arguments are parts of one list,
// made for this round trip alone: a hook of the client may keep them.
func (l *lane) exec(ctx context.Context, commands []command, whole bool) error {
	args := make([]any, 0, len(commands)*mostArguments)
	var windowMs any
	for i := range commands {
		first, from := commands[i].attempts[0], len(args)
		if windowMs != first.windowMs {
			windowMs = first.windowMs
		}
		args = first.script.append(args, first.key, windowMs, len(commands[i].attempts), whole)
		commands[i].cmd = redis.NewCmd(ctx, args[from:len(args):len(args)]...)
	}
	if len(commands) == 1 {
		return l.client.Process(ctx, commands[0].cmd) //nolint:wrapcheck // classOf looks at it, nobody reads it
	}
	pipe := l.client.Pipeline()
	for i := range commands {
		if err := pipe.Process(ctx, commands[i].cmd); err != nil {
			return err //nolint:wrapcheck // see above
		}
	}
	_, err := pipe.Exec(ctx)
	return err //nolint:wrapcheck // see above
}

// read gives each attempt its share of the reply: of n attempts that were added
// together the last has the count's ordinal, and those before it the ones before.
// It tells whether the script was lost.
func (c command) read(failed error) (lost bool) {
	count, err := replyOf(c.cmd, failed)
	n := int64(len(c.attempts))
	if err == nil && count.N < n {
		err = errReply
	}
	for i, a := range c.attempts {
		a.err = err
		if err == nil {
			a.count = Count{N: count.N - n + int64(i) + 1, TTL: count.TTL}
		}
	}
	return isNoScript(err)
}

// errPanicked says of an attempt that nobody knows what came of it.
var errPanicked = &failure{class: classOther, text: "a round trip of the rate limit counter panicked"}

// void fails all attempts of a flight that has no end.
func (f *flight) void(err error) {
	for _, a := range f.all {
		a.count, a.err = Count{}, err
	}
}

// proof is what the flight says of Redis: it is well if it answered to anything.
func (f *flight) proof() error {
	proof := errNoSign
	for _, list := range [2][]*attempt{f.single, f.joint} {
		for _, a := range list {
			switch sign(a.err, a.err != nil && a.left()) {
			case nil:
				return nil
			case errFailed: //nolint:errorlint // one of our own, never wrapped
				proof = errFailed
			}
		}
	}
	return proof
}

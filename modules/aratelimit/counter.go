package aratelimit

import (
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Counter counts attempts. Breakers and batchers are Counters around a Counter:
// what they add is invisible to the controls.
type Counter interface {
	// Incr adds one attempt to key, whose window is windowMs long, and tells
	// which attempt of the window it was. The attempt stands even if ctx ends
	// meanwhile: its end takes nothing back and interrupts nobody's command. The
	// error, if any, is one that classOf understands; the attempt may have been
	// counted then, and must not be made again.
	Incr(ctx context.Context, key string, windowMs int64) (Count, error)
}

// Count is what the counter said to one attempt.
type Count struct {
	// N is the attempt's ordinal in its window, from 1.
	N int64
	// TTL is how long Redis keeps the counter, in milliseconds.
	TTL int64
}

// The script is atomic, so that no attempt is counted without an expiry (A7).
//
//go:embed counter.lua
var scriptText string

var script = redis.NewScript(scriptText)

var errStopped = &failure{class: classCanceled, text: "the rate limiter is stopped"}

// redisCounter is the Counter of contract A7: one command for each attempt. The
// client must be one that sends no command again whose outcome is unknown, as
// that of a-redis is: a repeated increment would count one attempt twice.
type redisCounter struct {
	client  redis.UniversalClient
	timeout time.Duration
	breaker *breaker
	stopped atomic.Bool
}

func newRedisCounter(client redis.UniversalClient, timeout time.Duration, cfg BreakerConfig) *redisCounter {
	return &redisCounter{client: client, timeout: timeout, breaker: newBreaker(cfg)}
}

// states are those of all breakers.
func (r *redisCounter) states() map[state]int { return map[state]int{r.breaker.state(): 1} }

// register loads the script. Nothing depends on it: Incr loads a script that is
// not there.
func (r *redisCounter) register(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if err := script.Load(ctx, r.client).Err(); err != nil {
		return fmt.Errorf("registering the counter script: %w", err)
	}
	return nil
}

// stop lets no further attempt begin; those that fail from now on were cut off.
func (r *redisCounter) stop() { r.stopped.Store(true) }

// Incr is bounded by the client's timeout as a whole, for waiting, connecting
// and both commands together. The caller's own end does not shorten it: the
// attempt was made, and its reply belongs to the connection.
func (r *redisCounter) Incr(ctx context.Context, key string, windowMs int64) (Count, error) {
	if r.stopped.Load() {
		return Count{}, errStopped
	}
	var count Count
	var err error
	if open := r.breaker.try(func() (struct{}, error) {
		count, err = r.attempt(ctx, key, windowMs)
		return struct{}{}, sign(err, ctx.Err() != nil)
	}); open != nil {
		return Count{}, open
	}
	return count, err
}

func (r *redisCounter) attempt(ctx context.Context, key string, windowMs int64) (Count, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	reply, err := r.do(ctx, "evalsha", script.Hash(), key, windowMs)
	if isNoScript(err) {
		// Nothing was counted. EVAL counts and loads the script again, in one
		// command and on the very node that lost it.
		reply, err = r.do(ctx, "eval", scriptText, key, windowMs)
	}
	if err != nil {
		if r.stopped.Load() {
			return Count{}, errStopped
		}
		return Count{}, err
	}
	return parseReply(reply)
}

func (r *redisCounter) do(ctx context.Context, command, script, key string, windowMs int64) (any, error) {
	cmd := redis.NewCmd(ctx, command, script, 1, key, windowMs)
	if err := r.client.Process(ctx, cmd); err != nil {
		return nil, err
	}
	return cmd.Result()
}

// parseReply accepts two whole numbers, a count from 1 and a TTL, and nothing else.
func parseReply(reply any) (Count, error) {
	list, ok := reply.([]any)
	if !ok || len(list) != 2 {
		return Count{}, errReply
	}
	n, okN := list[0].(int64)
	ttl, okTTL := list[1].(int64)
	if !okN || !okTTL || n < 1 || ttl < 0 {
		return Count{}, errReply
	}
	return Count{N: n, TTL: ttl}, nil
}

var errReply = &failure{class: classProtocol, text: "the counter script gave another reply than a count and a TTL"}

func isNoScript(err error) bool {
	return err != nil && (errors.Is(err, redis.ErrNoScript) || redis.HasErrorPrefix(err, "NOSCRIPT"))
}

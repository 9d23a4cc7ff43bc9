package aratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

// Counter counts attempts.
type Counter interface {
	// Incr adds one attempt to key, whose window is windowMs long, and tells
	// which attempt of the window it was. The attempt stands even if ctx ends
	// meanwhile: its end takes nothing back and interrupts nobody's command. The
	// error, if any, is one that classOf understands, or ctx's own; the attempt may
	// have been counted then, and must not be made again.
	Incr(ctx context.Context, key string, windowMs int64) (Count, error)
}

// Counters is a service: the counters of the application, for modules that limit
// something else than requests, and for measuring. Their keys are taken as they
// are, without the client's prefix.
type Counters struct {
	// Each adds every attempt by a command of its own.
	Each Counter
	// Joint is for a key that many attempts go to: attempts that are pending at
	// the same moment are added by one command.
	Joint Counter
}

// Count is what the counter said to one attempt.
type Count struct {
	// N is the attempt's ordinal in its window, from 1.
	N int64
	// TTL is how long Redis keeps the counter, in milliseconds.
	TTL int64
}

// redisCounter is the Counter of contract A7: one atomic command for each attempt.
// Commands that are pending at the same moment share round trips (see lane). The
// client must be one that sends no command again whose outcome is unknown, as that
// of a-redis is: a repeated increment would count one attempt twice.
type redisCounter struct {
	client  redis.UniversalClient
	timeout time.Duration
	lanes   *lanes
}

func newRedisCounter(client redis.UniversalClient, timeout time.Duration, cfg BreakerConfig, logger *slog.Logger) *redisCounter {
	return &redisCounter{client: client, timeout: timeout, lanes: newLanes(client, timeout, cfg, logger)}
}

// register loads the scripts. Nothing depends on it: a script that is not there is
// loaded when it is missed.
func (r *redisCounter) register(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	for _, s := range []*script{single, joint} {
		if err := r.client.ScriptLoad(ctx, s.text).Err(); err != nil {
			return fmt.Errorf("registering the counter scripts: %w", err)
		}
	}
	return nil
}

// stop lets no further attempt begin; those that fail from now on were cut off. It
// returns when the counter's own goroutines have ended, which takes no longer than
// the client's timeout; a round trip that a caller makes itself ends with the call.
func (r *redisCounter) stop() { r.lanes.stop() }

// Incr is bounded by the client's timeout as a whole, for waiting, connecting and
// all commands together.
func (r *redisCounter) Incr(ctx context.Context, key string, windowMs int64) (Count, error) {
	return r.lanes.of(key).incr(ctx, key, windowMs, single) //nolint:contextcheck // of waits for nothing
}

// jointCounter is a Counter for a key that many attempts go to: those that are
// pending at the same moment are added by one command, and each is given an
// ordinal of its own (contract B4).
type jointCounter struct{ *redisCounter }

// Incr is as that of redisCounter.
func (j jointCounter) Incr(ctx context.Context, key string, windowMs int64) (Count, error) {
	return j.lanes.of(key).incr(ctx, key, windowMs, joint) //nolint:contextcheck // as above
}

package aratelimit

import (
	"context"

	"github.com/vonago/vonago/onion"
)

// limiter is what all controls of an application share; a service.
type limiter struct {
	counter Counter
	joint   Counter // for a key that many attempts go to
	prefix  string  // of the Redis client (contract P5)
	ipv6    int     // leading bits of an IPv6 address that count (contract D4)
	clock   onion.Clock
	events  *events
	metrics *metrics
}

// control is one policy in force: at a route, or for the application.
type control struct {
	*limiter
	counter Counter // one of the limiter's
	source  source
	labels  *labels
}

// attempt counts one request and says what follows. Every outcome but left goes
// into the metrics, every outcome but allowed and left into the events.
func (c *control) attempt(ctx context.Context, key string, windowMs int64, instance string) (Count, outcome, class) {
	count, err := c.counter.Incr(ctx, key, windowMs)
	o, failed := c.judge(ctx, count, err)
	if o != left {
		c.metrics.count(ctx, c.labels, o)
		c.events.emit(ctx, o, &c.source, instance, failed)
	}
	return count, o, failed
}

func (c *control) judge(ctx context.Context, count Count, err error) (outcome, class) {
	switch {
	case err != nil && ctx.Err() != nil:
		return left, "" // contract A11: a caller that goes away, or whose time is over, is no Redis failure
	case err != nil:
		return redisError, classOf(err)
	case count.N <= c.source.limit:
		return allowed, ""
	case c.source.mode == Enforce:
		return rejected, ""
	}
	return wouldReject, ""
}

// refused says whether the outcome stops the request in this control's mode: a
// request whose count is unknown passes only while observing (contract A11, B5).
func (c *control) refused(o outcome) bool {
	return o == rejected || c.source.mode == Enforce && (o == redisError || o == left)
}

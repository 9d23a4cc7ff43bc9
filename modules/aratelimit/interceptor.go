package aratelimit

import (
	"context"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/vonago/vonago/onion"
)

// RateLimit is the identity control, a-ratelimit:rateLimit: a global interceptor
// that is off until configuration, a controller or an action enables it (contract
// A1, A2). It runs behind the guards and before the body is read.
var RateLimit = onion.Interceptor("a-ratelimit:rateLimit", defaultOptions, buildRateLimit,
	onion.Global(), onion.Disabled(), onion.Before("a-body:bodyReq"), onion.Tag("rateLimit")).
	CheckSet(checkShared)

// The header fields. Those of the draft are spelled as it spells them, which is
// not the form that Header.Get and Set know: HTTP/1 sends a key of the map as it
// is, HTTP/2 in lower case.
const (
	headerLimit        = "RateLimit-Limit"
	headerRemaining    = "RateLimit-Remaining"
	headerReset        = "RateLimit-Reset"
	headerRetryAfter   = "Retry-After"
	headerCacheControl = "Cache-Control"
)

const noStore = "no-store"

// retryAfterFailure is the Retry-After of a 503, in seconds (contract A11).
const retryAfterFailure = "1"

func buildRateLimit(o Options, env onion.Env) (onion.Wrap, error) {
	l, err := onion.Service[*limiter](env)
	if err != nil {
		return nil, err
	}
	limit := []string{strconv.FormatInt(o.RateLimit.Limit, 10)}
	return func(next onion.Next) onion.Next {
		i := &interceptor{limiter: l, policy: o.RateLimit, limitField: limit, next: next}
		return i.run
	}, nil
}

// interceptor is RateLimit in one chain.
type interceptor struct {
	limiter    *limiter
	policy     Policy
	limitField []string // value of RateLimit-Limit; shared and never written
	next       onion.Next

	route atomic.Pointer[routeControl]
}

// routeControl is a control with the parts of the key that its route decides.
type routeControl struct {
	control
	slots slots
	route *onion.RouteInfo
}

// at gives the control for a route. A chain belongs to one route, so it is made
// once; a chain that served several would only make it more often.
func (i *interceptor) at(r *onion.RouteInfo) *routeControl {
	if rc := i.route.Load(); rc != nil && rc.route == r {
		return rc
	}
	policy := policyName(i.policy, r)
	rc := &routeControl{
		control: control{
			limiter: i.limiter,
			counter: i.limiter.counter,
			source:  source{scope: scopeIdentity, route: r.Raw, policy: policy, mode: i.policy.Mode, limit: i.policy.Limit},
			labels:  labelsOf(scopeIdentity, i.policy.Mode, policy),
		},
		slots: slotsOf(i.limiter.prefix, i.limiter.ipv6, i.policy, r),
		route: r,
	}
	i.route.Store(rc)
	return rc
}

func (i *interceptor) run(ctx context.Context, c *onion.Call) (any, error) {
	rc := i.at(c.Route)
	now := rc.clock.Now().UnixMilli()
	w := windowAt(now, i.policy.WindowMs)
	count, o, failed := rc.attempt(ctx, rc.slots.key(c, w.start), i.policy.WindowMs, c.Instance)
	if o == redisError || o == left {
		return i.uncounted(ctx, c, rc, o, failed)
	}
	if i.policy.Mode == Enforce && i.policy.Headers.True() {
		i.announce(&c.Response, count.N, w.secondsLeft(now))
	}
	if !rc.refused(o) {
		return i.next(ctx, c)
	}
	c.Response.SetHeader(headerRetryAfter, strconv.FormatInt(w.secondsLeft(now), 10))
	c.Response.SetHeader(headerCacheControl, noStore)
	return nil, onion.NewError(http.StatusTooManyRequests, nil)
}

// uncounted answers for an attempt whose count is unknown (contract A11).
func (i *interceptor) uncounted(ctx context.Context, c *onion.Call, rc *routeControl, o outcome, failed class) (any, error) {
	if !rc.refused(o) {
		return i.next(ctx, c)
	}
	c.Response.SetHeader(headerRetryAfter, retryAfterFailure)
	c.Response.SetHeader(headerCacheControl, noStore)
	if o == left {
		return nil, onion.NewError(http.StatusServiceUnavailable, ctx.Err())
	}
	return nil, onion.NewError(http.StatusServiceUnavailable, unavailable{failed})
}

// announce sets the RateLimit fields; they stay on whatever the action answers
// (contract A8). The numbers share one allocation for their lists.
func (i *interceptor) announce(r *onion.Response, count, reset int64) {
	if r.Header == nil {
		r.Header = http.Header{}
	}
	values := &[2]string{
		strconv.FormatInt(max(0, i.policy.Limit-count), 10),
		strconv.FormatInt(reset, 10),
	}
	r.Header[headerLimit] = i.limitField
	r.Header[headerRemaining] = values[0:1:1]
	r.Header[headerReset] = values[1:2:2]
}

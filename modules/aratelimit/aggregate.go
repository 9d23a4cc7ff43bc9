package aratelimit

import (
	"context"
	"net/http"

	"github.com/vonago/vonago/onion"
)

// Aggregate is the control of the whole application, a-ratelimit:aggregate: a
// system middleware, off until configuration enables it with a mode and a limit
// (contract B1). It runs behind the request log and before health, instances,
// routing and authentication (contract B2).
var Aggregate = onion.SystemMiddleware("a-ratelimit:aggregate", noAggregateOptions, buildAggregate,
	onion.Inbound(), onion.Disabled(), onion.After("a-logger:httpLog"),
	onion.Before("a-core:health", "a-instance:app", "a-instance:instance"))

// aggregateWindowMs is the window of the aggregate (contract B4).
const aggregateWindowMs = 1000

var (
	bodyTooMany     = []byte(`{"code":429,"message":"Too Many Requests"}`)
	bodyUnavailable = []byte(`{"code":503,"message":"Service Unavailable"}`)
)

func buildAggregate(o AggregateOptions, env onion.Env) (onion.Wrap, error) {
	l, err := onion.Service[*limiter](env)
	if err != nil {
		return nil, err
	}
	a := &aggregate{control{
		limiter: l,
		counter: l.joint,
		source:  source{scope: scopeAggregate, mode: o.RateLimit.Mode, limit: o.RateLimit.Limit},
		labels:  labelsOf(scopeAggregate, o.RateLimit.Mode, ""),
	}}
	return func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			if reply := a.admit(ctx); reply != nil {
				return reply, nil
			}
			return next(ctx, c)
		}
	}, nil
}

type aggregate struct{ control }

// admit counts a request; a reply refuses it. It goes out as it is, whatever the
// client prefers, and passes no error filter (contract B6).
func (a *aggregate) admit(ctx context.Context) *onion.Reply {
	w := windowAt(a.clock.Now().UnixMilli(), aggregateWindowMs)
	_, o, _ := a.attempt(ctx, aggregateKey(a.prefix, w.start), aggregateWindowMs, "")
	switch {
	case !a.refused(o):
		return nil
	case o == rejected:
		return direct(http.StatusTooManyRequests, bodyTooMany)
	}
	return direct(http.StatusServiceUnavailable, bodyUnavailable)
}

// direct is an answer in JSON. Raised before a-security:*, it brings nosniff
// itself (contract C3).
func direct(status int, body []byte) *onion.Reply {
	return &onion.Reply{
		Status: status,
		Header: http.Header{
			headerRetryAfter:         {"1"}, // no window lasts longer
			headerCacheControl:       {noStore},
			"X-Content-Type-Options": {"nosniff"},
		},
		ContentType: "application/json",
		Body:        body,
	}
}

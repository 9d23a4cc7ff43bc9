package aratelimit

import (
	"context"
	"log/slog"

	"github.com/vonago/vonago/onion"
)

// The events of contract E1, in the attribute "event".
const (
	eventWouldReject = "rate_limit.would_reject"
	eventRejected    = "rate_limit.rejected"
	eventRedisError  = "rate_limit.redis_error"
	// eventSuppressed says how many lines of the event in "suppressedEvent" were
	// left out, in "suppressed".
	eventSuppressed = "rate_limit.suppressed"
)

// The attributes of events. Nothing that tells who called or what exactly was
// asked for is among them (contract E2).
const (
	attrEvent           = "event"
	attrScope           = "scope" // aggregate only
	attrRoute           = "route" // raw template
	attrPolicy          = "policy"
	attrInstance        = "instanceName"
	attrMode            = "mode"
	attrLimit           = "limit"
	attrClass           = "errorClass" // redis_error only
	attrSuppressed      = "suppressed"
	attrSuppressedEvent = "suppressedEvent"
)

var (
	eventOf   = [outcomes]string{wouldReject: eventWouldReject, rejected: eventRejected, redisError: eventRedisError}
	messageOf = [outcomes]string{
		wouldReject: "over the rate limit, let pass",
		rejected:    "over the rate limit, refused",
		redisError:  "the rate limit counter failed",
	}
)

// source is what an event says of where it comes from.
type source struct {
	scope         scope
	route, policy string // of the identity control
	mode          Mode
	limit         int64
}

// events writes one line for every decision that is not "allowed", or as many a
// second as the cap lets through.
type events struct {
	logger *slog.Logger
	cap    *eventCap // nil: no cap
}

func newEvents(logger *slog.Logger, maxPerSecond int, clock onion.Clock) *events {
	e := &events{logger: logger}
	e.cap = newEventCap(maxPerSecond, clock, e.suppressed)
	return e
}

// emit logs an outcome; failed is the class of a redisError.
func (e *events) emit(ctx context.Context, o outcome, s *source, instance string, failed class) {
	if eventOf[o] == "" {
		return
	}
	if !e.cap.admit(eventKey{eventOf[o], s.scope, s.policy, instance}) {
		return
	}
	attrs := make([]slog.Attr, 0, 8)
	attrs = append(attrs, slog.String(attrEvent, eventOf[o]))
	attrs = appendWhere(attrs, s.scope, s.route, s.policy, instance)
	attrs = append(attrs, slog.String(attrMode, string(s.mode)), slog.Int64(attrLimit, s.limit))
	if o == redisError {
		attrs = append(attrs, slog.String(attrClass, string(failed)))
	}
	e.logger.LogAttrs(ctx, slog.LevelWarn, messageOf[o], attrs...) //nolint:sloglint // one of the constants above
}

// appendWhere keeps the two kinds of events apart: those of the aggregate carry
// their scope and neither route nor instance (contract E1).
func appendWhere(attrs []slog.Attr, sc scope, route, policy, instance string) []slog.Attr {
	if sc == scopeAggregate {
		return append(attrs, slog.String(attrScope, string(sc)))
	}
	if route != "" {
		attrs = append(attrs, slog.String(attrRoute, route))
	}
	return append(attrs, slog.String(attrPolicy, policy), slog.String(attrInstance, instance))
}

// suppressed is the report of the cap.
func (e *events) suppressed(k eventKey, n int64) {
	attrs := make([]slog.Attr, 0, 5)
	attrs = append(attrs, slog.String(attrEvent, eventSuppressed))
	attrs = appendWhere(attrs, k.scope, "", k.policy, k.instance)
	attrs = append(attrs, slog.String(attrSuppressedEvent, k.event), slog.Int64(attrSuppressed, n))
	e.logger.LogAttrs(context.Background(), slog.LevelWarn, "rate limit events left out", attrs...)
}

// stop reports what the cap still holds back.
func (e *events) stop() { e.cap.stop() }

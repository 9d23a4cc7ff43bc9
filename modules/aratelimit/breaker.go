package aratelimit

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

// breaker keeps round trips away from a Redis that fails (contract A11). What it
// counts are round trips, not attempts: 60 attempts that shared one broken
// connection are one failure.
//
// The state machine is gobreaker's. It fits because a result that comes in after
// a change of state is ignored, probes that are under way are bounded, and results
// that prove nothing can be left out.
type breaker struct {
	machine *gobreaker.CircuitBreaker[struct{}] // nil: always closed
	tripped atomic.Bool                         // not closed
}

// state is one of the names of gobreaker's states.
type state string

var (
	stateClosed   = state(gobreaker.StateClosed.String())
	stateHalfOpen = state(gobreaker.StateHalfOpen.String())
	stateOpen     = state(gobreaker.StateOpen.String())
)

var errOpen = &failure{class: classBreaker, text: "the breaker of the rate limit counter is open"}

// What a round trip proves to the breaker, if it is not nil, a success.
var (
	errFailed = errors.New("a round trip failed")
	errNoSign = errors.New("a round trip proves nothing")
)

// windowParts is in how many steps the window of the error rate moves.
const windowParts = 10

func newBreaker(cfg BreakerConfig) *breaker {
	if !cfg.Enable {
		return &breaker{}
	}
	b := &breaker{}
	b.machine = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests:   uint32(cfg.Probes), //nolint:gosec // in range: see BreakerConfig
		Interval:      cfg.window(),
		BucketPeriod:  cfg.window() / windowParts,
		Timeout:       cfg.open(),
		IsExcluded:    func(err error) bool { return errors.Is(err, errNoSign) },
		ReadyToTrip:   cfg.trips,
		OnStateChange: func(_ string, _, to gobreaker.State) { b.tripped.Store(to != gobreaker.StateClosed) },
	})
	return b
}

// trips says whether the last failure opens the breaker.
func (b BreakerConfig) trips(c gobreaker.Counts) bool {
	known := int64(c.TotalSuccesses) + int64(c.TotalFailures)
	return int64(c.ConsecutiveFailures) >= int64(b.Failures) ||
		known >= int64(b.MinRequests) && float64(c.TotalFailures) >= b.ErrorRate*float64(known)
}

// try makes a round trip if the breaker lets it, and gives errOpen if not. The
// round trip says what it proves.
func (b *breaker) try(roundTrip func() (struct{}, error)) error {
	if b.machine == nil {
		_, _ = roundTrip()
		return nil
	}
	_, err := b.machine.Execute(roundTrip)
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return errOpen
	}
	return nil
}

// state tells how things stand; an open breaker whose time is over is half-open.
func (b *breaker) state() state {
	if b.machine == nil {
		return stateClosed
	}
	return state(b.machine.State().String())
}

// describe says in a few words how breakers stand; empty if there is none yet.
func describe(states map[state]int) string {
	all := states[stateClosed] + states[stateHalfOpen] + states[stateOpen]
	worst := stateClosed
	switch {
	case states[stateOpen] > 0:
		worst = stateOpen
	case states[stateHalfOpen] > 0:
		worst = stateHalfOpen
	}
	if all < 2 || worst == stateClosed {
		return "breaker " + string(worst)
	}
	return fmt.Sprintf("breaker %s (%d of %d)", worst, all-states[stateClosed], all)
}

// sign is what the error of a round trip proves to the breaker. Nothing if it was
// cut off by shutdown, or if those who wanted it have left: a caller that goes away
// is no failure of Redis (contract A11). And Redis is well if it answered that
// something is wrong with this one key.
func sign(err error, left bool) error {
	switch {
	case err == nil:
		return nil
	case left:
		return errNoSign
	}
	switch classOf(err) { //nolint:exhaustive // all others are failures
	case classCanceled:
		return errNoSign
	case classOther:
		var reply redis.Error
		if errors.As(err, &reply) && aboutKey(reply.Error()) {
			return nil
		}
	}
	return errFailed
}

// aboutKey tells a reply that complains of what is stored at the key.
func aboutKey(text string) bool {
	return strings.Contains(text, "WRONGTYPE ") || strings.Contains(text, "value is not an integer") ||
		strings.Contains(text, "would overflow")
}

package aratelimit

import (
	"sync"
	"time"

	"github.com/vonago/vonago/onion"
)

// maxEventKeys bounds what an eventCap remembers of one second. Events beyond it
// share one count of their kind.
const maxEventKeys = 1024

// eventKey is what the cap counts by (contract E1).
type eventKey struct {
	event    string
	scope    scope
	policy   string
	instance string
}

// overflow stands for the policies and instances that are no longer told apart.
const overflow = "*"

// eventCap lets so many lines of one key through in each second of the clock. It
// remembers the current second only.
type eventCap struct {
	perSecond int64
	clock     onion.Clock
	report    func(k eventKey, suppressed int64)

	mu      sync.Mutex
	second  int64
	tallies map[eventKey]*tally
	timer   *time.Timer // pending while something is suppressed
}

type tally struct{ passed, suppressed int64 }

// newEventCap gives no cap for perSecond 0.
func newEventCap(perSecond int, clock onion.Clock, report func(eventKey, int64)) *eventCap {
	if perSecond <= 0 {
		return nil
	}
	return &eventCap{perSecond: int64(perSecond), clock: clock, report: report, tallies: map[eventKey]*tally{}}
}

// admit says whether a line may be written.
func (c *eventCap) admit(k eventKey) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	// Under the lock: whoever came with the second before would begin that one anew.
	second := c.clock.Now().Unix()
	var due map[eventKey]*tally
	if second != c.second {
		due, c.tallies, c.second = c.tallies, map[eventKey]*tally{}, second
	}
	t := c.tallies[k]
	if t == nil && len(c.tallies) >= maxEventKeys {
		k.policy, k.instance = overflow, overflow
		t = c.tallies[k]
	}
	if t == nil {
		t = &tally{}
		c.tallies[k] = t
	}
	pass := t.passed < c.perSecond
	if pass {
		t.passed++
	} else {
		t.suppressed++
		c.arm()
	}
	c.mu.Unlock()
	c.tell(due)
	return pass
}

// arm makes sure that a burst is reported even if nothing follows it.
func (c *eventCap) arm() {
	if c.timer == nil {
		c.timer = time.AfterFunc(time.Second, c.flush)
	}
}

// flush reports what was suppressed so far. The second goes on: what has passed
// in it still counts.
func (c *eventCap) flush() {
	c.mu.Lock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	due := map[eventKey]*tally{}
	for k, t := range c.tallies {
		if t.suppressed > 0 {
			due[k] = &tally{suppressed: t.suppressed}
			t.suppressed = 0
		}
	}
	c.mu.Unlock()
	c.tell(due)
}

func (c *eventCap) stop() {
	if c != nil {
		c.flush()
	}
}

// tell reports outside the lock: a logger may be slow.
func (c *eventCap) tell(due map[eventKey]*tally) {
	for k, t := range due {
		if t.suppressed > 0 {
			c.report(k, t.suppressed)
		}
	}
}

package aratelimit

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vonago/vonago/onion"
)

func overLimit(t *testing.T, b *bench, instance string, times int) {
	t.Helper()
	run := b.interceptor(t, policy(func(p *Policy) { p.Name = "p" }), pass)
	for range times {
		c := testCall()
		c.Instance = instance
		if _, err := run(t.Context(), c); err == nil {
			t.Fatal("passed")
		}
	}
}

// summary counts the lines of an instance, and what they say was left out.
func summary(t *testing.T, b *bench, instance string) (lines int, suppressed []float64) {
	t.Helper()
	for _, l := range b.log.lines(t) {
		if l["instanceName"] != instance {
			continue
		}
		if l["event"] == eventSuppressed {
			want := map[string]any{
				"msg": "rate limit events left out", "event": eventSuppressed, "policy": "p", "instanceName": instance,
				"suppressedEvent": eventRejected, "suppressed": l["suppressed"],
			}
			if !reflect.DeepEqual(l, want) {
				t.Errorf("report %v, want %v", l, want)
			}
			suppressed = append(suppressed, l["suppressed"].(float64))
			continue
		}
		lines++
	}
	return lines, suppressed
}

// Contract E1: the cap is per event, policy and instance, and says what it left out.
func TestEventCap(t *testing.T) {
	clock := clockAt(atMs)
	b := newBench(t, answers(121, nil), clock, 3)
	overLimit(t, b, "a", 10)
	overLimit(t, b, "b", 3)
	clock.set(atMs + 1000)
	overLimit(t, b, "a", 2)
	if lines, suppressed := summary(t, b, "a"); lines != 5 || !reflect.DeepEqual(suppressed, []float64{7}) {
		t.Errorf("a: %d lines, %v left out; want 5 and 7", lines, suppressed)
	}
	if lines, suppressed := summary(t, b, "b"); lines != 3 || suppressed != nil {
		t.Errorf("b: %d lines, %v left out; want 3 and none", lines, suppressed)
	}
}

// steppingClock goes to the next second with every hundredth look at it.
type steppingClock struct{ looks atomic.Int64 }

func (c *steppingClock) Now() time.Time { return time.Unix(c.looks.Add(1)/100, 0) }

// Many who come about the turn of a second share the budgets of the two: none of
// them begins a second anew.
func TestEventCapAtTheTurnOfASecond(t *testing.T) {
	clock := &steppingClock{}
	c := newEventCap(1, clock, func(eventKey, int64) {})
	defer c.stop()
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 500 {
				if c.admit(eventKey{event: "e"}) {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if got, seconds := passed.Load(), clock.Now().Unix()+1; got != seconds {
		t.Errorf("%d lines in %d seconds, want one in each", got, seconds)
	}
}

// What is still held back at the end is said then, once.
func TestEventCapReportsAtStop(t *testing.T) {
	b := newBench(t, answers(121, nil), clockAt(atMs), 1)
	overLimit(t, b, "a", 5)
	b.limiter.events.stop()
	b.limiter.events.stop()
	if lines, suppressed := summary(t, b, "a"); lines != 1 || !reflect.DeepEqual(suppressed, []float64{4}) {
		t.Errorf("%d lines, %v left out; want 1 and 4", lines, suppressed)
	}
}

// A burst that nothing follows is reported all the same.
func TestEventCapReportsByItself(t *testing.T) {
	reported := make(chan int64, 1)
	c := newEventCap(1, clockAt(atMs), func(_ eventKey, n int64) { reported <- n })
	for i := range 3 {
		if got := c.admit(eventKey{event: "e"}); got != (i == 0) {
			t.Errorf("line %d admitted: %v", i, got)
		}
	}
	select {
	case n := <-reported:
		if n != 2 {
			t.Errorf("%d left out, want 2", n)
		}
	case <-time.After(10 * time.Second):
		t.Error("no report")
	}
	if c.admit(eventKey{event: "e"}) {
		t.Error("the report began the second anew")
	}
	c.stop()
}

// However many policies and instances there are, the memory is bounded.
func TestEventCapIsBounded(t *testing.T) {
	var last map[eventKey]int64
	c := newEventCap(1, clockAt(atMs), func(k eventKey, n int64) { last[k] += n })
	last = map[eventKey]int64{}
	for i := range 3 * maxEventKeys {
		c.admit(eventKey{event: "e", instance: fmt.Sprint(i)})
	}
	if n := len(c.tallies); n != maxEventKeys+1 {
		t.Errorf("%d tallies", n)
	}
	c.stop()
	if want := (map[eventKey]int64{{event: "e", policy: overflow, instance: overflow}: 2*maxEventKeys - 1}); !reflect.DeepEqual(last, want) {
		t.Errorf("reports %v, want %v", last, want)
	}
}

// Without a cap every decision logs.
func TestNoEventCap(t *testing.T) {
	b := newBench(t, answers(121, nil), clockAt(atMs), 0)
	overLimit(t, b, "a", 200)
	if lines, suppressed := summary(t, b, "a"); lines != 200 || suppressed != nil {
		t.Errorf("%d lines, %v left out", lines, suppressed)
	}
}

// Capped events of the aggregate stay those of the aggregate.
func TestEventCapOfAggregate(t *testing.T) {
	b := newBench(t, answers(2, nil), clockAt(atMs), 1)
	run := b.aggregate(t, AggregatePolicy{Mode: Observe, Limit: 1}, pass)
	for range 3 {
		if _, err := run(context.Background(), &onion.Call{}); err != nil {
			t.Fatal(err)
		}
	}
	b.limiter.events.stop()
	lines := b.log.lines(t)
	want := map[string]any{
		"msg": "rate limit events left out", "event": eventSuppressed, "scope": "aggregate",
		"suppressedEvent": eventWouldReject, "suppressed": 2.0,
	}
	if len(lines) != 2 || !reflect.DeepEqual(lines[1], want) {
		t.Errorf("logged %v, want the last to be %v", lines, want)
	}
}

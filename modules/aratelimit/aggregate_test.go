package aratelimit

import (
	"context"
	"io"
	"reflect"
	"testing"

	"github.com/vonago/vonago/onion"
)

// Contract B4 to B7 as golden answers.
func TestAggregateAnswers(t *testing.T) {
	const tooMany = "Cache-Control: no-store\nRetry-After: 1\nX-Content-Type-Options: nosniff"
	for _, tc := range []struct {
		name   string
		mode   Mode
		n      int64
		err    error
		status int // 0: passes
		body   string
		event  map[string]any
	}{
		{name: "allowed", mode: Enforce, n: 100},
		{name: "observed", mode: Observe, n: 100},
		{
			name: "rejected", mode: Enforce, n: 101, status: 429, body: `{"code":429,"message":"Too Many Requests"}`,
			event: map[string]any{"msg": "over the rate limit, refused", "event": "rate_limit.rejected", "mode": "enforce"},
		},
		{
			name: "would reject", mode: Observe, n: 101,
			event: map[string]any{"msg": "over the rate limit, let pass", "event": "rate_limit.would_reject", "mode": "observe"},
		},
		{
			name: "failed closed", mode: Enforce, err: io.EOF, status: 503, body: `{"code":503,"message":"Service Unavailable"}`,
			event: map[string]any{"msg": "the rate limit counter failed", "event": "rate_limit.redis_error", "mode": "enforce", "errorClass": "refused"},
		},
		{
			name: "failed open", mode: Observe, err: io.EOF,
			event: map[string]any{"msg": "the rate limit counter failed", "event": "rate_limit.redis_error", "mode": "observe", "errorClass": "refused"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, answers(tc.n, tc.err), clockAt(atMs), 0)
			c := testCall()
			v, err := b.aggregate(t, AggregatePolicy{Mode: tc.mode, Limit: 100}, pass)(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			reply, refused := v.(*onion.Reply)
			switch {
			case tc.status == 0 && v != "passed":
				t.Errorf("answer %v, want the request to pass", v)
			case tc.status != 0 && !refused:
				t.Errorf("answer %v, want a reply", v)
			case tc.status != 0 && (reply.Status != tc.status || string(reply.Body) != tc.body || reply.ContentType != "application/json" ||
				fields(reply.Header) != tooMany):
				t.Errorf("reply %+v\n%s", reply, reply.Body)
			}
			if len(c.Response.Header) != 0 {
				t.Errorf("header of the response: %v", c.Response.Header)
			}
			var want []map[string]any
			if tc.event != nil {
				tc.event["scope"], tc.event["limit"] = "aggregate", 100.0
				want = append(want, tc.event)
			}
			if got := b.log.lines(t); !reflect.DeepEqual(got, want) {
				t.Errorf("logged\n%v\nwant\n%v", got, want)
			}
		})
	}
}

// One key for the application in each second (contract B4).
func TestAggregateKeys(t *testing.T) {
	var keys []string
	counter := counterFunc(func(_ context.Context, key string, windowMs int64) (Count, error) {
		if windowMs != 1000 {
			t.Errorf("window %d", windowMs)
		}
		keys = append(keys, key)
		return Count{N: 1}, nil
	})
	clock := clockAt(1_796_072_074_190)
	b := newBench(t, counter, clock, 0)
	run := b.aggregate(t, AggregatePolicy{Mode: Enforce, Limit: 1}, pass)
	for _, at := range []int64{1_796_072_074_190, 1_796_072_074_999, 1_796_072_075_000} {
		clock.set(at)
		if _, err := run(t.Context(), &onion.Call{NoInstance: true}); err != nil { // no route, no address, no instance
			t.Fatal(err)
		}
	}
	const head = "limiter_test_local:rate-limit:v1:aggregate:"
	if want := []string{head + "1796072074000", head + "1796072074000", head + "1796072075000"}; !reflect.DeepEqual(keys, want) {
		t.Fatalf("keys %v, want %v", keys, want)
	}
}

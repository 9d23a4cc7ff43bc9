package testapp

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/internal/redistest"
)

// beat is a request of a recorded trace.
type beat struct {
	second int // since the begin of the trace
	client int
	path   string
}

// trace is traffic of some clients over some seconds, the same every time.
func trace() []beat {
	random := rand.New(rand.NewPCG(5, 11))
	var all []beat
	for second := range 12 {
		for range 5 + random.IntN(25) {
			all = append(all, beat{second, random.IntN(4), []string{"hello", "list", "shapes"}[random.IntN(3)]})
		}
	}
	return all
}

// replayed is what came of a trace.
type replayed struct {
	over     []bool // request by request, by its status
	rejected int    // events
	would    int
}

const (
	identityPolicy  = "onions: {interceptor: {a-ratelimit:rateLimit: {enable: true, rateLimit: {mode: %s, limit: 3, windowMs: 2000}}}}\n"
	aggregatePolicy = "onions: {middlewareSystem: {a-ratelimit:aggregate: {enable: true, rateLimit: {mode: %s, limit: 12}}}}\n"
	bothPolicies    = "onions: {interceptor: {a-ratelimit:rateLimit: {enable: true, rateLimit: {mode: %s, limit: 3, windowMs: 2000}}},\n" +
		"  middlewareSystem: {a-ratelimit:aggregate: {enable: true, rateLimit: {mode: %s, limit: 12}}}}\n"
	trusting = "proxy: {enabled: true, trusted: [127.0.0.0/8]}\n"
)

// replay plays a trace with a clock that follows it. It is played again if a second of the trace took longer than Redis keeps
// its counters.
func replay(t *testing.T, policy string, scope ...string) replayed {
	t.Helper()
	redis := redistest.Start(t)
	clock := &hands{}
	s := Start(t, Setup{Redis: redis, Local: trusting + policy, Options: []app.Option{app.WithClock(clock), app.WithoutWatch()}})
	begin := time.Date(2026, 6, 15, 0, 0, 0, 0, time.UTC)
	for range 20 {
		redis.FlushAll()
		var r replayed
		count := func(event string) int { return s.Log.Count(append([]string{"event=rate_limit." + event}, scope...)...) }
		rejected, would := count("rejected"), count("would_reject")
		slowest, second, since := time.Duration(0), 0, time.Now()
		for _, b := range trace() {
			if b.second/2 != second/2 { // a window of the identity control is two seconds long
				slowest, since = max(slowest, time.Since(since)), time.Now()
			}
			second = b.second
			clock.set(begin.Add(time.Duration(b.second) * time.Second))
			path := "/api/test/vona/probe/" + b.path
			if b.path == "shapes" {
				path = "/api/test/vona/shapes/one"
			}
			res, body := s.Do(t, http.MethodGet, path, "", fmt.Sprintf("X-Forwarded-For: 203.0.113.%d", b.client))
			if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusTooManyRequests {
				t.Fatalf("%d %s", res.StatusCode, body)
			}
			r.over = append(r.over, res.StatusCode == http.StatusTooManyRequests)
		}
		if max(slowest, time.Since(since)) > 900*time.Millisecond {
			continue
		}
		r.rejected, r.would = count("rejected")-rejected, count("would_reject")-would
		return r
	}
	t.Fatal("this machine does not get two seconds of the trace done within one")
	return replayed{}
}

func refusals(over []bool) int {
	n := 0
	for _, o := range over {
		if o {
			n++
		}
	}
	return n
}

// TestObserveTellsTheTruth replays one trace while observing and while enforcing: what would be rejected is what is rejected.
func TestObserveTellsTheTruth(t *testing.T) {
	for name, policy := range map[string]string{"identity": identityPolicy, "aggregate": aggregatePolicy} {
		t.Run(name, func(t *testing.T) {
			observed, enforced := replay(t, fmt.Sprintf(policy, "observe")), replay(t, fmt.Sprintf(policy, "enforce"))
			if refusals(observed.over) != 0 || observed.rejected != 0 || enforced.would != 0 {
				t.Errorf("observe refused %d and logged %d, enforce would have refused %d", refusals(observed.over), observed.rejected, enforced.would)
			}
			n := refusals(enforced.over)
			if observed.would != n || enforced.rejected != n {
				t.Errorf("would reject %d, rejected %d of which %d were logged", observed.would, n, enforced.rejected)
			}
			if n < 20 || n > len(trace())-20 {
				t.Errorf("%d of %d were refused: the trace proves little", n, len(trace()))
			}
		})
	}
}

// TestControlsAreIndependent: what one control does is the same whether the other one observes, or is not there.
func TestControlsAreIndependent(t *testing.T) {
	const aggregate = "scope=aggregate"
	alone := replay(t, fmt.Sprintf(aggregatePolicy, "enforce"))
	watched := replay(t, fmt.Sprintf(bothPolicies, "observe", "enforce"), aggregate)
	if !slices.Equal(alone.over, watched.over) || watched.rejected != alone.rejected {
		t.Errorf("the aggregate refuses %d alone and %d beside an observing identity control", alone.rejected, watched.rejected)
	}
	alone = replay(t, fmt.Sprintf(identityPolicy, "enforce"))
	watched = replay(t, fmt.Sprintf(bothPolicies, "enforce", "observe"))
	if !slices.Equal(alone.over, watched.over) || watched.rejected != alone.rejected {
		t.Errorf("the identity control refuses %d alone and %d beside an observing aggregate", alone.rejected, watched.rejected)
	}
	// Both enforce: whoever is let pass was let pass by both, and the aggregate comes first and is not told of the other.
	both := replay(t, fmt.Sprintf(bothPolicies, "enforce", "enforce"), aggregate)
	if first := replay(t, fmt.Sprintf(aggregatePolicy, "enforce")); both.rejected != first.rejected || refusals(both.over) <= both.rejected {
		t.Errorf("together they refuse %d, the aggregate %d of them, alone %d", refusals(both.over), both.rejected, first.rejected)
	}
}

package aratelimit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vonago/vonago/onion"
)

// fields writes header fields one a line, sorted.
func fields(h http.Header) string {
	var lines []string
	for _, k := range slices.Sorted(maps.Keys(h)) {
		lines = append(lines, k+": "+strings.Join(h[k], ", "))
	}
	return strings.Join(lines, "\n")
}

// atMs lies 18.5 s into a window of a minute.
const atMs = 1_796_072_040_000 + 18_500

// Contract A8 to A11 as golden answers.
func TestInterceptorAnswers(t *testing.T) {
	failed := io.EOF
	for _, tc := range []struct {
		name   string
		policy Policy
		n      int64
		err    error
		now    int64
		status int // of the error; 0 for none
		header string
	}{
		{name: "first", policy: policy(nil), n: 1, header: "RateLimit-Limit: 120\nRateLimit-Remaining: 119\nRateLimit-Reset: 42"},
		{name: "last", policy: policy(nil), n: 120, header: "RateLimit-Limit: 120\nRateLimit-Remaining: 0\nRateLimit-Reset: 42"},
		{
			name: "over", policy: policy(nil), n: 121, status: 429,
			header: "Cache-Control: no-store\nRateLimit-Limit: 120\nRateLimit-Remaining: 0\nRateLimit-Reset: 42\nRetry-After: 42",
		},
		{
			name: "far over", policy: policy(nil), n: 1 << 62, status: 429,
			header: "Cache-Control: no-store\nRateLimit-Limit: 120\nRateLimit-Remaining: 0\nRateLimit-Reset: 42\nRetry-After: 42",
		},
		{name: "last millisecond", policy: policy(nil), n: 1, now: 59_999, header: "RateLimit-Limit: 120\nRateLimit-Remaining: 119\nRateLimit-Reset: 1"},
		{name: "first millisecond", policy: policy(nil), n: 1, now: 60_000, header: "RateLimit-Limit: 120\nRateLimit-Remaining: 119\nRateLimit-Reset: 60"},
		{
			name: "largest limit", n: 1, policy: policy(func(p *Policy) { p.Limit = 1<<53 - 1; p.WindowMs = 86_400_000 }),
			header: "RateLimit-Limit: 9007199254740991\nRateLimit-Remaining: 9007199254740990\nRateLimit-Reset: 11142",
		},
		{name: "no headers", policy: policy(func(p *Policy) { p.Headers = onion.Off }), n: 1},
		{
			name: "no headers, over", policy: policy(func(p *Policy) { p.Headers = onion.Off }), n: 121, status: 429,
			header: "Cache-Control: no-store\nRetry-After: 42",
		},
		{name: "failure", policy: policy(nil), err: failed, status: 503, header: "Cache-Control: no-store\nRetry-After: 1"},
		{name: "observe", policy: policy(func(p *Policy) { p.Mode = Observe }), n: 1},
		{name: "observe, over", policy: policy(func(p *Policy) { p.Mode = Observe }), n: 121},
		{name: "observe, failure", policy: policy(func(p *Policy) { p.Mode = Observe }), err: failed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := tc.now
			if now == 0 {
				now = atMs
			}
			b := newBench(t, answers(tc.n, tc.err), clockAt(now), 0)
			c := testCall()
			v, err := b.interceptor(t, tc.policy, pass)(t.Context(), c)
			switch {
			case tc.status == 0 && (err != nil || v != "passed"):
				t.Errorf("answer %v, %v; want the request to pass", v, err)
			case tc.status != 0:
				var e *onion.Error
				if !errors.As(err, &e) || e.Status != tc.status || e.Code != "" || e.Message != "" {
					t.Errorf("error %#v, want the standard %d", err, tc.status)
				}
			}
			if got := fields(c.Response.Header); got != tc.header {
				t.Errorf("header\n%s\nwant\n%s", got, tc.header)
			}
		})
	}
}

// The header fields stay on whatever the action answers (contract A8).
func TestInterceptorHeadersOnErrors(t *testing.T) {
	b := newBench(t, answers(1, nil), clockAt(atMs), 0)
	c := testCall()
	bad := onion.NewError(http.StatusBadRequest, nil)
	_, err := b.interceptor(t, policy(nil), func(context.Context, *onion.Call) (any, error) { return nil, bad })(t.Context(), c)
	if !errors.Is(err, bad) || fields(c.Response.Header) != "RateLimit-Limit: 120\nRateLimit-Remaining: 119\nRateLimit-Reset: 42" {
		t.Fatalf("%v, %v", err, c.Response.Header)
	}
}

// The cause of a 503 tells the class and nothing that Redis said (contract E2).
func TestInterceptorFailureCause(t *testing.T) {
	b := newBench(t, answers(0, errors.New("dial 10.0.0.9: key rate-limit:v1:secret")), clockAt(atMs), 0)
	_, err := b.interceptor(t, policy(nil), pass)(t.Context(), testCall())
	if want := "503 Service Unavailable: the rate limit counter is unavailable: other"; err == nil || err.Error() != want {
		t.Fatalf("%v, want %s", err, want)
	}
}

// What the interceptor asks of the counter: the key of the route, the caller and
// the window, also where one compiled chain serves several instances.
func TestInterceptorKeys(t *testing.T) {
	var keys []string
	var windows []int64
	counter := counterFunc(func(_ context.Context, key string, windowMs int64) (Count, error) {
		keys, windows = append(keys, key), append(windows, windowMs)
		return Count{N: 1}, nil
	})
	clock := clockAt(atMs)
	b := newBench(t, counter, clock, 0)
	run := b.interceptor(t, policy(nil), pass)
	for _, instance := range []string{"acme", "eu.acme", ""} {
		c := testCall()
		c.Instance = instance
		if _, err := run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	clock.set(atMs + 60_000)
	head := testCall()
	head.Method = http.MethodHead // shares the bucket of its route (contract A13)
	if _, err := run(t.Context(), head); err != nil {
		t.Fatal(err)
	}
	const tail = ":demo-student.controller.student%3Aget:get%3A%2Fdemo%2Fstudent%2F%3Aid:QWi1khUQ-j4QO-grWNh5iTLupSUKIu4SC0gBWV2600w:"
	const head0 = "limiter_test_local:rate-limit:v1:"
	want := []string{
		head0 + "acme" + tail + "1796072040000", head0 + "eu.acme" + tail + "1796072040000", head0 + tail + "1796072040000",
		head0 + "acme" + tail + "1796072100000",
	}
	if !reflect.DeepEqual(keys, want) {
		t.Errorf("keys\n%s\nwant\n%s", strings.Join(keys, "\n"), strings.Join(want, "\n"))
	}
	if !reflect.DeepEqual(windows, []int64{60_000, 60_000, 60_000, 60_000}) {
		t.Errorf("windows %v", windows)
	}
}

// A chain belongs to one route; even if it did not, keys would be right.
func TestInterceptorKeysByRoute(t *testing.T) {
	var keys []string
	counter := counterFunc(func(_ context.Context, key string, _ int64) (Count, error) {
		keys = append(keys, key)
		return Count{N: 1}, nil
	})
	b := newBench(t, counter, clockAt(atMs), 0)
	run := b.interceptor(t, policy(nil), pass)
	other := *testRoute
	other.Method, other.Action = http.MethodPut, "put"
	for _, route := range []*onion.RouteInfo{testRoute, &other, testRoute} {
		c := testCall()
		c.Route = route
		if _, err := run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if keys[0] != keys[2] || !strings.Contains(keys[1], ":demo-student.controller.student%3Aput:put%3A") {
		t.Errorf("keys\n%s", strings.Join(keys, "\n"))
	}
}

// Contract E1 and E2: one line for each decision against a request.
func TestInterceptorEvents(t *testing.T) {
	common := func(m map[string]any) map[string]any {
		maps.Copy(m, map[string]any{
			"route": "/demo/student/:id", "policy": "demo-student.controller.student:get", "instanceName": "acme", "limit": 120.0,
		})
		return m
	}
	for _, tc := range []struct {
		name string
		mode Mode
		n    int64
		err  error
		want map[string]any
	}{
		{name: "allowed", mode: Enforce, n: 120},
		{name: "observed", mode: Observe, n: 120},
		{name: "rejected", mode: Enforce, n: 121, want: common(map[string]any{
			"msg": "over the rate limit, refused", "event": "rate_limit.rejected", "mode": "enforce",
		})},
		{name: "would reject", mode: Observe, n: 121, want: common(map[string]any{
			"msg": "over the rate limit, let pass", "event": "rate_limit.would_reject", "mode": "observe",
		})},
		{name: "failed closed", mode: Enforce, err: io.EOF, want: common(map[string]any{
			"msg": "the rate limit counter failed", "event": "rate_limit.redis_error", "mode": "enforce", "errorClass": "refused",
		})},
		{name: "failed open", mode: Observe, err: context.DeadlineExceeded, want: common(map[string]any{
			"msg": "the rate limit counter failed", "event": "rate_limit.redis_error", "mode": "observe", "errorClass": "timeout",
		})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, answers(tc.n, tc.err), clockAt(atMs), 0)
			_, _ = b.interceptor(t, policy(func(p *Policy) { p.Mode = tc.mode }), pass)(t.Context(), testCall())
			var want []map[string]any
			if tc.want != nil {
				want = append(want, tc.want)
			}
			if got := b.log.lines(t); !reflect.DeepEqual(got, want) {
				t.Errorf("logged\n%v\nwant\n%v", got, want)
			}
			for _, secret := range []string{secretAddr, secretUser, "/api/", "rate-limit:v1"} {
				if strings.Contains(b.log.text(), secret) {
					t.Errorf("%q is in the log: %s", secret, b.log.text())
				}
			}
		})
	}
}

// A caller that goes away while Redis fails, or whose own time is over, is told of
// nowhere (contract A11).
func TestCallerLeft(t *testing.T) {
	type row struct {
		mode Mode
		end  error
	}
	for _, tc := range []row{
		{Enforce, context.Canceled}, {Observe, context.Canceled}, {Enforce, context.DeadlineExceeded}, {Observe, context.DeadlineExceeded},
	} {
		t.Run(fmt.Sprint(tc.mode, " ", tc.end), func(t *testing.T) {
			mode := tc.mode
			ctx, leave := context.WithCancel(t.Context())
			if tc.end == context.DeadlineExceeded { //nolint:errorlint // one of the rows above
				ctx, leave = context.WithDeadline(t.Context(), time.Now())
			}
			defer leave()
			counter := counterFunc(func(context.Context, string, int64) (Count, error) {
				if tc.end == context.Canceled { //nolint:errorlint // as above
					leave()
				}
				return Count{}, context.DeadlineExceeded
			})
			b := newBench(t, counter, clockAt(atMs), 0)
			c := testCall()
			_, err := b.interceptor(t, policy(func(p *Policy) { p.Mode = mode }), pass)(ctx, c)
			if mode == Enforce && (!errors.Is(err, tc.end) || onion.AsError(err).Status != 503) {
				t.Errorf("enforce: %v, want a 503 caused by the caller", err)
			}
			if mode == Observe && err != nil {
				t.Errorf("observe: %v", err)
			}
			if reply := b.aggregate(t, AggregatePolicy{Mode: mode, Limit: 1}, pass); true {
				if _, err := reply(ctx, c); err != nil {
					t.Errorf("aggregate: %v", err)
				}
			}
			if text := b.log.text(); text != "" {
				t.Errorf("logged %s", text)
			}
		})
	}
}

// The fields go out over HTTP/1 exactly as the draft spells them (contract A8).
func TestHeaderNamesOnTheWire(t *testing.T) {
	b := newBench(t, answers(1, nil), clockAt(atMs), 0)
	run := b.interceptor(t, policy(nil), pass)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := testCall()
		c.Response.Header = w.Header()
		if _, err := run(r.Context(), c); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"RateLimit-Limit: 120", "RateLimit-Remaining: 119", "RateLimit-Reset: 42"} {
		if n := strings.Count(string(answer), "\r\n"+line+"\r\n"); n != 1 {
			t.Errorf("%q is there %d times in\n%s", line, n, answer)
		}
	}
}

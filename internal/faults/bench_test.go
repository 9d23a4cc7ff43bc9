package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/internal/redistest"
	"github.com/vonago/vonago/internal/testapp"
	"github.com/vonago/vonago/onion"
)

// mode is a control and what it does.
type mode struct {
	aggregate, enforce bool
}

var modes = []mode{{false, true}, {false, false}, {true, true}, {true, false}}

func (m mode) String() string { return m.control() + "/" + m.does() }

func (m mode) control() string {
	if m.aggregate {
		return "aggregate"
	}
	return "identity"
}

func (m mode) does() string {
	if m.enforce {
		return "enforce"
	}
	return "observe"
}

// decision is one request as a stopwatch around the limiter saw it.
type decision struct {
	took   time.Duration
	status int      // 200 if the request got past the limiter
	events []string // what was logged for it
	class  string   // errorClass of the last event
}

func (d decision) open() bool { return d.class == "breaker" }

type decisionKey struct{}

// watch is a module with an onion around the limiter that measures how long a request waits there, and a logger that gives
// events to the request they are about.
type watch struct {
	onion.Basic

	mu    sync.Mutex
	all   []decision
	stray []string // events that belong to no request
}

func newWatch(m mode) *watch {
	w := &watch{}
	build := func(onion.NoOptions, onion.Env) (onion.Wrap, error) { return w.around, nil }
	def := onion.Onion(onion.Interceptor("test-watch:identity", onion.NoDefaults, build, onion.Global(), onion.Before("a-ratelimit:rateLimit")))
	if m.aggregate {
		def = onion.SystemMiddleware("test-watch:aggregate", onion.NoDefaults, build, onion.After("a-logger:httpLog"), onion.Before("a-ratelimit:aggregate"))
	}
	w.Basic = onion.Basic{ModuleName: "test-watch", ModuleOnions: []onion.Onion{def}}
	return w
}

// around takes the time of all that stands behind it. That is the limiter, and an action that does nothing.
func (w *watch) around(next onion.Next) onion.Next {
	return func(ctx context.Context, c *onion.Call) (any, error) {
		d := &decision{status: http.StatusOK}
		c.Set(decisionKey{}, d)
		began := time.Now()
		value, err := next(ctx, c)
		d.took = time.Since(began)
		switch {
		case err != nil:
			d.status = onion.AsError(err).Status
		case c.Response.Written.Status != 0: // in the system chain
			d.status = c.Response.Written.Status
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all = append(w.all, *d)
		return value, err
	}
}

// Enabled, Handle, WithAttrs and WithGroup are slog's. Nothing but warnings is looked at.
func (w *watch) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (w *watch) Handle(ctx context.Context, r slog.Record) error {
	var event, class string
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "event":
			event = a.Value.String()
		case "errorClass":
			class = a.Value.String()
		}
		return true
	})
	if !strings.HasPrefix(event, "rate_limit.") {
		return nil
	}
	if c := onion.CallFrom(ctx); c != nil {
		if d, ok := c.Value(decisionKey{}).(*decision); ok {
			d.events, d.class = append(d.events, event), class
			return nil
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stray = append(w.stray, event)
	return nil
}

func (w *watch) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w *watch) WithGroup(string) slog.Handler      { return w }

// take gives the next n decisions. An answer can be read before the stopwatch has stopped.
func (w *watch) take(t testing.TB, n int) []decision {
	t.Helper()
	var all []decision
	await(t, fmt.Sprintf("%d decisions", n), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.all) < n {
			return false
		}
		all, w.all = w.all, nil
		return true
	})
	if len(all) != n {
		t.Errorf("%d decisions for %d requests", len(all), n)
	}
	return all
}

// settings are what a bench differs in.
type settings struct {
	timeout time.Duration // of the limiter's client
	pool    int           // its connections
	breaker bool
	limit   int
}

// bench is an application under a limiter, its Redis, and the proxy between them.
type bench struct {
	t      testing.TB
	mode   mode
	server *redistest.Server
	proxy  *redistest.Proxy
	app    *testapp.Server
	watch  *watch
	heard  *monitor
	client *http.Client
	set    settings
}

// standing is a clock that does not go on, so that a run counts in one window.
type standing time.Time

func (s standing) Now() time.Time { return time.Time(s) }

func newBench(t testing.TB, m mode, set settings) *bench {
	t.Helper()
	b := &bench{t: t, mode: m, set: set, watch: newWatch(m), server: redistest.Start(t)}
	b.proxy = redistest.NewProxy(t, b.server.Addr())
	b.heard = listen(t, b.server)
	local := fmt.Sprintf(`redis: {clients: {limiter: {timeoutMs: %d, dialTimeoutMs: 500, poolSize: %d}}}
modules: {a-ratelimit: {breaker: {enable: %t}}}
`, set.timeout.Milliseconds(), set.pool, set.breaker)
	if m.aggregate {
		local += fmt.Sprintf("onions: {middlewareSystem: {a-ratelimit:aggregate: {enable: true, rateLimit: {mode: %s, limit: %d}}}}\n", m.does(), set.limit)
	} else {
		local += fmt.Sprintf("onions: {interceptor: {a-ratelimit:rateLimit: {enable: true, rateLimit: {mode: %s, limit: %d, windowMs: 86400000}}}}\n", m.does(), set.limit)
	}
	b.app = testapp.Start(t, testapp.Setup{
		Redis: b.server, Via: b.proxy, Local: local, Modules: []onion.Module{b.watch},
		Options: []app.Option{app.WithLogger(slog.New(b.watch)), app.WithClock(standing(time.Now())), app.WithoutWatch()},
	})
	b.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 30 * time.Second}
	t.Cleanup(b.client.CloseIdleConnections)
	return b
}

// key is the counter's key, once something was counted.
func (b *bench) key() string {
	b.t.Helper()
	if b.mode.aggregate {
		return fmt.Sprintf("limiter_testapp_local:rate-limit:v1:aggregate:%d", b.app.App.Env().Clock.Now().Truncate(time.Second).UnixMilli())
	}
	keys := b.server.Keys("*")
	if len(keys) != 1 {
		b.t.Fatalf("keys %v, want one", keys)
	}
	return keys[0]
}

// request makes one request and compares the answer with the contract (A8, A11, B5 to B7).
func (b *bench) request() int {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, b.app.URL+"/api/test/vona/probe/hello", nil)
	if err != nil {
		b.t.Error(err)
		return 0
	}
	res, err := b.client.Do(req)
	if err != nil {
		b.t.Errorf("a request failed: %v", err)
		return 0
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Errorf("a response broke off: %v", err)
	}
	if err := b.wellFormed(res, string(body)); err != nil {
		b.t.Errorf("%d %s %v: %v", res.StatusCode, body, res.Header, err)
	}
	return res.StatusCode
}

func (b *bench) wellFormed(res *http.Response, body string) error {
	want := map[int]string{
		http.StatusOK:                 `{"code":0,"message":"Success","data":"hello"}`,
		http.StatusTooManyRequests:    `{"code":429,"message":"Too Many Requests"}`,
		http.StatusServiceUnavailable: `{"code":503,"message":"Service Unavailable"}`,
	}
	h, refused := res.Header, res.StatusCode != http.StatusOK
	announces := b.mode.enforce && !b.mode.aggregate && res.StatusCode != http.StatusServiceUnavailable
	switch {
	case want[res.StatusCode] == "":
		return errors.New("a status that is none of the limiter's")
	case body != want[res.StatusCode]:
		return errors.New("another body")
	case refused && !b.mode.enforce:
		return errors.New("refused while observing")
	case announces != (h.Get("RateLimit-Limit") != ""):
		return errors.New("RateLimit fields")
	case refused != (h.Get("Retry-After") != ""), res.StatusCode == http.StatusServiceUnavailable && h.Get("Retry-After") != "1":
		return errors.New("Retry-After")
	case refused != (h.Get("Cache-Control") == "no-store"):
		return errors.New("Cache-Control")
	}
	return nil
}

// load makes requests from several callers at once, each with a pause in between, until the time is over or each has made its
// number, whichever is given.
func (b *bench) load(callers, each int, during, pause time.Duration) []decision {
	var all sync.WaitGroup
	var made atomic.Int64
	until := time.Now().Add(during)
	for range callers {
		all.Go(func() {
			for i := 0; each == 0 || i < each; i++ {
				if during > 0 && time.Now().After(until) {
					return
				}
				b.request()
				made.Add(1)
				time.Sleep(pause)
			}
		})
	}
	all.Wait()
	return b.watch.take(b.t, int(made.Load()))
}

// untilAdmitted repeats requests until one was counted and let pass.
func (b *bench) untilAdmitted() (made []decision, took time.Duration) {
	b.t.Helper()
	took = await(b.t, "a request to be admitted and counted", func() bool {
		d := b.one()
		made = append(made, d)
		return d.status == http.StatusOK && len(d.events) == 0
	})
	return made, took
}

// one makes a request and gives its decision.
func (b *bench) one() decision {
	b.t.Helper()
	b.request()
	return b.watch.take(b.t, 1)[0]
}

// goroutines counts those that are not the tests' own: the connections of the client of HTTP are closed, and those of the
// proxy left out.
func (b *bench) goroutines() int {
	b.client.CloseIdleConnections()
	least := 1 << 30
	for range 40 {
		least = min(least, runtime.NumGoroutine()-2*b.proxy.Open())
		time.Sleep(5 * time.Millisecond)
	}
	return least
}

// connections counts those of the application. The proxy hears of one that was closed a moment later, and is given time to.
func (b *bench) connections(pool int) int {
	for deadline := time.Now().Add(2 * time.Second); b.proxy.Open() > pool && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	return b.proxy.Open()
}

// quantile is the value that the part q of the durations do not exceed.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[min(len(all)-1, int(q*float64(len(all))))]
}

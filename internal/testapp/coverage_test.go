package testapp

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/modules/acore"
	"github.com/vonago/vonago/modules/aratelimit"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// covered has the routes that count differently.
type covered struct{}

func (covered) Controller() onion.Controller {
	ok := func(context.Context, *onion.Empty) (string, error) { return "ok", nil }
	return onion.Controller{Name: "covered", Path: "covered", Uses: []onion.Use{passport.Public()}, Routes: []onion.Route{
		onion.Get("read", "thing", ok),
		onion.Put("write", "thing", ok),
		onion.Post("send", "thing", func(context.Context, *coveredInput) (string, error) { return "ok", nil }),
		onion.Get("exempt", "exempt", ok, acore.RateLimit(aratelimit.Policy{}, onion.Enable(false))),
	}}
}

type coveredInput struct {
	Name string `field:"name" validate:"required"`
}

// takeOver is a mounted handler that takes the connection over.
type takeOver struct{}

func (takeOver) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n")
	_ = rw.Flush()
}

// failing is a record store that is out of order for one instance.
type failing struct{ instance.Store }

func (f failing) Find(ctx context.Context, name string) (*instance.Record, error) {
	if name == "acme" {
		return nil, errors.New("the database is away")
	}
	return f.Store.Find(ctx, name) //nolint:wrapcheck // as it is
}

const bothControls = `
onions:
  middlewareSystem:
    a-ratelimit:aggregate: {enable: true, ignore: /health/live, rateLimit: {mode: enforce, limit: 1000}}
    a-security:cors: {whiteList: ["https://a.test"]}
  interceptor:
    a-ratelimit:rateLimit: {enable: true, rateLimit: {mode: enforce, limit: 1000, windowMs: 86400000}}
`

// TestWhatIsCounted is contract A1, A13, B2 and B3: what each of the two controls
// counts, and into which bucket of the identity control.
func TestWhatIsCounted(t *testing.T) {
	s := Start(t, Setup{
		Local:   bothControls,
		Modules: []onion.Module{onion.Basic{ModuleName: "test-covered", ModuleControllers: []onion.Declaration{onion.Code(covered{})}}},
		Options: []app.Option{app.WithMount("/upgrade", takeOver{}), app.WithStore(failing{instance.NewMemoryStore()})},
	})
	const thing = "/api/test/covered/thing"
	preflight := []string{"Origin: https://a.test", "Access-Control-Request-Method: GET"}
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		aggregate                bool
		bucket                   string // the route slot of the identity key; "" is not counted
	}{
		{name: "GET", path: thing, status: 200, aggregate: true, bucket: "get:/test/covered/thing"},
		{name: "HEAD", method: "HEAD", path: thing, status: 200, aggregate: true, bucket: "get:/test/covered/thing"},
		{name: "another spelling", path: "/api/test/covered/th%69ng", status: 200, aggregate: true, bucket: "get:/test/covered/thing"},
		{name: "a query", path: thing + "?a=1", status: 200, aggregate: true, bucket: "get:/test/covered/thing"},
		{name: "PUT", method: "PUT", path: thing, status: 200, aggregate: true, bucket: "put:/test/covered/thing"},
		{name: "POST for PUT", method: "POST", path: thing, header: []string{"X-HTTP-Method-Override: put"}, status: 200, aggregate: true, bucket: "put:/test/covered/thing"},
		{name: "malformed body", method: "POST", path: thing, header: []string{isJSON}, body: `{`, status: 400, aggregate: true, bucket: "post:/test/covered/thing"},
		{name: "invalid input", method: "POST", path: thing, header: []string{isJSON}, body: `{}`, status: 422, aggregate: true, bucket: "post:/test/covered/thing"},
		{name: "exempt route", path: "/api/test/covered/exempt", status: 200, aggregate: true},
		{name: "refused by a guard", path: "/api/test/vona/probe/private", status: 401, aggregate: true},
		{name: "unknown route", path: "/api/nope", status: 404, aggregate: true},
		{name: "another method", method: "DELETE", path: thing, status: 405, aggregate: true},
		{name: "OPTIONS", method: "OPTIONS", path: thing, status: 204, aggregate: true},
		{name: "preflight", method: "OPTIONS", path: thing, header: preflight, status: 204, aggregate: true},
		{name: "static file", path: "/static/file.txt", status: 200, aggregate: true},
		{name: "health", path: "/health/startup", status: 200, aggregate: true},
		{name: "ignored path", path: "/health/live", status: 200},
		{name: "unknown instance", path: thing, header: []string{"x-vona-instance-name: nope"}, status: 423, aggregate: true},
		{name: "disabled instance", path: thing, header: []string{"x-vona-instance-name: closed"}, status: 423, aggregate: true},
		{name: "no instance", path: thing, header: []string{"x-vona-instance-name: null"}, status: 401, aggregate: true},
		{name: "upgrade", path: "/upgrade", header: []string{"Connection: Upgrade", "Upgrade: test"}, status: 101, aggregate: true},
		{name: "failing store", path: thing, header: []string{"x-vona-instance-name: acme"}, status: 503},
	} {
		t.Run(c.name, func(t *testing.T) {
			var keys []string
			withinASecond(t, func() {
				s.Redis.FlushAll()
				res, body := s.Do(t, c.method, c.path, c.body, c.header...)
				if res.StatusCode != c.status {
					t.Fatalf("status %d, want %d: %s", res.StatusCode, c.status, body)
				}
				keys = s.Redis.Keys("*")
			})
			aggregate, bucket := false, ""
			for _, key := range keys {
				if n := s.Redis.Client().Get(t.Context(), key).Val(); n != "1" && n != "" { // an aggregate key may be gone by now
					t.Errorf("%s is %s, want 1", key, n)
				}
				_, slots, _ := strings.Cut(key, "rate-limit:v1:")
				if strings.HasPrefix(slots, "aggregate:") {
					aggregate = true
				} else if parts := strings.Split(slots, ":"); len(parts) == 5 {
					bucket = strings.NewReplacer("%3A", ":", "%2F", "/").Replace(parts[2])
				} else {
					t.Errorf("key %s", key)
				}
			}
			if aggregate != c.aggregate || bucket != c.bucket {
				t.Errorf("the aggregate counted it: %v, want %v; bucket %q, want %q", aggregate, c.aggregate, bucket, c.bucket)
			}
		})
	}
}

// withinASecond runs a round again that took so long that a key of the aggregate
// may have expired in it.
func withinASecond(t *testing.T, round func()) {
	t.Helper()
	const safe = 500 * time.Millisecond
	for {
		start := time.Now()
		round()
		if time.Since(start) < safe {
			return
		}
	}
}

// TestAnswersOfTheAggregate is contract B6, B7 and C3: the same JSON for whatever
// is asked for, and no field but its own.
func TestAnswersOfTheAggregate(t *testing.T) {
	s := Start(t, Setup{Local: strings.Replace(bothControls, "limit: 1000", "limit: 1", 1)})
	for _, tc := range []struct{ name, path, accept string }{
		{"JSON", "/api/test/vona/probe/hello", asJSON}, {"HTML", "/api/test/vona/probe/hello", asHTML},
		{"static file", "/static/file.txt", asHTML}, {"health", "/health/ready", asHTML},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for tries := 1; ; tries++ { // the first of a second is admitted
				if tries > 100 {
					t.Fatal("it is admitted beyond the limit")
				}
				res, body := s.Do(t, http.MethodGet, tc.path, "", tc.accept, "Origin: https://a.test")
				if res.StatusCode == http.StatusOK {
					continue
				}
				if res.StatusCode != http.StatusTooManyRequests || body != `{"code":429,"message":"Too Many Requests"}` {
					t.Errorf("got %d %s", res.StatusCode, body)
				}
				for name, want := range map[string]string{
					"Content-Type": "application/json", "Retry-After": "1", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
					"RateLimit-Limit": "", "Access-Control-Allow-Origin": "", "X-Frame-Options": "",
				} {
					if got := res.Header.Get(name); got != want {
						t.Errorf("%s: %q, want %q", name, got, want)
					}
				}
				return
			}
		})
	}
}

// TestHealthUnderTheAggregate is contract B3: who enforces the aggregate over the probes is warned.
func TestHealthUnderTheAggregate(t *testing.T) {
	for _, tc := range []struct {
		name, options string
		warned        bool
	}{
		{"enforce", "rateLimit: {mode: enforce, limit: 10}", true},
		{"observe", "rateLimit: {mode: observe, limit: 10}", false},
		{"probes exempt", `rateLimit: {mode: enforce, limit: 10}, ignore: 'regexp:///^\/health\//'`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, _ := Build(t, Setup{Local: "onions: {middlewareSystem: {a-ratelimit:aggregate: {enable: true, " + tc.options + "}}}\n"})
			warned := strings.Contains(strings.Join(a.Warnings(), "\n"), "a-ratelimit:aggregate enforces its quota on /health/* too")
			if warned != tc.warned {
				t.Errorf("warned is %v, want %v: %q", warned, tc.warned, a.Warnings())
			}
		})
	}
}

// TestPagesCanReadTheLimit is contract C3: the identity control's 429 is raised
// inside a-security:cors, so that a page of a listed origin can read it.
func TestPagesCanReadTheLimit(t *testing.T) {
	s := Start(t, Setup{Local: bothControls})
	sameDay(t, func() {
		s.Redis.FlushAll()
		var res *http.Response
		for range 4 {
			res, _ = s.Do(t, http.MethodGet, "/api/test/vona/probe/limited", "", "Origin: https://a.test")
		}
		if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Access-Control-Allow-Origin") != "https://a.test" ||
			!strings.Contains(res.Header.Get("Access-Control-Expose-Headers"), "RateLimit-Reset") || res.Header.Get("Retry-After") == "" {
			t.Errorf("got %d %v", res.StatusCode, res.Header)
		}
	})
}

package bench

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/httprate"
	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/ulule/limiter/v3"
	ulule "github.com/ulule/limiter/v3/drivers/middleware/gin"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/vonago/vonago/modules/aratelimit"
	"github.com/vonago/vonago/onion"
)

// The window and the limit, which no run reaches: every decision is an admission.
const (
	windowMs   = 60_000
	hugeLimit  = 1 << 40
	limitField = "1099511627776"
)

// counterScript is the one command of contract A7, as the peers that take a script
// send it too.
const counterScript = `local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
local ttl = redis.call('PTTL', KEYS[1])
if ttl < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) ttl = tonumber(ARGV[1]) end
return {n, ttl}`

// decider counts one attempt of a key.
type decider func(ctx context.Context, key string) error

// counters gives the limiter's own counters of an application.
func counters(tb testing.TB, redis string) aratelimit.Counters {
	tb.Helper()
	m := &counterModule{Basic: onion.Basic{ModuleName: "bench-counters"}}
	vonagoApp(tb, "", redis, m)
	return m.counters
}

// counterModule takes the counters from a-ratelimit.
type counterModule struct {
	onion.Basic

	counters aratelimit.Counters
}

// Provide is called after that of a-ratelimit.
func (m *counterModule) Provide(env onion.Env) (err error) {
	m.counters, err = onion.Service[aratelimit.Counters](env)
	return err
}

func ownDecider(c aratelimit.Counter) decider {
	return func(ctx context.Context, key string) error {
		_, err := c.Incr(ctx, key, windowMs)
		return err
	}
}

// goRedis is a client of go-redis as it comes.
func goRedis(tb testing.TB, addr string) *redis.Client {
	tb.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr})
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// plainDecider sends an EVALSHA for each decision.
func plainDecider(tb testing.TB, addr string) decider {
	tb.Helper()
	client := goRedis(tb, addr)
	hash := client.ScriptLoad(context.Background(), counterScript).Val()
	return func(ctx context.Context, key string) error {
		return client.EvalSha(ctx, hash, []string{key}, windowMs).Err()
	}
}

// autoDecider lets go-redis batch, in its form for callers that wait.
func autoDecider(tb testing.TB, addr string) decider {
	tb.Helper()
	client := goRedis(tb, addr)
	hash := client.ScriptLoad(context.Background(), counterScript).Val()
	pipe, err := client.AutoPipeline()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = pipe.Close() })
	return func(ctx context.Context, key string) error {
		return pipe.EvalSha(ctx, hash, []string{key}, windowMs).Err()
	}
}

// rueidisDecider uses rueidis, which pipelines by itself.
func rueidisDecider(tb testing.TB, addr string) decider {
	tb.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	script := rueidis.NewLuaScript(counterScript)
	window := strconv.Itoa(windowMs)
	return func(ctx context.Context, key string) error {
		return script.Exec(ctx, client, []string{key}, []string{window}).Error()
	}
}

// redisRateDecider is go-redis/redis_rate (GCRA).
func redisRateDecider(tb testing.TB, addr string) decider {
	tb.Helper()
	l := redis_rate.NewLimiter(goRedis(tb, addr))
	limit := redis_rate.PerMinute(1 << 30)
	return func(ctx context.Context, key string) error {
		result, err := l.Allow(ctx, key, limit)
		if err == nil && result.Allowed == 0 {
			return fmt.Errorf("redis_rate refused %s", key)
		}
		return err
	}
}

func uluLimiter(tb testing.TB, addr string) *limiter.Limiter {
	tb.Helper()
	store, err := ululeredis.NewStore(goRedis(tb, addr))
	if err != nil {
		tb.Fatal(err)
	}
	return limiter.New(store, limiter.Rate{Period: windowMs * time.Millisecond, Limit: hugeLimit})
}

// ululeDecider is ulule/limiter with its Redis store.
func ululeDecider(tb testing.TB, addr string) decider {
	tb.Helper()
	l := uluLimiter(tb, addr)
	return func(ctx context.Context, key string) error {
		_, err := l.Get(ctx, key)
		return err
	}
}

// limitedVonago is the job behind the identity limiter.
func limitedVonago(tb testing.TB, addr string) http.Handler {
	tb.Helper()
	return vonagoApp(tb, `
onions: {interceptor: {"a-ratelimit:rateLimit": {enable: true, rateLimit: {mode: enforce, limit: `+limitField+`, windowMs: 60000}}}}
`, addr).Handler()
}

// fullyLimitedVonago has the aggregate control on top.
func fullyLimitedVonago(tb testing.TB, addr string) http.Handler {
	tb.Helper()
	return vonagoApp(tb, `
onions:
  interceptor: {"a-ratelimit:rateLimit": {enable: true, rateLimit: {mode: enforce, limit: `+limitField+`, windowMs: 60000}}}
  middlewareSystem: {"a-ratelimit:aggregate": {enable: true, rateLimit: {mode: enforce, limit: `+limitField+`}}}
`, addr).Handler()
}

// limitedYardstick is the yardstick with an EVALSHA in front.
func limitedYardstick(tb testing.TB, addr string) http.Handler {
	tb.Helper()
	client := goRedis(tb, addr)
	hash := client.ScriptLoad(context.Background(), counterScript).Val()
	next := yardstick()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := "rate-limit:" + r.RemoteAddr[:len("127.0.0.1")]
		reply, err := client.EvalSha(r.Context(), hash, []string{key}, windowMs).Int64Slice()
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		h := w.Header()
		h.Set("RateLimit-Limit", limitField)
		h.Set("RateLimit-Remaining", strconv.FormatInt(max(0, hugeLimit-reply[0]), 10))
		h.Set("RateLimit-Reset", strconv.FormatInt((reply[1]+999)/1000, 10))
		if reply[0] > hugeLimit {
			http.Error(w, "Too Many Requests", http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// limitedGin is gin with ulule/limiter's middleware and Redis store.
func limitedGin(tb testing.TB, addr string) http.Handler {
	tb.Helper()
	byIP := ulule.WithKeyGetter(func(c *gin.Context) string { return c.ClientIP() })
	return ginJob(ulule.NewMiddleware(uluLimiter(tb, addr), byIP))
}

// limitedChi is chi with httprate; a nil counter is httprate's own, in memory.
func limitedChi(counter httprate.LimitCounter) http.Handler {
	var options []httprate.Option
	if counter != nil {
		options = append(options, httprate.WithLimitCounter(counter))
	}
	r := chi.NewRouter()
	r.Use(httprate.LimitBy(1<<31-1, windowMs*time.Millisecond, byPeer, options...))
	r.Mount("/", chiJob())
	return r
}

// byPeer keys by the address of the connection, as all of these limiters do here.
func byPeer(r *http.Request) (string, error) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return host, err
}

// rateCounter is a counter of httprate's on Redis, written here because the
// module with its authors' own cannot be had everywhere: a transaction of two
// commands to add, one command to look.
type rateCounter struct {
	client *redis.Client
	window time.Duration
}

// Config is told the window.
func (c *rateCounter) Config(_ int, window time.Duration) { c.window = window }

// Increment adds one.
func (c *rateCounter) Increment(key string, current time.Time) error {
	return c.IncrementBy(key, current, 1)
}

// IncrementBy adds to a window.
func (c *rateCounter) IncrementBy(key string, current time.Time, amount int) error {
	ctx := context.Background()
	name := rateKey(key, current)
	pipe := c.client.TxPipeline()
	pipe.IncrBy(ctx, name, int64(amount))
	pipe.Expire(ctx, name, 3*c.window)
	_, err := pipe.Exec(ctx)
	return err
}

// Get gives this window's count and the one before.
func (c *rateCounter) Get(key string, current, previous time.Time) (now, before int, err error) {
	values, err := c.client.MGet(context.Background(), rateKey(key, current), rateKey(key, previous)).Result()
	if err != nil {
		return 0, 0, err
	}
	return count(values[0]), count(values[1]), nil
}

func count(value any) int {
	text, _ := value.(string)
	n, _ := strconv.Atoi(text)
	return n
}

func rateKey(key string, window time.Time) string {
	return "httprate:" + key + ":" + strconv.FormatInt(window.Unix(), 10)
}

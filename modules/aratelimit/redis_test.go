//go:build unix

package aratelimit

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vonago/vonago/internal/redistest"
	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
)

// longMs is a timeout that no working Redis reaches, however busy the machine is.
const longMs = 10_000

// redisConfig points every client at an address.
func redisConfig(t testing.TB, addr string, timeoutMs int) aredis.Config {
	t.Helper()
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return aredis.Config{
		Base:    aredis.Connection{Host: &host, Port: &port},
		Clients: map[string]aredis.ClientConfig{aredis.Limiter: {Connection: aredis.Connection{TimeoutMs: &timeoutMs}}},
	}
}

// newCounter makes the counter as the module makes it.
func newCounter(t testing.TB, cfg aredis.Config) *redisCounter {
	t.Helper()
	clients, err := aredis.NewClients(onion.NewEnv("test", onion.ModeTest, "normal", nil, nil), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = clients.Stop(context.Background()) })
	client, err := clients.Client(aredis.Limiter)
	if err != nil {
		t.Fatal(err)
	}
	return newRedisCounter(client.Redis, client.Timeout, DefaultConfig().Breaker, slog.New(slog.DiscardHandler))
}

func incr(t *testing.T, c Counter, key string) Count {
	t.Helper()
	n, err := c.Incr(t.Context(), key, 60_000)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Contract A7 on a real server.
func TestCounter(t *testing.T) {
	s := redistest.Start(t)
	c := newCounter(t, redisConfig(t, s.Addr(), longMs))
	if err := c.register(t.Context()); err != nil {
		t.Fatal(err)
	}

	t.Run("counts and expires", func(t *testing.T) {
		first, second := incr(t, c, "k"), incr(t, c, "k")
		if first.N != 1 || second.N != 2 {
			t.Errorf("counts %d and %d", first.N, second.N)
		}
		if first.TTL > 60_000 || first.TTL < 50_000 || second.TTL > first.TTL || second.TTL < 1 {
			t.Errorf("TTLs %d and %d", first.TTL, second.TTL)
		}
		if other := incr(t, c, "k2"); other.N != 1 {
			t.Errorf("another key counts %d", other.N)
		}
	})
	t.Run("one command for each attempt", func(t *testing.T) {
		s.ResetCalls()
		for range 10 {
			incr(t, c, "once")
		}
		if n, evals := s.Calls("evalsha"), s.Calls("eval"); n != 10 || evals != 0 {
			t.Errorf("%d EVALSHA and %d EVAL for 10 attempts", n, evals)
		}
	})
	t.Run("a later attempt does not prolong", func(t *testing.T) {
		incr(t, c, "p")
		s.Do("PEXPIRE", "p", 5000)
		if n := incr(t, c, "p"); n.N != 2 || n.TTL > 5000 {
			t.Errorf("%+v", n)
		}
	})
	t.Run("a key without expiry gets one", func(t *testing.T) {
		s.Do("SET", "forever", 41)
		if n := incr(t, c, "forever"); n.N != 42 || n.TTL != 60_000 {
			t.Errorf("%+v", n)
		}
		if ttl := s.Do("PTTL", "forever").(int64); ttl < 1 || ttl > 60_000 {
			t.Errorf("TTL %d", ttl)
		}
	})
	t.Run("a lost script", func(t *testing.T) {
		incr(t, c, "lost")
		s.FlushScripts()
		s.ResetCalls()
		for want := int64(2); want < 5; want++ {
			if n := incr(t, c, "lost"); n.N != want {
				t.Errorf("count %d, want %d", n.N, want)
			}
		}
		if n := s.Calls("eval"); n != 1 {
			t.Errorf("the script was loaded again %d times", n)
		}
	})
}

// A script that could not be registered at start is loaded on first use.
func TestCounterWithoutRegistration(t *testing.T) {
	s := redistest.Start(t)
	c := newCounter(t, redisConfig(t, s.Addr(), longMs))
	s.Kill()
	if err := c.register(t.Context()); classOf(err) != classRefused {
		t.Fatalf("registering: %v", err)
	}
	s.Restart()
	if n := incr(t, c, "k"); n.N != 1 {
		t.Fatalf("%+v", n)
	}
}

// An attempt whose reply is lost is counted once and made once (contract A7).
func TestCounterLostReply(t *testing.T) {
	s := redistest.Start(t)
	p := redistest.NewProxy(t, s.Addr())
	c := newCounter(t, redisConfig(t, p.Addr(), longMs))
	incr(t, c, "k")
	p.Set(redistest.LoseReply().On("evalsha").Times(1))
	if _, err := c.Incr(t.Context(), "k", 60_000); classOf(err) != classRefused {
		t.Fatalf("a lost reply: %v", err)
	}
	if n := incr(t, c, "k"); n.N != 3 {
		t.Fatalf("three attempts count %d", n.N)
	}
}

// The caller's end takes nothing back: the attempt of one that has left, or
// leaves while it waits, stands (contract A11).
func TestCounterCallerLeft(t *testing.T) {
	s := redistest.Start(t)
	p := redistest.NewProxy(t, s.Addr())
	c := newCounter(t, redisConfig(t, p.Addr(), longMs))
	incr(t, c, "k")

	ctx, leave := context.WithCancel(t.Context())
	leave()
	if n, err := c.Incr(ctx, "k", 60_000); err != nil || n.N != 2 {
		t.Fatalf("%+v, %v", n, err)
	}

	p.Set(redistest.Hang())
	waiting := newCounter(t, redisConfig(t, p.Addr(), longMs))
	before := p.Accepted()
	ctx, leave = context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := waiting.Incr(ctx, "k", 60_000)
		done <- err
	}()
	accepted(t, p, before)
	leave()
	p.Set(redistest.Forward())
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := incr(t, c, "k"); n.N != 4 {
		t.Fatalf("four attempts count %d", n.N)
	}
}

// accepted waits until the proxy has more connections than before.
func accepted(t *testing.T, p *redistest.Proxy, before int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); p.Accepted() == before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no connection")
		}
	}
}

// Waiting is bounded by the client's timeout, all together.
func TestCounterTimeout(t *testing.T) {
	s := redistest.Start(t)
	c := newCounter(t, redisConfig(t, s.Addr(), 60))
	for deadline := time.Now().Add(10 * time.Second); ; { // connecting may take longer than that on a busy machine
		if _, err := c.Incr(t.Context(), "k", 60_000); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	s.Pause()
	defer s.Resume()
	began := time.Now()
	_, err := c.Incr(t.Context(), "k", 60_000)
	if waited := time.Since(began); classOf(err) != classTimeout || waited < 40*time.Millisecond || waited > 5*time.Second {
		t.Fatalf("%v after %v", err, waited)
	}
}

// Every error of contract E2 that Redis, the network and go-redis can bring about.
func TestClassOfRealErrors(t *testing.T) {
	type setting struct {
		server *redistest.Server
		proxy  *redistest.Proxy
		cfg    aredis.Config
	}
	garbage := func(reply string) func(*testing.T, *setting) {
		return func(t *testing.T, s *setting) {
			s.server.Do("SCRIPT", "LOAD", singleText)
			s.proxy.Set(redistest.Garbage(reply).On("evalsha"))
		}
	}
	do := func(args ...any) func(*testing.T, *setting) {
		return func(_ *testing.T, s *setting) { s.server.Do(args...) }
	}
	timeoutMs := func(ms int) func(*testing.T, *setting) {
		return func(t *testing.T, s *setting) { s.cfg = redisConfig(t, s.proxy.Addr(), ms) }
	}
	for _, tc := range []struct {
		name string
		opts []redistest.Option
		do   func(*testing.T, *setting)
		want class
	}{
		{"nothing listens", nil, func(_ *testing.T, s *setting) { s.proxy.Set(redistest.Refuse()) }, classRefused},
		{"cut off", nil, func(_ *testing.T, s *setting) { s.proxy.Set(redistest.LoseReply()) }, classRefused},
		{"too many clients", nil, do("CONFIG", "SET", "maxclients", 1), classRefused},
		{"hangs", nil, func(t *testing.T, s *setting) { timeoutMs(30)(t, s); s.proxy.Set(redistest.Hang()) }, classTimeout},
		{"packets dropped", nil, func(t *testing.T, s *setting) { timeoutMs(30)(t, s); s.proxy.Set(redistest.Blackhole(0)) }, classTimeout},
		{"too slow", nil, func(t *testing.T, s *setting) { timeoutMs(30)(t, s); s.proxy.Set(redistest.Delay(time.Second)) }, classTimeout},
		{"replica", []redistest.Option{redistest.Args("--replicaof", "127.0.0.1 1")}, nil, classReadonly},
		{"memory full", []redistest.Option{redistest.Args("--maxmemory", "1", "--maxmemory-policy", "noeviction")}, nil, classOOM},
		{"no password", []redistest.Option{redistest.Password("secret")}, nil, classAuth},
		{"wrong password", []redistest.Option{redistest.Password("secret")}, func(_ *testing.T, s *setting) {
			wrong := aredis.Password("wrong")
			s.cfg.Base.Password = &wrong
		}, classAuth},
		{"a password that is not wanted", nil, func(_ *testing.T, s *setting) {
			user, wrong := "nobody", aredis.Password("wrong")
			s.cfg.Base.Username, s.cfg.Base.Password = &user, &wrong
		}, classAuth},
		{"script not allowed", nil, do("ACL", "SETUSER", "default", "-evalsha"), classAuth},
		{"command not allowed in the script", nil, do("ACL", "SETUSER", "default", "-incr"), classAuth},
		{"key not allowed", nil, do("ACL", "SETUSER", "default", "resetkeys", "~other:*"), classAuth},
		{"a cluster without slots", []redistest.Option{redistest.Args("--cluster-enabled", "yes")}, nil, classCluster},
		{"another type at the key", nil, do("RPUSH", "k", "x"), classOther},
		{"a text at the key", nil, do("SET", "k", "x"), classOther},
		{"count at its end", nil, do("SET", "k", "9223372036854775807"), classOther},
		{"reply is no list", nil, garbage(":1\r\n"), classProtocol},
		{"reply is nil", nil, garbage("$-1\r\n"), classProtocol},
		{"reply is too short", nil, garbage("*1\r\n:1\r\n"), classProtocol},
		{"reply is too long", nil, garbage("*3\r\n:1\r\n:1\r\n:1\r\n"), classProtocol},
		{"count is a text", nil, garbage("*2\r\n$1\r\n1\r\n:1\r\n"), classProtocol},
		{"TTL is a text", nil, garbage("*2\r\n:1\r\n$1\r\n1\r\n"), classProtocol},
		{"count is 0", nil, garbage("*2\r\n:0\r\n:1\r\n"), classProtocol},
		{"no TTL", nil, garbage("*2\r\n:1\r\n:-1\r\n"), classProtocol},
		{"not Redis at all", nil, garbage("HTTP/1.1 400 Bad Request\r\n\r\n"), classProtocol},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &setting{server: redistest.Start(t, tc.opts...)}
			s.proxy = redistest.NewProxy(t, s.server.Addr())
			s.cfg = redisConfig(t, s.proxy.Addr(), longMs)
			if tc.do != nil {
				tc.do(t, s)
			}
			_, err := newCounter(t, s.cfg).Incr(t.Context(), "k", 60_000)
			if got := classOf(err); err == nil || got != tc.want {
				t.Errorf("%v is of class %q, want %q", err, got, tc.want)
			}
		})
	}
}

// A pool without a free connection is a timeout too.
func TestClassOfPoolExhaustion(t *testing.T) {
	s := redistest.Start(t)
	cfg := redisConfig(t, s.Addr(), 60)
	one := 1
	cfg.Base.PoolSize = &one
	c := newCounter(t, cfg)
	s.Pause()
	defer s.Resume()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := c.Incr(t.Context(), "k", 60_000); classOf(err) != classTimeout {
				t.Errorf("%v is of class %q", err, classOf(err))
			}
		})
	}
	wg.Wait()
}

// Shutdown is told from failure (contract E2).
func TestClassOfShutdown(t *testing.T) {
	s := redistest.Start(t)
	p := redistest.NewProxy(t, s.Addr())
	c := newCounter(t, redisConfig(t, p.Addr(), 200))
	p.Set(redistest.Hang())
	failed := make(chan error)
	go func() {
		_, err := c.Incr(t.Context(), "k", 60_000)
		failed <- err
	}()
	accepted(t, p, 0)
	c.stop()
	if err := <-failed; classOf(err) != classCanceled {
		t.Errorf("under way: %v", err)
	}
	p.Set(redistest.Forward())
	if _, err := c.Incr(t.Context(), "k", 60_000); classOf(err) != classCanceled {
		t.Errorf("afterwards: %v", err)
	}
	if got := classOf(redis.ErrClosed); got != classCanceled {
		t.Errorf("a closed client is of class %q", got)
	}
}

// Errors that take more than one server to bring about, in go-redis' own words.
func TestClassOfOtherErrors(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want class
	}{
		{redis.ErrNoScript, classNoScript},
		{redis.ErrCrossSlot, classCluster},
		{redis.Nil, classProtocol},
		{redis.ErrPoolTimeout, classTimeout},
		{context.DeadlineExceeded, classTimeout},
		{&net.DNSError{IsTimeout: true}, classTimeout},
		{&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, classRefused},
		{&failure{class: classBreaker, text: "open"}, classBreaker},
		{errors.New("something else"), classOther},
		{errors.New("redis: cluster has no nodes"), classCluster},
		{errors.New("redis: all sentinels specified in configuration are unreachable"), classRefused},
	} {
		if got := classOf(errors.Join(errors.New("counting"), tc.err)); got != tc.want && !isDriverText(tc.err) {
			t.Errorf("wrapped %v is of class %q, want %q", tc.err, got, tc.want)
		}
		if got := classOf(tc.err); got != tc.want {
			t.Errorf("%v is of class %q, want %q", tc.err, got, tc.want)
		}
	}
}

// isDriverText tells errors that are known by their text alone.
func isDriverText(err error) bool { return driverClass(err.Error()) != classOther }

// The embedded server of development knows the script as well.
func TestCounterOnEmbeddedServer(t *testing.T) {
	clients, err := aredis.NewClients(onion.NewEnv("test", onion.ModeDev, "normal", slog.New(slog.DiscardHandler), nil), aredis.Config{Embedded: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := clients.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = clients.Stop(context.Background()) })
	client, err := clients.Client(aredis.Limiter)
	if err != nil {
		t.Fatal(err)
	}
	c := newRedisCounter(client.Redis, longMs*time.Millisecond, DefaultConfig().Breaker, slog.New(slog.DiscardHandler))
	for want := int64(1); want < 4; want++ { // the first loads the script
		if n := incr(t, c, "k"); n.N != want || n.TTL < 1 || n.TTL > 60_000 {
			t.Errorf("attempt %d: %+v", want, n)
		}
	}
}

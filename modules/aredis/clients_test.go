//go:build unix

package aredis

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vonago/vonago/internal/redistest"
	"github.com/vonago/vonago/onion"
)

// patient is for tests in which the limiter's short timeout would only measure how busy the machine is.
var patient = ClientConfig{Connection: Connection{TimeoutMs: new(5000)}}

func TestClient(t *testing.T) {
	server := redistest.Start(t)
	clients := start(t, Config{Base: at(t, server.Addr()), Clients: map[string]ClientConfig{"sessions": {KeyPrefix: "s:"}, Limiter: patient}}, "sessions")
	for name, key := range map[string]string{Limiter: "limiter_shop_local:k", Cache: "cache_shop_local:k", "sessions": "s:k"} {
		c := get(t, clients, name)
		if again := get(t, clients, name); again != c {
			t.Errorf("%s: another client the second time", name)
		}
		if c.Name != name {
			t.Errorf("Name = %q, want %q", c.Name, name)
		}
		if err := c.Redis.Set(t.Context(), c.Key("k"), "v", 0).Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := server.Do("GET", key); got != "v" {
			t.Errorf("%s: GET %s = %v, want v", name, key, got)
		}
	}
	if got := get(t, clients, Limiter).Timeout; got != 5*time.Second {
		t.Errorf("the limiter's Timeout = %v, want the 5s that were said", got)
	}

	_, err := clients.Client("limitr")
	for _, want := range []string{`"limitr"`, "broadcast, cache, default, limiter, sessions", `aredis.Module("limitr")`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error of an unknown client lacks %q: %v", want, err)
		}
	}
}

func TestStop(t *testing.T) {
	server := redistest.Start(t)
	clients, err := NewClients(testEnv(onion.ModeProd), Config{Base: at(t, server.Addr())})
	if err != nil {
		t.Fatal(err)
	}
	c := get(t, clients, Cache)
	if err := c.Redis.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := clients.Stop(t.Context()); err != nil {
			t.Errorf("Stop = %v", err)
		}
	}
	if err := c.Redis.Ping(t.Context()).Err(); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("PING after Stop = %v, want ErrClosed", err)
	}
	for _, name := range []string{Cache, Limiter} {
		if _, err := clients.Client(name); !errors.Is(err, redis.ErrClosed) {
			t.Errorf("Client(%s) after Stop = %v, want ErrClosed", name, err)
		}
	}
	if err := clients.Ready(t.Context()); err != nil {
		t.Errorf("Ready after Stop = %v, want nil: no client is in use", err)
	}
}

func TestPasswords(t *testing.T) {
	const right, wrong = "right-password", "wrong-password"
	server := redistest.Start(t, redistest.Password(right))
	server.Do("ACL", "SETUSER", "shop", "on", ">"+right, "~*", "+@all")
	with := func(user, password string) Connection {
		c := at(t, server.Addr())
		if user != "" {
			c.Username = &user
		}
		if password != "" {
			c.Password = new(Password(password))
		}
		return c
	}
	tests := []struct {
		name string
		conn Connection
		code string // of the refusal
	}{
		{"password", with("", right), ""},
		{"user and password", with("shop", right), ""},
		{"no password", with("", ""), "NOAUTH"},
		{"wrong password", with("", wrong), "WRONGPASS"},
		{"wrong user", with("nobody", right), "WRONGPASS"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			clients := start(t, Config{Base: tt.conn})
			err := get(t, clients, Cache).Redis.Ping(t.Context()).Err()
			if tt.code == "" {
				if err != nil {
					t.Errorf("PING = %v", err)
				}
				return
			}
			if !redis.HasErrorPrefix(err, tt.code) {
				t.Errorf("PING = %v, want %s", err, tt.code)
			}
			ready := clients.Ready(t.Context())
			if ready == nil || ready.Error() != `redis client "cache" was answered `+tt.code {
				t.Errorf("Ready = %v", ready)
			}
			for _, err := range []error{err, ready} {
				if strings.Contains(err.Error(), right) || strings.Contains(err.Error(), wrong) {
					t.Errorf("the error tells the password: %v", err)
				}
			}
		})
	}
}

func TestDatabase(t *testing.T) {
	server := redistest.Start(t)
	base := at(t, server.Addr())
	clients := start(t, Config{Base: base, Clients: map[string]ClientConfig{
		Cache:   {Connection: Connection{DB: new(3)}},
		Default: {Connection: Connection{DB: new(99)}},
	}})
	if err := get(t, clients, Cache).Redis.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if info := server.Do("INFO", "keyspace"); !strings.Contains(info.(string), "db3:keys=1") || strings.Contains(info.(string), "db0") {
		t.Errorf("the key is not in database 3: %v", info)
	}
	err := get(t, clients, Default).Redis.Get(t.Context(), "k").Err()
	if err == nil || !strings.Contains(err.Error(), "DB index is out of range") {
		t.Errorf("GET from database 99 = %v, want that there is none", err)
	}
	if err := clients.Ready(t.Context()); err == nil || err.Error() != `redis client "default" was answered ERR` {
		t.Errorf("Ready = %v", err)
	}
}

func TestReady(t *testing.T) {
	up, down := redistest.Start(t), redistest.Start(t)
	fast := Connection{TimeoutMs: new(50)}
	clients := start(t, Config{Base: at(t, up.Addr()), Clients: map[string]ClientConfig{
		Limiter:   {Connection: merge(at(t, down.Addr()), fast)},
		Broadcast: {Connection: merge(at(t, down.Addr()), fast)},
	}})
	down.Kill()
	get(t, clients, Cache)
	if err := clients.Ready(t.Context()); err != nil {
		t.Errorf("Ready = %v, want nil: only the cache client is in use", err)
	}
	get(t, clients, Limiter)
	get(t, clients, Broadcast)
	wantReady(t, clients, "redis client \"broadcast\" was refused the connection\nredis client \"limiter\" was refused the connection")

	down.Restart()
	await(t, "ready after the return", func() bool { return clients.Ready(t.Context()) == nil })

	down.Pause()
	wantReady(t, clients, "redis client \"broadcast\" did not answer in time\nredis client \"limiter\" did not answer in time")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := clients.Ready(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), `"limiter"`) {
		t.Errorf("Ready of a context that is done = %v", err)
	}
	down.Resume()
}

// The answer of a server that hangs is not awaited beyond the caller's context.
func TestReadyLeavesWithItsContext(t *testing.T) {
	server := redistest.Start(t)
	clients := start(t, Config{Base: merge(at(t, server.Addr()), Connection{TimeoutMs: new(60_000)})})
	c := get(t, clients, Default)
	connect(t, c)
	server.Pause()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- clients.Ready(ctx) }()
	await(t, "the ping is under way", func() bool { return c.Redis.PoolStats().IdleConns == 0 })
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Ready = %v, want canceled", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("Ready waits on")
	}
	server.Kill()
}

func wantReady(t *testing.T, clients *Clients, want string) {
	t.Helper()
	err := clients.Ready(t.Context())
	if err == nil || err.Error() != want {
		t.Errorf("Ready = %v\nwant %s", err, want)
	}
}

// Contract A11: what Redis does not answer costs the timeout and no more.
func TestTimeout(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	const timeout = 100 * time.Millisecond
	call := func(c *Client, ctx context.Context) error { return c.Redis.Incr(ctx, "n").Err() }
	pipeline := func(c *Client, ctx context.Context) error {
		_, err := c.Redis.Pipelined(ctx, func(p redis.Pipeliner) error { p.Incr(ctx, "n"); p.Incr(ctx, "m"); return nil })
		return err
	}
	transaction := func(c *Client, ctx context.Context) error {
		_, err := c.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error { p.Incr(ctx, "n"); return nil })
		return err
	}
	tests := []struct {
		name   string
		warm   bool // a connection stands before
		fault  redistest.Fault
		do     func(*Client, context.Context) error
		within time.Duration // deadline of the context, 0 for none
	}{
		{"new connection hangs", false, redistest.Hang(), call, 0},
		{"reply hangs", true, redistest.Hang(), call, 0},
		{"new connection swallows", false, redistest.Blackhole(0), call, 0},
		{"packets are lost", true, redistest.Blackhole(0), call, 0},
		{"slow reply", true, redistest.Delay(time.Minute), call, 0},
		// Signing in and the command take 70 ms each: neither alone is too long.
		{"steps add up", false, redistest.Delay(70 * time.Millisecond), call, 0},
		{"steps add up in a pipeline", false, redistest.Delay(70 * time.Millisecond), pipeline, 0},
		{"pipeline", true, redistest.Hang(), pipeline, 0},
		{"pipeline on a new connection", false, redistest.Hang(), pipeline, 0},
		{"transaction", true, redistest.Hang(), transaction, 0},
		{"earlier deadline", true, redistest.Hang(), call, 20 * time.Millisecond},
		{"earlier deadline, new connection", false, redistest.Hang(), pipeline, 20 * time.Millisecond},
		{"later deadline", true, redistest.Hang(), call, time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			proxy.Set(redistest.Forward())
			c := get(t, start(t, Config{Base: merge(at(t, proxy.Addr()), Connection{DialTimeoutMs: new(60_000)})}), Limiter)
			if c.Timeout != timeout {
				t.Fatalf("Timeout = %v", c.Timeout)
			}
			if tt.warm {
				connect(t, c)
			}
			proxy.Set(tt.fault)
			ctx, limit := t.Context(), timeout
			if tt.within > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tt.within)
				defer cancel()
				limit = min(limit, tt.within)
			}
			// A slow machine is given time; it is still less than what else could end the call.
			begin := time.Now()
			err := tt.do(c, ctx)
			if took := time.Since(begin); took < limit-time.Millisecond || took > limit+20*time.Second {
				t.Errorf("took %v, want %v", took, limit)
			}
			if !isTimeout(err) {
				t.Errorf("error = %v, want a timeout", err)
			}
		})
	}
}

// connect returns when a connection stands. On a machine that is busy that can take longer than one timeout.
func connect(t *testing.T, c *Client) {
	t.Helper()
	await(t, "a connection", func() bool { return c.Redis.Ping(t.Context()).Err() == nil })
}

func isTimeout(err error) bool {
	var waited net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, redis.ErrPoolTimeout) || errors.As(err, &waited) && waited.Timeout()
}

func TestPoolIsExhausted(t *testing.T) {
	server := redistest.Start(t)
	conn := merge(at(t, server.Addr()), Connection{PoolSize: new(1), TimeoutMs: new(60_000)})
	c := get(t, start(t, Config{Base: conn, Clients: map[string]ClientConfig{Cache: {}}}), Cache)
	blocked, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Redis.BLPop(blocked, 0, "list").Err() }()
	await(t, "the connection is taken", func() bool { return c.Redis.PoolStats().TotalConns == 1 && c.Redis.PoolStats().IdleConns == 0 })
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if err := c.Redis.Ping(ctx).Err(); !isTimeout(err) {
		t.Errorf("PING = %v, want a timeout", err)
	}
	server.Do("RPUSH", "list", "x")
	if err := <-done; err != nil {
		t.Errorf("BLPOP = %v", err)
	}
	cancel()
}

// A command that blocks at the server blocks for as long as it says.
func TestBlockingCommand(t *testing.T) {
	server := redistest.Start(t)
	c := get(t, start(t, Config{Base: merge(at(t, server.Addr()), Connection{TimeoutMs: new(20)})}), Default)
	if err := c.Redis.BLPop(t.Context(), time.Second, "list").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("BLPOP = %v, want nil after a second", err)
	}
}

// Contract A7: an attempt whose outcome is unknown is not sent again.
func TestLostReply(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	script := redis.NewScript(counterScript)
	call := func(c *Client) error { return script.EvalSha(t.Context(), c.Redis, []string{"n"}, 60_000).Err() }
	pipeline := func(c *Client) error {
		_, err := c.Redis.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			script.EvalSha(t.Context(), p, []string{"n"}, 60_000)
			script.EvalSha(t.Context(), p, []string{"m"}, 60_000)
			return nil
		})
		return err
	}
	faults := map[string]redistest.Fault{
		"cut":     redistest.LoseReply().On("evalsha"),
		"silence": redistest.Swallow().On("evalsha"),
		"late":    redistest.Delay(time.Minute).On("evalsha"),
		"garbage": redistest.Garbage("?nonsense\r\n").On("evalsha"),
	}
	timeout := Connection{TimeoutMs: new(500)} // each silent case waits for it
	for name, fault := range faults {
		for kind, do := range map[string]func(*Client) error{"call": call, "pipeline": pipeline} {
			for _, client := range []string{Limiter, Cache} {
				t.Run(name+" "+kind+" "+client, func(t *testing.T) {
					proxy.Set(redistest.Forward())
					server.FlushAll()
					c := get(t, start(t, Config{Base: at(t, proxy.Addr()), Clients: map[string]ClientConfig{client: {Connection: timeout}}}), client)
					await(t, "the script is loaded", func() bool { return script.Load(t.Context(), c.Redis).Err() == nil })
					proxy.Set(fault.Times(1))
					if err := do(c); err == nil {
						t.Error("no error though the reply was lost")
					}
					proxy.Set(redistest.Forward())
					if got := server.Do("GET", "n"); got != "1" {
						t.Errorf("counted %v times, want once", got)
					}
					await(t, "the next attempt succeeds", func() bool { return do(c) == nil })
				})
			}
		}
	}
	// The same with retries counts twice: the test above can see it.
	t.Run("control", func(t *testing.T) {
		server.FlushAll()
		c := get(t, start(t, Config{Base: merge(at(t, proxy.Addr()), Connection{Retries: new(2)})}), Cache)
		proxy.Set(redistest.LoseReply().On("evalsha").Times(1))
		if err := call(c); err != nil {
			t.Fatal(err)
		}
		if got := server.Do("GET", "n"); got != "2" {
			t.Errorf("counted %v times, want twice", got)
		}
	})
}

// Redis' return is seen by the very next command, however many failed before, and nothing grows meanwhile.
func TestReturn(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	c := get(t, start(t, Config{Base: merge(at(t, proxy.Addr()), Connection{PoolSize: new(4)}), Clients: map[string]ClientConfig{Limiter: patient}}), Limiter)
	connect(t, c)
	for round := range 3 {
		proxy.Set(redistest.Refuse())
		for i := range 50 {
			err := c.Redis.Ping(t.Context()).Err()
			if err == nil {
				t.Fatal("PING succeeded through a proxy that refuses")
			}
			if i > 0 && !strings.Contains(err.Error(), "refused") {
				t.Fatalf("PING = %v, want that the connection is refused", err)
			}
		}
		proxy.Set(redistest.Forward())
		if err := c.Redis.Ping(t.Context()).Err(); err != nil {
			t.Errorf("round %d: the first PING after the return = %v", round, err)
		}
		if stats := c.Redis.PoolStats(); stats.TotalConns > 4 {
			t.Errorf("round %d: %d connections", round, stats.TotalConns)
		}
	}
}

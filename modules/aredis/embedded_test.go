package aredis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/onion"
)

// elsewhere names everything that the embedded server makes meaningless.
var elsewhere = Config{Embedded: true,
	Base: Connection{Host: new("redis.invalid"), Username: new("u"), Password: new(Password("hunter2")), TLS: &TLS{}, DB: new(2)},
	Clients: map[string]ClientConfig{
		Limiter:   {Connection: Connection{Nodes: []string{"a.invalid:1"}, DB: new(0), TimeoutMs: new(5000)}},
		Broadcast: {Connection: Connection{Sentinels: []string{"b.invalid:1"}, Name: new("m")}},
	}}

func TestEmbedded(t *testing.T) {
	before := goleak.IgnoreCurrent()
	var log syncBuffer
	env := onion.NewEnv("shop", onion.ModeDev, "normal", slog.New(slog.NewTextHandler(&log, nil)), nil)
	clients, err := NewClients(env, elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	c := get(t, clients, Limiter)
	if err := c.Redis.Ping(t.Context()).Err(); !errors.Is(err, errNotRunning) {
		t.Errorf("PING before Start = %v, want %v", err, errNotRunning)
	}
	if err := clients.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := clients.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "redis.embedded") {
		t.Errorf("the second Start = %v, want an error that names redis.embedded", err)
	}
	for _, name := range []string{Limiter, Cache, Broadcast, Default} {
		if err := get(t, clients, name).Redis.Set(t.Context(), "k", name, 0).Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := get(t, clients, Cache).Redis.Get(t.Context(), "k").Val(); got != Default {
		t.Errorf("cache and default, both of database 2, do not see each other: %q", got)
	}
	if got := c.Redis.Get(t.Context(), "k").Val(); got != Limiter {
		t.Errorf("the limiter, of database 0, reads %q", got)
	}
	if err := clients.Ready(t.Context()); err != nil {
		t.Errorf("Ready = %v", err)
	}
	if line := log.String(); strings.Count(line, "\n") != 1 || !strings.Contains(line, "addr=127.0.0.1:") || !strings.Contains(line, "lost at exit") {
		t.Errorf("the log reads %q, want one line that tells the address and that data is lost", line)
	}
	for range 2 {
		if err := clients.Stop(t.Context()); err != nil {
			t.Errorf("Stop = %v", err)
		}
	}
	goleak.VerifyNone(t, before)
}

// Keys grow old by themselves, and the limiter's script (contract A7) runs.
func TestEmbeddedScript(t *testing.T) {
	clients := start(t, Config{Embedded: true, Clients: map[string]ClientConfig{Limiter: {Connection: Connection{TimeoutMs: new(5000)}}}})
	c := get(t, clients, Limiter)
	script, ctx := redis.NewScript(counterScript), t.Context()
	run := func(key string, window time.Duration) (count, ttl int64) {
		t.Helper()
		got, err := script.EvalSha(ctx, c.Redis, []string{c.Key(key)}, window.Milliseconds()).Int64Slice()
		if err != nil || len(got) != 2 {
			t.Fatalf("EVALSHA = %v, %v", got, err)
		}
		return got[0], got[1]
	}

	if err := script.EvalSha(ctx, c.Redis, []string{"n"}, 1).Err(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
		t.Errorf("EVALSHA before the script is loaded = %v, want NOSCRIPT", err)
	}
	if err := script.Load(ctx, c.Redis).Err(); err != nil {
		t.Fatal(err)
	}
	for want := int64(1); want <= 3; want++ {
		if count, ttl := run("day", 24*time.Hour); count != want || ttl <= 86_000_000 || ttl > 86_400_000 {
			t.Errorf("count %d, ttl %d; want %d and about a day", count, ttl, want)
		}
	}
	if err := c.Redis.Set(ctx, c.Key("eternal"), 7, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if count, ttl := run("eternal", time.Hour); count != 8 || ttl != 3_600_000 {
		t.Errorf("a key without expiry: count %d, ttl %d; want 8 and an hour", count, ttl)
	}
	if ttl := c.Redis.PTTL(ctx, c.Key("eternal")).Val(); ttl <= 59*time.Minute || ttl > time.Hour {
		t.Errorf("it was given %v, want an hour", ttl)
	}

	const window = 300 * time.Millisecond
	begin := time.Now()
	run("short", window)
	await(t, "the key expires", func() bool { return c.Redis.Exists(ctx, c.Key("short")).Val() == 0 })
	if took := time.Since(begin); took < window-2*tick {
		t.Errorf("it expired after %v, want %v", took, window)
	}
	if count, _ := run("short", window); count != 1 {
		t.Errorf("the next window begins with %d", count)
	}
}

func TestEmbeddedSubscription(t *testing.T) {
	c := get(t, start(t, Config{Embedded: true}), Broadcast)
	sub := c.Redis.Subscribe(t.Context(), c.Key("news"))
	defer sub.Close()
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Redis.Publish(t.Context(), c.Key("news"), "hello").Err(); err != nil {
		t.Fatal(err)
	}
	if msg, err := sub.ReceiveMessage(t.Context()); err != nil || msg.Payload != "hello" || msg.Channel != "broadcast_shop_local:news" {
		t.Errorf("received %v, %v", msg, err)
	}
}

func TestModule(t *testing.T) {
	m := Module("sessions")
	env := testEnv(onion.ModeTest)
	if m.Name() != ModuleName || m.Onions() != nil || m.Controllers() != nil {
		t.Errorf("name %s, onions %v, controllers %v", m.Name(), m.Onions(), m.Controllers())
	}
	starter, stopper, ready := m.(onion.Starter), m.(onion.Stopper), m.(onion.ReadyChecker)
	if err := starter.Start(t.Context()); err == nil || !strings.Contains(err.Error(), ModuleName) {
		t.Errorf("Start before Provide = %v, want an error of %s", err, ModuleName)
	}
	if err := errors.Join(ready.Ready(t.Context()), stopper.Stop(t.Context())); err != nil {
		t.Errorf("Ready and Stop before Provide = %v", err)
	}

	sections := m.(onion.Configurable).Config()
	cfg, ok := sections["redis"].(*Config)
	if !ok || len(sections) != 1 {
		t.Fatalf("sections %v", sections)
	}
	named := config.FromMap("test", values{"redis": values{"clients": values{"sessions": values{}}}})
	if err := errors.Join(named.Decode(cfg, "redis"), cfg.Check(env)); err != nil {
		t.Errorf("Check of a client that is named in code = %v", err)
	}
	cfg.Clients = map[string]ClientConfig{"limitr": {}}
	if err := cfg.Check(env); err == nil || !strings.Contains(err.Error(), "redis.clients.limitr") {
		t.Errorf("Check of a bad configuration = %v", err)
	}
	if err := m.(onion.Provider).Provide(env); err == nil || !strings.Contains(err.Error(), "redis.clients.limitr") {
		t.Errorf("Provide of a bad configuration = %v", err)
	}
	cfg.Clients, cfg.Base = nil, Connection{Port: new(1)} // nothing listens there
	if err := m.(onion.Provider).Provide(env); err != nil {
		t.Fatal(err)
	}
	clients, err := onion.Service[*Clients](env)
	if err != nil {
		t.Fatal(err)
	}
	get(t, clients, "sessions")
	if err := starter.Start(t.Context()); err != nil {
		t.Errorf("Start without Redis = %v, want nil (contract A7)", err)
	}
	if err := ready.Ready(t.Context()); err == nil || err.Error() != `redis client "sessions" was refused the connection` {
		t.Errorf("Ready = %v", err)
	}
	if err := stopper.Stop(t.Context()); err != nil {
		t.Errorf("Stop = %v", err)
	}
}

// What go-redis prints goes to the logger at level debug, and nowhere else.
func TestLibraryLog(t *testing.T) {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo} {
		var log syncBuffer
		l := libraryLog{slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))}
		l.Printf(context.Background(), "failed: %v", fmt.Errorf("x"))
		if got, want := strings.Contains(log.String(), `level=DEBUG msg=go-redis message="failed: x"`), level == slog.LevelDebug; got != want {
			t.Errorf("at level %v the log reads %q", level, log.String())
		}
	}
}

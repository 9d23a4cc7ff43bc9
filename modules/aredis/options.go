package aredis

import (
	"context"
	"net"
	"strconv"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// dialer replaces go-redis' own; nil keeps it.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// The three functions below say the same three times, because go-redis has three structs of options with the same fields.
// What is set differs from go-redis' defaults, for these reasons:
//
//   - MaxRetries: three by default, which sends an increment four times when one reply is lost.
//   - DialerRetries, five by default: a dial that fails is told at once and not after 400 ms.
//   - ContextTimeoutEnabled: without it the deadline of a context is ignored while reading and writing.
//   - PoolTimeout: waiting for a free connection counts as waiting.
//   - PipelinePoolSize: pipelines share the one pool, so poolSize is the number of connections there are.
//   - Protocol 2, no identity, no maintenance notices: the fewest round trips for a new connection, and nothing that the
//     server sends unasked.

// single makes a client of one server.
func (s settings) single(dial dialer) *redis.Options {
	return &redis.Options{
		Addr: net.JoinHostPort(*s.Host, strconv.Itoa(*s.Port)), Dialer: dial,
		Username: value(s.Username), Password: revealed(s.Password), DB: *s.DB, TLSConfig: s.tls,

		MaxRetries: s.maxRetries(), ContextTimeoutEnabled: true,
		DialTimeout: s.dialTimeout(), DialerRetries: 1, ReadTimeout: s.timeout(), WriteTimeout: s.timeout(),
		PoolSize: *s.PoolSize, PoolTimeout: s.timeout(), PipelinePoolSize: -1,
		Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: noNotices(),
	}
}

// cluster makes a client of a Redis Cluster. MaxRedirects is left at three: a command that was answered with MOVED or ASK
// was not executed. What else go-redis would send again under that name is stopped by bounds.
//
// Routing by the servers' command table is off: it asks for the table first, for up to five seconds and whatever the
// deadline is. Commands with keys of several slots are refused by the servers then.
func (s settings) cluster() *redis.ClusterOptions {
	return &redis.ClusterOptions{
		Addrs: s.Nodes, DisableRoutingPolicies: true,
		Username: value(s.Username), Password: revealed(s.Password), TLSConfig: s.tls,

		MaxRetries: s.maxRetries(), ContextTimeoutEnabled: true,
		DialTimeout: s.dialTimeout(), DialerRetries: 1, ReadTimeout: s.timeout(), WriteTimeout: s.timeout(),
		PoolSize: *s.PoolSize, PoolTimeout: s.timeout(), PipelinePoolSize: -1,
		Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: noNotices(),
	}
}

// failover makes a client of the master that sentinels watch.
func (s settings) failover() *redis.FailoverOptions {
	return &redis.FailoverOptions{
		SentinelAddrs: s.Sentinels, MasterName: *s.Name,
		SentinelUsername: value(s.SentinelUsername), SentinelPassword: revealed(s.SentinelPassword),
		Username: value(s.Username), Password: revealed(s.Password), DB: *s.DB, TLSConfig: s.tls,

		MaxRetries: s.maxRetries(), ContextTimeoutEnabled: true,
		DialTimeout: s.dialTimeout(), DialerRetries: 1, ReadTimeout: s.timeout(), WriteTimeout: s.timeout(),
		PoolSize: *s.PoolSize, PoolTimeout: s.timeout(), PipelinePoolSize: -1,
		Protocol: 2, DisableIdentity: true,
	}
}

// maxRetries says no retries in go-redis' words, where 0 means three.
func (s settings) maxRetries() int {
	if *s.Retries == 0 {
		return -1
	}
	return *s.Retries
}

func noNotices() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// open makes the client; it connects to nothing yet.
func (s settings) open(embedded *embedded) redis.UniversalClient {
	guard := bounds{timeout: s.timeout(), once: *s.Retries == 0}
	switch {
	case embedded != nil:
		s.Host, s.Port, s.Username, s.Password, s.tls = new("embedded"), new(0), nil, nil, nil
		return hooked(redis.NewClient(s.single(embedded.dial)), guard)
	case s.Nodes != nil:
		client := redis.NewClusterClient(s.cluster())
		client.OnNewNode(func(node *redis.Client) { node.AddHook(dials{}) })
		guard.reload = client.ReloadState
		client.AddHook(guard)
		return client
	case s.Sentinels != nil:
		return hooked(redis.NewFailoverClient(s.failover()), guard)
	}
	return hooked(redis.NewClient(s.single(nil)), guard)
}

func hooked(client *redis.Client, guard bounds) *redis.Client {
	client.AddHook(dials{})
	guard.once = false // MaxRetries does it
	client.AddHook(guard)
	return client
}

package aredis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vonago/vonago/onion"
)

// Client is one named client. It keeps these promises:
//
//   - Every command, and every pipeline as a whole, returns within Timeout, or within the deadline of its context if that is
//     earlier: waiting for a connection, connecting, signing in, redirects and the reply together. Excepted are commands that
//     block at the server (BLPOP, XREAD...) and subscriptions.
//   - While retries is 0, as it always is for the limiter, no command is sent again whose outcome is not known (contract A7).
//     In a cluster it is sent to another node after MOVED, ASK and READONLY: they say that it was not executed.
//   - Redis may be away when the client is made and come back at any time.
type Client struct {
	// Redis is a *redis.Client or, in a cluster, a *redis.ClusterClient. Do not close it.
	Redis redis.UniversalClient
	// Name is the client's name in the configuration.
	Name string
	// Prefix stands before every key (contract P5); empty if there is none. go-redis does not add it: Key does.
	Prefix string
	// Timeout bounds each command.
	Timeout time.Duration
}

// Key gives the name of a key, or of a channel, with the client's prefix.
func (c *Client) Key(name string) string { return c.Prefix + name }

// Clients makes the clients, each when it is asked for. It is the service that the module provides.
type Clients struct {
	logger   *slog.Logger
	settings map[string]settings
	embedded *embedded // nil unless there is to be one

	mu      sync.Mutex
	open    map[string]*Client
	stopped bool
}

// NewClients makes the clients of a configuration without connecting to anything; names as for Module. The error holds every
// fault of the configuration by its path. Numbers are taken to be in the ranges that Connection tells. Module does this for an
// application; a program or test without one calls Start and Stop itself.
func NewClients(env onion.Env, cfg Config, names ...string) (*Clients, error) {
	cfg.names = slices.Concat(cfg.names, names)
	all, err := settle(env, cfg)
	if err != nil {
		return nil, err
	}
	c := &Clients{logger: env.Logger, settings: all, open: map[string]*Client{}}
	if cfg.Embedded {
		c.embedded = &embedded{}
	}
	return c, nil
}

// Client gives the client of a name, the same one every time. It is an error if there is none of that name or if the clients
// have been stopped; Redis is not asked.
func (c *Clients) Client(name string) (*Client, error) {
	s, ok := c.settings[name]
	if !ok {
		return nil, fmt.Errorf("redis: unknown client %q, known are %s; an application names its own with aredis.Module(%q)",
			name, strings.Join(slices.Sorted(maps.Keys(c.settings)), ", "), name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil, fmt.Errorf("redis: client %q: %w", name, redis.ErrClosed)
	}
	client, ok := c.open[name]
	if !ok {
		client = &Client{Redis: s.open(c.embedded), Name: name, Prefix: s.prefix, Timeout: s.timeout()}
		c.open[name] = client
	}
	return client, nil
}

// Start starts the embedded server if there is to be one; there is nothing else to start. It also sends what go-redis has to
// say to the logger, at level debug; go-redis has one logger per process, so the last application started gets the lines.
func (c *Clients) Start(ctx context.Context) error {
	redis.SetLogger(libraryLog{c.logger})
	if c.embedded == nil {
		return nil
	}
	addr, err := c.embedded.start()
	if err != nil {
		return fmt.Errorf("redis.embedded: start the embedded server: %w", err)
	}
	c.logger.InfoContext(ctx, "redis is embedded in this process, for development: its data is lost at exit", "addr", addr)
	return nil
}

// Stop closes the clients that were made, then the embedded server. Commands that are under way fail. Once is enough, twice
// does no harm.
func (c *Clients) Stop(context.Context) error {
	c.mu.Lock()
	open := c.open
	c.open, c.stopped = nil, true
	c.mu.Unlock()

	var errs []error
	for _, name := range slices.Sorted(maps.Keys(open)) {
		if err := open[name].Redis.Close(); err != nil {
			errs = append(errs, fmt.Errorf("redis: close the client %q: %w", name, err))
		}
	}
	if c.embedded != nil {
		c.embedded.stop()
	}
	return errors.Join(errs...)
}

// inUse gives the clients that were made, by name.
func (c *Clients) inUse() []*Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.open), func(a, b *Client) int { return strings.Compare(a.Name, b.Name) })
}

// libraryLog takes what go-redis prints: addresses and raw errors, which are for a developer and not for operation.
type libraryLog struct{ logger *slog.Logger }

// Printf is called by go-redis.
func (l libraryLog) Printf(ctx context.Context, format string, v ...any) {
	if l.logger.Enabled(ctx, slog.LevelDebug) {
		l.logger.DebugContext(ctx, "go-redis", "message", fmt.Sprintf(format, v...))
	}
}

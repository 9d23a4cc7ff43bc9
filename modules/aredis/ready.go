package aredis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// Ready pings every client that is in use, all at once, in a cluster every master; it returns when they have answered, when
// their timeouts are over or when ctx is done. The error has a sentence per client that did not answer, with its name and
// without address, user or password; what lies beneath is there for errors.Is.
func (c *Clients) Ready(ctx context.Context) error {
	clients := c.inUse()
	answers := make([]chan error, len(clients))
	for i, client := range clients {
		answers[i] = make(chan error, 1)
		go func() { answers[i] <- client.ping(ctx) }()
	}
	var errs []error
	for i, client := range clients {
		var err error
		select {
		case err = <-answers[i]:
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			errs = append(errs, unready{client.Name, err})
		}
	}
	return errors.Join(errs...)
}

func (c *Client) ping(ctx context.Context) error {
	cluster, ok := c.Redis.(*redis.ClusterClient)
	if !ok {
		return c.Redis.Ping(ctx).Err()
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return node.Ping(ctx).Err() })
}

// unready is a client that did not answer a ping.
type unready struct {
	client string
	cause  error
}

// Error leaves out the text of the cause, which has addresses in it.
func (u unready) Error() string { return fmt.Sprintf("redis client %q %s", u.client, u.reason()) }

// Unwrap gives the cause.
func (u unready) Unwrap() error { return u.cause }

func (u unready) reason() string {
	var answer redis.Error
	var waited net.Error
	switch {
	case errors.As(u.cause, &answer):
		code, _, _ := strings.Cut(answer.Error(), " ") // NOAUTH, WRONGPASS, LOADING, ERR...
		return "was answered " + code
	case errors.Is(u.cause, syscall.ECONNREFUSED):
		return "was refused the connection"
	case errors.Is(u.cause, context.Canceled):
		return "was not waited for"
	case errors.Is(u.cause, context.DeadlineExceeded), errors.Is(u.cause, redis.ErrPoolTimeout),
		errors.As(u.cause, &waited) && waited.Timeout():
		return "did not answer in time"
	case errors.Is(u.cause, redis.ErrClosed):
		return "is closed"
	}
	return "cannot be reached"
}

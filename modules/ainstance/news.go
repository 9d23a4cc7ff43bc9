package ainstance

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/modules/aredis"
)

// channelName is the channel of news, after the client's prefix.
const channelName = "a-instance:changed"

// pulse is how long a connection may be silent before it is asked whether it is still there; after as long again without an
// answer it is given up. So a connection that was cut without a word is noticed within twice the pulse.
const pulse = 3 * time.Second

// news tells the processes of an application of records that changed, and takes in what others tell.
//
// Redis keeps no message for who is not there. So whenever a subscription is made, at first and after every interruption, all
// instances in memory are read again; and what could not be told is told when Redis is back.
type news struct {
	client *aredis.Client // nil: there is nobody to tell
	live   *instance.Live
	logger *slog.Logger
	self   string

	reloads *pending // to be read again here
	outbox  *pending // to be told

	cancel  context.CancelFunc
	running sync.WaitGroup
}

func newNews(client *aredis.Client, live *instance.Live, logger *slog.Logger) *news {
	return &news{client: client, live: live, logger: logger, self: rand.Text(), reloads: newPending(), outbox: newPending()}
}

// message is what is told: an instance, or all.
type message struct {
	From string `json:"from"`
	Name string `json:"name"`
	All  bool   `json:"all,omitempty"`
}

// start begins to listen and to tell, in the background.
func (n *news) start() {
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	n.running.Go(func() { n.reloads.work(ctx, n.reload) })
	if n.client == nil {
		return
	}
	n.running.Go(func() { n.outbox.work(ctx, n.publish) })
	n.running.Go(func() { n.subscribe(ctx) })
}

// stop ends it and tells what is left, in one attempt.
func (n *news) stop(ctx context.Context) error {
	if n.cancel == nil {
		return nil
	}
	n.cancel()
	n.running.Wait()
	if n.client == nil {
		return nil
	}
	names, all := n.outbox.take()
	if left, leftAll := n.publish(ctx, names, all); len(left) > 0 || leftAll {
		return errors.New("changed instances could not be told to the other processes: Redis is away")
	}
	return nil
}

// tell tells the other processes that a record changed; it does not wait.
func (n *news) tell(name string) {
	if n.client != nil {
		n.outbox.add(name)
	}
}

// reload reads records again, and gives back those that the store failed for. What is wrong with a record is logged by the
// manager.
func (n *news) reload(ctx context.Context, names []string, all bool) (left []string, leftAll bool) {
	m := n.live.Manager()
	if m == nil {
		return nil, false // nothing is in memory yet
	}
	if all {
		err := m.ReloadAll(ctx)
		if failed := errors.Is(err, instance.ErrStoreFailed); failed {
			n.logger.WarnContext(ctx, "instances could not be read again and will be", "error", err)
			return nil, true
		}
		return nil, false
	}
	for i, name := range names {
		if err := m.Reload(ctx, name); errors.Is(err, instance.ErrStoreFailed) {
			n.logger.WarnContext(ctx, "an instance could not be read again and will be", "instance", name, "error", err)
			return names[i:], false
		}
	}
	return nil, false
}

// publish tells names, and gives back those that could not be told.
func (n *news) publish(ctx context.Context, names []string, all bool) (left []string, leftAll bool) {
	if all {
		if n.send(ctx, message{From: n.self, All: true}) != nil {
			return nil, true
		}
		return nil, false
	}
	for i, name := range names {
		if n.send(ctx, message{From: n.self, Name: name}) != nil {
			return names[i:], false
		}
	}
	return nil, false
}

func (n *news) send(ctx context.Context, m message) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	return n.client.Redis.Publish(ctx, n.client.Key(channelName), text).Err()
}

// subscribe listens until ctx is done, over all interruptions.
func (n *news) subscribe(ctx context.Context) {
	pause := firstPause
	for quiet := false; ; {
		began := time.Now()
		err := n.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > lastPause {
			pause, quiet = firstPause, false
		}
		if !quiet {
			n.logger.WarnContext(ctx, "news of instances are interrupted; what changes meanwhile is read when they are back", "reason", kindOf(err))
			quiet = true
		}
		if !sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, lastPause/2)
	}
}

var errSilent = errors.New("the connection is silent")

// listen subscribes and takes messages in until something fails.
func (n *news) listen(ctx context.Context) error {
	subscription := n.client.Redis.Subscribe(ctx)
	defer subscription.Close()
	// Receiving heeds no context.
	defer context.AfterFunc(ctx, func() { _ = subscription.Close() })()
	if err := subscription.Subscribe(ctx, n.client.Key(channelName)); err != nil {
		return err
	}
	for silent := false; ; {
		received, err := subscription.ReceiveTimeout(ctx, pulse)
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
			if silent {
				return errSilent
			}
			silent = true
			if err := subscription.Ping(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		silent = false
		switch m := received.(type) {
		case *redis.Subscription:
			n.reloads.addAll()
		case *redis.Message:
			n.take(m.Payload)
		}
	}
}

// take takes a message in. What cannot be read may be of a later version: then everything is read again.
func (n *news) take(payload string) {
	var m message
	err := json.Unmarshal([]byte(payload), &m)
	switch {
	case err != nil || m.All && m.From != n.self:
		n.reloads.addAll()
	case m.From != n.self:
		n.reloads.add(m.Name)
	}
}

// kindOf tells what happened without addresses.
func kindOf(err error) string {
	switch {
	case errors.Is(err, errSilent):
		return "Redis does not answer"
	case errors.Is(err, redis.ErrClosed):
		return "the connection was closed"
	}
	if _, ok := errors.AsType[redis.Error](err); ok {
		return "Redis refuses the subscription"
	}
	return "Redis cannot be reached, or closed the connection"
}

package aratelimit

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
)

// ModuleName is the module's name among the application's modules.
const ModuleName = "a-ratelimit"

// Module is the module a-ratelimit: the onions RateLimit and Aggregate and what
// they share. It uses the client "limiter" of a-redis, which must be listed
// before it. Redis may be away at start (contract A7).
func Module(opts ...Option) onion.Module {
	m := &module{
		Basic:  onion.Basic{ModuleName: ModuleName, ModuleOnions: []onion.Onion{RateLimit, Aggregate}},
		config: DefaultConfig(),
	}
	for _, opt := range opts {
		opt(m)
	}
	return m
}

type module struct {
	onion.Basic
	config Config
	meters metric.MeterProvider

	counter   *redisCounter // nil before Provide
	limiter   *limiter
	logger    *slog.Logger
	unobserve func() error // ends the metric of the breaker
}

var (
	_ onion.Configurable  = (*module)(nil)
	_ onion.Provider      = (*module)(nil)
	_ onion.Starter       = (*module)(nil)
	_ onion.Stopper       = (*module)(nil)
	_ onion.ReadyChecker  = (*module)(nil)
	_ onion.ReadyDetailer = (*module)(nil)
)

// Config gives the section "modules.a-ratelimit".
func (m *module) Config() map[string]any { return map[string]any{"modules." + ModuleName: &m.config} }

// Provide offers the limiter to the builds of both onions.
func (m *module) Provide(env onion.Env) error {
	clients, err := onion.Service[*aredis.Clients](env)
	if err != nil {
		return fmt.Errorf("%s: %w (list the module a-redis before it)", ModuleName, err)
	}
	// No policy can choose another client (contract A3, B4).
	client, err := clients.Client(aredis.Limiter)
	if err != nil {
		return fmt.Errorf("%s: %w", ModuleName, err)
	}
	provider := m.meters
	if provider == nil {
		provider = otel.GetMeterProvider()
	}
	metrics, err := newMetrics(provider)
	if err != nil {
		return fmt.Errorf("%s: %w", ModuleName, err)
	}
	m.logger = env.Logger
	m.counter = newRedisCounter(client.Redis, client.Timeout, m.config.Breaker, env.Logger)
	if m.unobserve, err = metrics.observe(m.counter.lanes.states); err != nil {
		return fmt.Errorf("%s: %w", ModuleName, err)
	}
	m.limiter = &limiter{
		counter: m.counter,
		joint:   jointCounter{m.counter},
		prefix:  client.Prefix,
		ipv6:    m.config.IPv6Prefix,
		clock:   env.Clock,
		events:  newEvents(env.Logger, m.config.MaxEventsPerSecond, env.Clock),
		metrics: metrics,
	}
	if err := onion.Provide(env, Counters{Each: m.counter, Joint: m.limiter.joint}); err != nil {
		return err
	}
	return onion.Provide(env, m.limiter)
}

// Start registers the counter script. That it failed is logged and no more: the
// script is loaded when it is first missed.
func (m *module) Start(ctx context.Context) error {
	if m.counter == nil {
		return fmt.Errorf("%s: started before it was provided", ModuleName)
	}
	if err := m.counter.register(ctx); err != nil {
		m.logger.LogAttrs(ctx, slog.LevelWarn, "the counter script is not registered yet",
			slog.String(attrClass, string(classOf(err))))
	}
	return nil
}

// Ready has no objection: whether Redis is there is the business of a-redis. An
// open breaker must not take the process out of service, for only requests can
// close it again, and those that are not limited can be served.
func (m *module) Ready(context.Context) error { return nil }

// ReadyDetail is the state of the breaker, "breaker closed", "breaker half-open"
// or "breaker open"; in a cluster it is the worst of all masters, with how many
// are not closed, "breaker open (1 of 3)".
func (m *module) ReadyDetail() string {
	if m.counter == nil {
		return ""
	}
	return describe(m.counter.lanes.states())
}

// Stop ends counting: what is attempted from now on, or fails from now on, was
// cut off by the shutdown (contract C10, E2).
func (m *module) Stop(context.Context) error {
	if m.counter == nil {
		return nil
	}
	m.counter.stop()
	m.limiter.events.stop()
	return m.unobserve()
}

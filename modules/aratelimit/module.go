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

// Config is the section "modules.a-ratelimit" of the configuration.
type Config struct {
	// MaxEventsPerSecond caps the lines logged in a second for each event, policy
	// and instance; what was left out is said afterwards. 0, the default, is no cap
	// (contract E1).
	MaxEventsPerSecond int `koanf:"maxEventsPerSecond" validate:"min=0"`
}

// Option changes how Module is made.
type Option func(*module)

// WithMeterProvider sends the metrics to a provider other than OpenTelemetry's
// global one.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(m *module) { m.meters = p }
}

// Module is the module a-ratelimit: the onions RateLimit and Aggregate and what
// they share. It uses the client "limiter" of a-redis, which must be listed
// before it. Redis may be away at start (contract A7).
func Module(opts ...Option) onion.Module {
	m := &module{Basic: onion.Basic{ModuleName: ModuleName, ModuleOnions: []onion.Onion{RateLimit, Aggregate}}}
	for _, opt := range opts {
		opt(m)
	}
	return m
}

type module struct {
	onion.Basic
	config Config
	meters metric.MeterProvider

	counter *redisCounter // nil before Provide
	limiter *limiter
	logger  *slog.Logger
}

var (
	_ onion.Configurable = (*module)(nil)
	_ onion.Provider     = (*module)(nil)
	_ onion.Starter      = (*module)(nil)
	_ onion.Stopper      = (*module)(nil)
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
	m.counter = &redisCounter{client: client.Redis, timeout: client.Timeout}
	m.limiter = &limiter{
		counter: m.counter,
		prefix:  client.Prefix,
		clock:   env.Clock,
		events:  newEvents(env.Logger, m.config.MaxEventsPerSecond, env.Clock),
		metrics: metrics,
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

// Stop ends counting: what is attempted from now on, or fails from now on, was
// cut off by the shutdown (contract C10, E2).
func (m *module) Stop(context.Context) error {
	if m.counter != nil {
		m.counter.stop()
		m.limiter.events.stop()
	}
	return nil
}

package aratelimit

import (
	"time"

	"go.opentelemetry.io/otel/metric"
)

// Config is the section "modules.a-ratelimit" of the configuration.
type Config struct {
	// MaxEventsPerSecond caps the lines logged in a second for each event, policy
	// and instance; what was left out is said afterwards. 0, the default, is no cap
	// (contract E1).
	MaxEventsPerSecond int `koanf:"maxEventsPerSecond" validate:"min=0"`
	// IPv6Prefix is how many leading bits of an IPv6 client address count, 1..128:
	// callers whose addresses agree in them are one. IPv4 addresses always count
	// whole. The default, 128, gives the keys of Vona; 64 is recommended (contract D4).
	IPv6Prefix int `koanf:"ipv6Prefix" validate:"min=1,max=128"`
	// Breaker says when counting is not even tried (contract A11).
	Breaker BreakerConfig `koanf:"breaker"`
}

// BreakerConfig is the section "modules.a-ratelimit.breaker". The breaker opens,
// so that attempts fail at once and Redis is left alone, when round trips to Redis
// fail: Failures in a row, or ErrorRate of at least MinRequests within WindowMs.
// After OpenMs it is half-open and lets probes through: it closes when they
// succeed and opens again when one fails.
//
// In a cluster each master has a breaker of its own.
type BreakerConfig struct {
	// Enable is true by default.
	Enable bool `koanf:"enable"`
	// Failures is how many round trips in a row must fail, 1..1000; the default is 5.
	Failures int `koanf:"failures" validate:"min=1,max=1000"`
	// ErrorRate is the part of round trips that must fail, 0.01..1; the default is 0.5.
	ErrorRate float64 `koanf:"errorRate" validate:"min=0.01,max=1"`
	// MinRequests is how many round trips within WindowMs an error rate is judged
	// by, 1..1000000; the default is 20.
	MinRequests int `koanf:"minRequests" validate:"min=1,max=1000000"`
	// WindowMs is the time an error rate is taken over, in milliseconds,
	// 1000..60000; the default is 10000.
	WindowMs int `koanf:"windowMs" validate:"min=1000,max=60000"`
	// OpenMs is how long nothing is tried, in milliseconds, 10..60000; the default
	// is 250. The return of Redis is noticed that much later, and a timeout of the
	// limiter's client.
	OpenMs int `koanf:"openMs" validate:"min=10,max=60000"`
	// Probes is how many round trips may be under way while the breaker is
	// half-open, and how many must succeed for it to close, 1..100; the default is 1.
	Probes int `koanf:"probes" validate:"min=1,max=100"`
}

// DefaultConfig is what holds where the configuration says nothing.
func DefaultConfig() Config {
	return Config{
		IPv6Prefix: 128,
		Breaker: BreakerConfig{
			Enable: true, Failures: 5, ErrorRate: 0.5, MinRequests: 20, WindowMs: 10_000, OpenMs: 250, Probes: 1,
		},
	}
}

func (b BreakerConfig) window() time.Duration { return time.Duration(b.WindowMs) * time.Millisecond }
func (b BreakerConfig) open() time.Duration   { return time.Duration(b.OpenMs) * time.Millisecond }

// Option changes how Module is made.
type Option func(*module)

// WithMeterProvider sends the metrics to a provider other than OpenTelemetry's
// global one.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(m *module) { m.meters = p }
}

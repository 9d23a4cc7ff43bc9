package aratelimit

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// meterName names this package to OpenTelemetry.
const meterName = "github.com/vonago/vonago/modules/aratelimit"

// outcome is what became of one attempt, and a label of the metric.
type outcome int

const (
	allowed     outcome = iota
	wouldReject         // over the limit, mode Observe
	rejected            // over the limit, mode Enforce
	redisError
	left // Redis failed, but the caller had gone before: nobody is told
	outcomes
)

var outcomeNames = [outcomes]string{"allowed", "would_reject", "rejected", "redis_error", "left"}

// scope tells the two controls apart in metrics, and in events.
type scope string

const (
	scopeIdentity  scope = "identity"
	scopeAggregate scope = "aggregate"
)

// metrics counts decisions (contract E3). All labels come from code and config.
type metrics struct {
	meter     metric.Meter
	decisions metric.Int64Counter
}

func newMetrics(provider metric.MeterProvider) (*metrics, error) {
	meter := provider.Meter(meterName)
	decisions, err := meter.Int64Counter("vonago.rate_limit.decisions",
		metric.WithDescription("Decisions of the rate limiter, by scope, mode, outcome and policy."),
		metric.WithUnit("{decision}"))
	if err != nil {
		return nil, fmt.Errorf("making the counter of rate limit decisions: %w", err)
	}
	return &metrics{meter, decisions}, nil
}

// stateLabels are the ready-made attributes of the breaker's metric.
var stateLabels = map[state]metric.ObserveOption{
	stateClosed:   stateLabel(stateClosed),
	stateHalfOpen: stateLabel(stateHalfOpen),
	stateOpen:     stateLabel(stateOpen),
}

func stateLabel(s state) metric.ObserveOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String("state", string(s))))
}

// observe tells the states of the breakers whenever metrics are collected, until
// the function it gives is called.
func (m *metrics) observe(states func() map[state]int) (end func() error, err error) {
	gauge, err := m.meter.Int64ObservableGauge("vonago.rate_limit.breakers",
		metric.WithDescription("Breakers of the rate limiter, by state: one, or in a cluster one for each master."),
		metric.WithUnit("{breaker}"))
	if err != nil {
		return nil, fmt.Errorf("making the gauge of breakers: %w", err)
	}
	registration, err := m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		now := states()
		for s, label := range stateLabels {
			o.ObserveInt64(gauge, int64(now[s]), label)
		}
		return nil
	}, gauge)
	if err != nil {
		return nil, fmt.Errorf("observing the breakers: %w", err)
	}
	return registration.Unregister, nil
}

// labels are the ready-made attributes of one policy, by outcome.
type labels [outcomes][]metric.AddOption

// labelsOf makes them once per route, so that a decision makes none. The
// aggregate has no policy.
func labelsOf(s scope, m Mode, policy string) *labels {
	var l labels
	for o := range outcomes {
		attrs := []attribute.KeyValue{
			attribute.String("scope", string(s)),
			attribute.String("mode", string(m)),
			attribute.String("outcome", outcomeNames[o]),
		}
		if policy != "" {
			attrs = append(attrs, attribute.String("policy", policy))
		}
		l[o] = []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(attrs...))}
	}
	return &l
}

func (m *metrics) count(ctx context.Context, l *labels, o outcome) {
	m.decisions.Add(ctx, 1, l[o]...)
}

package aratelimit

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/vonago/vonago/onion"
)

// meters is a MeterProvider that remembers what is counted, by labels as text.
type meters struct {
	noop.MeterProvider
	mu       sync.Mutex
	counts   map[string]int64
	callback metric.Callback // nil: none is registered
}

// collect asks for what is only told when asked, and gives it by labels.
func (m *meters) collect(t *testing.T) map[string]int64 {
	t.Helper()
	m.mu.Lock()
	callback := m.callback
	m.mu.Unlock()
	seen := observed{values: map[string]int64{}}
	if callback != nil {
		if err := callback(t.Context(), seen); err != nil {
			t.Fatal(err)
		}
	}
	return seen.values
}

type observed struct {
	noop.Observer
	values map[string]int64
}

func (o observed) ObserveInt64(_ metric.Int64Observable, n int64, opts ...metric.ObserveOption) {
	set := metric.NewObserveConfig(opts).Attributes()
	o.values[set.Encoded(attribute.DefaultEncoder())] = n
}

func (m meterOf) RegisterCallback(f metric.Callback, _ ...metric.Observable) (metric.Registration, error) {
	m.m.mu.Lock()
	defer m.m.mu.Unlock()
	m.m.callback = f
	return registration{m: m.m}, nil
}

type registration struct {
	noop.Registration
	m *meters
}

func (r registration) Unregister() error {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.m.callback = nil
	return nil
}

func (m *meters) Meter(string, ...metric.MeterOption) metric.Meter { return meterOf{m: m} }

type meterOf struct {
	noop.Meter
	m *meters
}

func (m meterOf) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return counterOf{m: m.m, name: name}, nil
}

type counterOf struct {
	noop.Int64Counter
	m    *meters
	name string
}

func (c counterOf) Add(_ context.Context, n int64, opts ...metric.AddOption) {
	key := c.name
	set := metric.NewAddConfig(opts).Attributes()
	for _, kv := range set.ToSlice() {
		key += " " + string(kv.Key) + "=" + kv.Value.String()
	}
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.m.counts[key] += n
}

// Contract E3: decisions by scope, mode, outcome and policy, and nothing else.
func TestMetrics(t *testing.T) {
	m := &meters{counts: map[string]int64{}}
	counted, err := newMetrics(m)
	if err != nil {
		t.Fatal(err)
	}
	n, failure := int64(0), error(nil)
	counter := counterFunc(func(context.Context, string, int64) (Count, error) { n++; return Count{N: n}, failure })
	b := newBench(t, counter, clockAt(atMs), 0)
	b.limiter.metrics = counted

	runs := []onion.Next{
		b.interceptor(t, policy(func(p *Policy) { p.Limit = 2 }), pass),
		b.interceptor(t, policy(func(p *Policy) { p.Limit, p.Mode, p.Name = 2, Observe, "mail" }), pass),
		b.aggregate(t, AggregatePolicy{Mode: Enforce, Limit: 2}, pass),
		b.aggregate(t, AggregatePolicy{Mode: Observe, Limit: 2}, pass),
	}
	for _, run := range runs {
		n, failure = 0, nil
		for range 5 {
			_, _ = run(t.Context(), testCall())
		}
		failure = io.EOF
		_, _ = run(t.Context(), testCall())
		left, leave := context.WithCancel(t.Context())
		leave()
		_, _ = run(left, testCall()) // not counted
	}
	const bean = "demo-student.controller.student:get"
	want := map[string]int64{}
	for labels, over := range map[string]string{
		"mode=enforce outcome=%s policy=" + bean + " scope=identity": "rejected",
		"mode=observe outcome=%s policy=mail scope=identity":         "would_reject",
		"mode=enforce outcome=%s scope=aggregate":                    "rejected",
		"mode=observe outcome=%s scope=aggregate":                    "would_reject",
	} {
		want["vonago.rate_limit.decisions "+fmt.Sprintf(labels, "allowed")] = 2
		want["vonago.rate_limit.decisions "+fmt.Sprintf(labels, over)] = 3
		want["vonago.rate_limit.decisions "+fmt.Sprintf(labels, "redis_error")] = 1
	}
	if !reflect.DeepEqual(m.counts, want) {
		t.Errorf("counted\n%v\nwant\n%v", m.counts, want)
	}
}

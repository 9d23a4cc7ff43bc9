package aratelimit

import (
	"net/http"
	"testing"

	"github.com/vonago/vonago/onion"
)

// What a decision allocates, Redis aside: the key; with headers, the list of
// their values and the numbers from 100 on.
func TestAllocs(t *testing.T) {
	b := newBench(t, answers(1, nil), clockAt(atMs), 0)
	c := testCall()
	c.Response.Header = http.Header{}
	for _, tc := range []struct {
		name string
		run  onion.Next
		want float64
	}{
		{"observe", b.interceptor(t, policy(func(p *Policy) { p.Mode = Observe }), pass), 1},
		{"no headers", b.interceptor(t, policy(func(p *Policy) { p.Headers = onion.Off }), pass), 1},
		{"headers", b.interceptor(t, policy(func(p *Policy) { p.Limit = 100 }), pass), 2},
		{"headers, large numbers", b.interceptor(t, policy(func(p *Policy) { p.WindowMs = 3_600_000 }), pass), 4},
		{"aggregate", b.aggregate(t, AggregatePolicy{Mode: Enforce, Limit: 1}, pass), 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx := t.Context()
			got := testing.AllocsPerRun(200, func() {
				if _, err := tc.run(ctx, c); err != nil {
					t.Fatal(err)
				}
			})
			if got != tc.want {
				t.Errorf("%v allocations, want %v", got, tc.want)
			}
		})
	}
}

func BenchmarkInterceptor(b *testing.B) {
	bench := newBench(b, answers(1, nil), nil, 0)
	run := bench.interceptor(b, policy(nil), pass)
	c := testCall()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := run(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

package onion

import (
	"context"
	"fmt"
	"testing"
)

// noopWraps are n active onions that do nothing.
func noopWraps(n int) []Wrap {
	wraps := make([]Wrap, n)
	for i := range wraps {
		wraps[i] = func(next Next) Next {
			return func(ctx context.Context, c *Call) (any, error) { return next(ctx, c) }
		}
	}
	return wraps
}

func noopChain(n int) Next {
	return Compose(noopWraps(n), func(context.Context, *Call) (any, error) { return nil, nil })
}

func TestAllocChain(t *testing.T) {
	run, c, ctx := noopChain(10), &Call{}, t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := run(ctx, c); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for ten onions, want 0", n)
	}
}

func BenchmarkChain(b *testing.B) {
	for _, n := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("onions=%d", n), func(b *testing.B) {
			run, c, ctx := noopChain(n), &Call{}, b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := run(ctx, c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

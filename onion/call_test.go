package onion

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"
)

// FuzzQueryField holds the short way to a query field against net/url.
func FuzzQueryField(f *testing.F) {
	for _, seed := range []string{
		"", "a=1", "a=1&a=2", "a", "a=", "=1", "&&a=1&", "a=1=2", "a=%31", "a=%zz", "a=1;b=2", "b=x+y&a=1", "%61=1", "A=1&a=2", "a=ä",
		strings.Repeat("a=1&", 100),
	} {
		f.Add(seed, "a")
	}
	f.Add("=1&b", "")
	f.Fuzz(func(t *testing.T, raw, name string) {
		values, wantErr := url.ParseQuery(raw)
		c := &Call{RawQuery: raw}
		for range 2 { // before and after Query has parsed it
			first, count, err := c.QueryField(name)
			if first != values.Get(name) || count != len(values[name]) || (err == nil) != (wantErr == nil) {
				t.Errorf("query %q, field %q: %q, %d, %v; want %q, %v", raw, name, first, count, err, values[name], wantErr)
			}
			_, _ = c.Query()
		}
	})
}

func TestQueryFieldAllocatesNothing(t *testing.T) {
	c := &Call{RawQuery: "page=2&size=50&auth_token=abc"}
	if n := testing.AllocsPerRun(100, func() {
		if first, _, _ := c.QueryField("size"); first != "50" {
			t.Fatal(first)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestWithCall: the first context of a call is part of it, later ones are their
// own, and each is a context like any other.
func TestWithCall(t *testing.T) {
	type key struct{}
	outer, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "outer"), time.Hour)
	c := &Call{}
	first := WithCall(outer, c)
	second := WithCall(context.WithValue(t.Context(), key{}, "second"), c)
	for ctx, want := range map[context.Context]string{first: "outer", second: "second"} {
		inner, stop := context.WithCancel(ctx)
		defer stop()
		if CallFrom(inner) != c || inner.Value(key{}) != want {
			t.Errorf("call %p, value %v, want %p, %s", CallFrom(inner), inner.Value(key{}), c, want)
		}
	}
	inner := WithCall(first, &Call{Path: "/inner"})
	if got := CallFrom(inner); got == nil || got.Path != "/inner" {
		t.Errorf("the inner call is %v", got)
	}
	cancel()
	<-inner.Done()
	if first.Err() == nil || second.Err() != nil {
		t.Errorf("errors %v and %v, want one of the first only", first.Err(), second.Err())
	}
}

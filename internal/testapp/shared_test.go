package testapp

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/vonago/vonago/onion"
)

// pair is two routes that draw from one bucket, each with a limit of its own.
type pair struct {
	onion.ControllerTag `name:"pair" path:"pair"`

	Wide   onion.Action[onion.Empty, string] `get:"wide" passport:"public" rateLimit:"enable,name=pair,shared,limit=5,windowMs=86400000"`
	Narrow onion.Action[onion.Empty, string] `get:"narrow" passport:"public" rateLimit:"enable,name=pair,shared,limit=2,windowMs=86400000"`
}

// TestSharedBucket is contract A12: a count is common to the routes, and each judges it by its own limit.
func TestSharedBucket(t *testing.T) {
	ok := onion.Action[onion.Empty, string](func(context.Context, *onion.Empty) (string, error) { return "ok", nil })
	s := Start(t, Setup{Modules: []onion.Module{onion.Basic{
		ModuleName: "test-pair", ModuleControllers: []onion.Declaration{onion.Tags(&pair{Wide: ok, Narrow: ok})},
	}}})
	sameDay(t, func() {
		s.Redis.FlushAll()
		for i, want := range []struct {
			action    string
			status    int
			remaining string
		}{
			{"wide", 200, "4"}, {"narrow", 200, "0"}, {"narrow", 429, "0"}, {"wide", 200, "1"}, {"wide", 200, "0"}, {"wide", 429, "0"},
		} {
			res, body := s.Do(t, http.MethodGet, "/api/test/pair/"+want.action, "")
			if res.StatusCode != want.status || res.Header.Get("RateLimit-Remaining") != want.remaining {
				t.Errorf("request %d, %s: %d, %s remain, want %d and %s: %s", i+1, want.action, res.StatusCode,
					res.Header.Get("RateLimit-Remaining"), want.status, want.remaining, body)
			}
		}
		keys := s.Redis.Keys("*")
		if len(keys) != 1 || !strings.HasPrefix(keys[0], "limiter_testapp_local:rate-limit:v1::pair:*:") {
			t.Errorf("keys %v", keys)
		}
	})
}

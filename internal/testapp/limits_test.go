package testapp

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// sameDay runs a round again if the day-long window changed while it ran.
func sameDay(t *testing.T, round func()) {
	t.Helper()
	const day = 24 * time.Hour
	for {
		before := time.Now().Truncate(day)
		round()
		if time.Now().Truncate(day).Equal(before) {
			return
		}
	}
}

// TestExactlyTheLimitIsAdmitted lets 200 callers at once at one key.
func TestExactlyTheLimitIsAdmitted(t *testing.T) {
	s := Start(t, Setup{})
	var admitted, rejected atomic.Int64
	sameDay(t, func() {
		s.Redis.FlushAll()
		admitted.Store(0)
		rejected.Store(0)
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				res, body := s.Do(t, http.MethodGet, "/api/test/vona/probe/limited", "")
				switch res.StatusCode {
				case http.StatusOK:
					admitted.Add(1)
				case http.StatusTooManyRequests:
					rejected.Add(1)
				default:
					t.Errorf("status %d: %s", res.StatusCode, body)
				}
			})
		}
		all.Wait()
	})
	if admitted.Load() != 3 || rejected.Load() != 197 {
		t.Errorf("admitted %d, rejected %d; want 3 and 197", admitted.Load(), rejected.Load())
	}

	keys := s.Redis.Keys("*")
	if len(keys) != 1 || !strings.HasPrefix(keys[0], "limiter_testapp_local:rate-limit:v1::limited:get%3A%2Ftest%2Fvona%2Fprobe%2Flimited:") {
		t.Errorf("keys %v", keys)
	}
	for _, key := range keys {
		if ttl := s.Redis.Client().PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > 24*time.Hour {
			t.Errorf("key %s lives for %v", key, ttl)
		}
		if strings.Contains(key, "127.0.0.1") || strings.Contains(key, "anonymous") {
			t.Errorf("key %s shows an identity", key)
		}
	}
	if n := s.Log.Count("event=rate_limit.rejected", "limit=3"); n != 197 {
		t.Errorf("%d rejections were logged, want 197", n)
	}
	for line := range strings.Lines(s.Log.String()) {
		if strings.Contains(line, "rate_limit") && (strings.Contains(line, "127.0.0.1") || strings.Contains(line, "anonymous")) {
			t.Errorf("a line of the limiter shows an identity: %s", line)
		}
	}
}

// TestInstancesHaveTheirOwnPolicyAndBudget is contract A4 and A6: acme's limit
// is its own, and so are its counters.
func TestInstancesHaveTheirOwnPolicyAndBudget(t *testing.T) {
	s := Start(t, Setup{})
	res, _ := s.Do(t, http.MethodGet, "/api/test/vona/probe/hello", "", "x-vona-instance-name: acme")
	if got := res.Header.Get("RateLimit-Limit"); got != "30" {
		t.Errorf("acme's limit is %q, want 30", got)
	}
	if res, _ = s.Do(t, http.MethodGet, "/api/test/vona/probe/hello", ""); res.Header.Get("RateLimit-Limit") != "" {
		t.Error("the default instance has acme's policy")
	}
	for range 3 {
		s.Do(t, http.MethodGet, "/api/test/vona/probe/limited", "")
	}
	if res, _ = s.Do(t, http.MethodGet, "/api/test/vona/probe/limited", ""); res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("the fourth call of the default instance: %d", res.StatusCode)
	}
	if res, _ = s.Do(t, http.MethodGet, "/api/test/vona/probe/limited", "", "x-vona-instance-name: acme"); res.StatusCode != http.StatusOK {
		t.Errorf("acme pays for the default instance: %d", res.StatusCode)
	}
}

// TestRedisAway is contract A11: start does not need Redis, and enforce answers
// 503 while it is away.
func TestRedisAway(t *testing.T) {
	s := Start(t, Setup{})
	s.Redis.Kill()
	res, body := s.Do(t, http.MethodGet, "/api/test/vona/probe/limited", "")
	if res.StatusCode != http.StatusServiceUnavailable || body != `{"code":503,"message":"Service Unavailable"}` || res.Header.Get("Retry-After") != "1" || res.Header.Get("RateLimit-Limit") != "" {
		t.Errorf("got %d %s %v", res.StatusCode, body, res.Header)
	}
	if res, _ = s.Do(t, http.MethodGet, "/health/ready", ""); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("ready is %d", res.StatusCode)
	}
	if res, _ = s.Do(t, http.MethodGet, "/health/live", ""); res.StatusCode != http.StatusOK {
		t.Errorf("live is %d", res.StatusCode)
	}
	if s.Log.Count("event=rate_limit.redis_error") != 1 {
		t.Errorf("log:\n%s", s.Log)
	}
	s.Redis.Restart()
	deadline := time.Now().Add(20 * time.Second)
	for {
		if res, _ = s.Do(t, http.MethodGet, "/api/test/vona/probe/limited", ""); res.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %d after Redis is back", res.StatusCode)
		}
	}
}

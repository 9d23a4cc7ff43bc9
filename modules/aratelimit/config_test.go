package aratelimit

import (
	"strings"
	"testing"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/onion"
)

// decode fills the module's section as the application does.
func decode(section map[string]any) (Config, error) {
	into := Module().(onion.Configurable).Config()["modules.a-ratelimit"].(*Config)
	tree := config.FromMap("config.yaml", map[string]any{"modules": map[string]any{"a-ratelimit": section}})
	err := tree.Decode(into, "modules", "a-ratelimit")
	return *into, err
}

func TestConfig(t *testing.T) {
	got, err := decode(map[string]any{"ipv6Prefix": 64, "breaker": map[string]any{"openMs": 400, "errorRate": 0.25}})
	want := DefaultConfig()
	want.IPv6Prefix, want.Breaker.OpenMs, want.Breaker.ErrorRate = 64, 400, 0.25
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if got, err := decode(map[string]any{"breaker": map[string]any{"enable": false}}); err != nil || got.Breaker.Enable {
		t.Errorf("%+v, %v", got, err)
	}
}

// What is wrong is named by its path.
func TestConfigRefuses(t *testing.T) {
	breaker := func(key string, value any) map[string]any {
		return map[string]any{"breaker": map[string]any{key: value}}
	}
	for _, tc := range []struct {
		section map[string]any
		want    string
	}{
		{map[string]any{"ipv6Prefix": 0}, "modules.a-ratelimit.ipv6Prefix"},
		{map[string]any{"ipv6Prefix": 129}, "modules.a-ratelimit.ipv6Prefix"},
		{map[string]any{"ipv6Prefix": "64"}, "modules.a-ratelimit.ipv6Prefix"},
		{map[string]any{"ipv6prefix": 64}, "modules.a-ratelimit.ipv6prefix"},
		{map[string]any{"maxEventsPerSecond": -1}, "modules.a-ratelimit.maxEventsPerSecond"},
		{breaker("enable", "no"), "modules.a-ratelimit.breaker.enable"},
		{breaker("enabled", true), "modules.a-ratelimit.breaker.enabled"},
		{breaker("failures", 0), "modules.a-ratelimit.breaker.failures"},
		{breaker("failures", 1001), "modules.a-ratelimit.breaker.failures"},
		{breaker("errorRate", 0), "modules.a-ratelimit.breaker.errorRate"},
		{breaker("errorRate", 1.5), "modules.a-ratelimit.breaker.errorRate"},
		{breaker("minRequests", 0), "modules.a-ratelimit.breaker.minRequests"},
		{breaker("windowMs", 999), "modules.a-ratelimit.breaker.windowMs"},
		{breaker("openMs", 9), "modules.a-ratelimit.breaker.openMs"},
		{breaker("openMs", 250.5), "modules.a-ratelimit.breaker.openMs"},
		{breaker("probes", 0), "modules.a-ratelimit.breaker.probes"},
		{breaker("probes", 101), "modules.a-ratelimit.breaker.probes"},
	} {
		if _, err := decode(tc.section); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v, want an error at %s", tc.section, err, tc.want)
		}
	}
}

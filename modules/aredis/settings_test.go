package aredis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/onion"
)

// section decodes what stands under redis as an application does.
func section(values map[string]any) (Config, error) {
	var cfg Config
	err := config.FromMap("test", map[string]any{"redis": values}).Decode(&cfg, "redis")
	return cfg, err
}

type values = map[string]any

func TestMerge(t *testing.T) {
	type where struct {
		addr           string // of a single server
		nodes, sents   string
		name, user, pw string
	}
	tests := []struct {
		name          string
		redis         values
		client        string
		where         where
		db            int
		timeout, dial time.Duration
		retries       int
	}{
		{"nothing said", values{}, Default, where{addr: "127.0.0.1:6379"}, 0, time.Second, 500 * time.Millisecond, -1},
		{"nothing said, limiter", values{}, Limiter, where{addr: "127.0.0.1:6379"}, 0, 100 * time.Millisecond, 500 * time.Millisecond, -1},
		{"base", values{"base": values{"host": "r", "port": 1, "username": "u", "password": "p", "db": 2, "timeoutMs": 3, "dialTimeoutMs": 4, "retries": 5}},
			Cache, where{addr: "r:1", user: "u", pw: "p"}, 2, 3 * time.Millisecond, 4 * time.Millisecond, 5},
		{"base does not reach the limiter's own", values{"base": values{"timeoutMs": 3000, "retries": 5}},
			Limiter, where{addr: "127.0.0.1:6379"}, 0, 100 * time.Millisecond, 500 * time.Millisecond, -1},
		{"client over base", values{"base": values{"host": "r", "port": 1, "db": 2}, "clients": values{"limiter": values{"host": "l", "db": 0, "timeoutMs": 50}}},
			Limiter, where{addr: "l:1"}, 0, 50 * time.Millisecond, 500 * time.Millisecond, -1},
		{"client beside another", values{"clients": values{"limiter": values{"host": "l"}}},
			Cache, where{addr: "127.0.0.1:6379"}, 0, time.Second, 500 * time.Millisecond, -1},
		{"null is not said", values{"base": values{"host": "r"}, "clients": values{"cache": values{"host": nil}}},
			Cache, where{addr: "r:6379"}, 0, time.Second, 500 * time.Millisecond, -1},
		{"IPv6", values{"base": values{"host": "::1"}}, Cache, where{addr: "[::1]:6379"}, 0, time.Second, 500 * time.Millisecond, -1},
		{"nodes over host", values{"base": values{"host": "r", "port": 1}, "clients": values{"limiter": values{"nodes": []any{"a:1", "b:2"}}}},
			Limiter, where{nodes: "a:1 b:2"}, 0, 100 * time.Millisecond, 500 * time.Millisecond, -1},
		{"host over nodes", values{"base": values{"nodes": []any{"a:1"}}, "clients": values{"cache": values{"host": "r", "port": 7}}},
			Cache, where{addr: "r:7"}, 0, time.Second, 500 * time.Millisecond, -1},
		{"sentinels over host", values{"base": values{"host": "r", "port": 1}, "clients": values{"limiter": values{"sentinels": []any{"a:1"}, "name": "m"}}},
			Limiter, where{sents: "a:1", name: "m"}, 0, 100 * time.Millisecond, 500 * time.Millisecond, -1},
		{"another master of the same sentinels", values{"base": values{"sentinels": []any{"a:1"}, "name": "m"}, "clients": values{"limiter": values{"name": "l"}}},
			Limiter, where{sents: "a:1", name: "l"}, 0, 100 * time.Millisecond, 500 * time.Millisecond, -1},
		{"host over sentinels", values{"base": values{"sentinels": []any{"a:1"}, "name": "m"}, "clients": values{"limiter": values{"host": "l", "port": 1}}},
			Limiter, where{addr: "l:1"}, 0, 100 * time.Millisecond, 500 * time.Millisecond, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := section(tt.redis)
			if err != nil {
				t.Fatal(err)
			}
			all, err := settle(testEnv(onion.ModeTest), cfg)
			if err != nil {
				t.Fatal(err)
			}
			s := all[tt.client]
			got := where{nodes: strings.Join(s.Nodes, " "), sents: strings.Join(s.Sentinels, " "), name: value(s.Name), user: value(s.Username), pw: revealed(s.Password)}
			if s.Host != nil {
				got.addr = s.single(nil).Addr
			}
			if got != tt.where {
				t.Errorf("where = %+v, want %+v", got, tt.where)
			}
			if *s.DB != tt.db || s.timeout() != tt.timeout || s.dialTimeout() != tt.dial || s.maxRetries() != tt.retries {
				t.Errorf("db %d, timeout %v, dial %v, retries %d; want %d, %v, %v, %d",
					*s.DB, s.timeout(), s.dialTimeout(), s.maxRetries(), tt.db, tt.timeout, tt.dial, tt.retries)
			}
		})
	}
}

// The three kinds of go-redis options say the same.
func TestOptions(t *testing.T) {
	cfg, err := section(values{
		"base": values{"username": "u", "password": "p", "sentinelUsername": "su", "sentinelPassword": "sp", "tls": values{"serverName": "redis"},
			"timeoutMs": 70, "dialTimeoutMs": 80, "poolSize": 9},
		"clients": values{
			"cache":     values{"host": "r", "port": 1, "db": 3},
			"limiter":   values{"nodes": []any{"a:1", "b:2"}, "timeoutMs": 70},
			"broadcast": values{"sentinels": []any{"s:1", "s:2"}, "name": "m", "db": 4},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	all, err := settle(testEnv(onion.ModeTest), cfg)
	if err != nil {
		t.Fatal(err)
	}
	const ms = time.Millisecond
	single, cluster, failover := all[Cache].single(nil), all[Limiter].cluster(), all[Broadcast].failover()

	type common struct {
		Username, Password                                             string
		MaxRetries, DialerRetries, PoolSize, PipelinePoolSize, Protoco int
		Context, NoIdentity                                            bool
		Dial, Read, Write, Pool                                        time.Duration
		ServerName                                                     string
	}
	want := common{"u", "p", -1, 1, 9, -1, 2, true, true, 80 * ms, 70 * ms, 70 * ms, 70 * ms, "redis"}
	for kind, got := range map[string]common{
		"single": {single.Username, single.Password, single.MaxRetries, single.DialerRetries, single.PoolSize, single.PipelinePoolSize, single.Protocol,
			single.ContextTimeoutEnabled, single.DisableIdentity, single.DialTimeout, single.ReadTimeout, single.WriteTimeout, single.PoolTimeout, single.TLSConfig.ServerName},
		"cluster": {cluster.Username, cluster.Password, cluster.MaxRetries, cluster.DialerRetries, cluster.PoolSize, cluster.PipelinePoolSize, cluster.Protocol,
			cluster.ContextTimeoutEnabled, cluster.DisableIdentity, cluster.DialTimeout, cluster.ReadTimeout, cluster.WriteTimeout, cluster.PoolTimeout, cluster.TLSConfig.ServerName},
		"failover": {failover.Username, failover.Password, failover.MaxRetries, failover.DialerRetries, failover.PoolSize, failover.PipelinePoolSize, failover.Protocol,
			failover.ContextTimeoutEnabled, failover.DisableIdentity, failover.DialTimeout, failover.ReadTimeout, failover.WriteTimeout, failover.PoolTimeout, failover.TLSConfig.ServerName},
	} {
		if got != want {
			t.Errorf("%s = %+v, want %+v", kind, got, want)
		}
	}
	if single.Addr != "r:1" || single.DB != 3 || single.MaintNotificationsConfig.Mode != maintnotifications.ModeDisabled {
		t.Errorf("single: addr %s, db %d, notices %v", single.Addr, single.DB, single.MaintNotificationsConfig.Mode)
	}
	if fmt.Sprint(cluster.Addrs) != "[a:1 b:2]" || !cluster.DisableRoutingPolicies || cluster.MaxRedirects != 0 /* go-redis' three */ ||
		cluster.MaintNotificationsConfig.Mode != maintnotifications.ModeDisabled {
		t.Errorf("cluster: %+v", cluster)
	}
	if fmt.Sprint(failover.SentinelAddrs) != "[s:1 s:2]" || failover.MasterName != "m" || failover.DB != 4 ||
		failover.SentinelUsername != "su" || failover.SentinelPassword != "sp" {
		t.Errorf("failover: %v %s db %d, sentinel user %s", failover.SentinelAddrs, failover.MasterName, failover.DB, failover.SentinelUsername)
	}
}

// Contract P5.
func TestPrefix(t *testing.T) {
	tests := []struct {
		client string
		mode   onion.Mode
		said   any
		want   string
	}{
		{Limiter, onion.ModeProd, nil, "limiter_shop:"},
		{Limiter, onion.ModeDev, nil, "limiter_shop_local:"},
		{Limiter, onion.ModeTest, nil, "limiter_shop_local:"},
		{Limiter, onion.ModeProd, true, "limiter_shop:"},
		{Cache, onion.ModeProd, nil, "cache_shop:"},
		{Cache, onion.ModeTest, true, "cache_shop_local:"},
		{Default, onion.ModeProd, false, ""},
		{Default, onion.ModeTest, false, ""},
		{Default, onion.ModeTest, "mine:", "mine:"},
		{Default, onion.ModeProd, "mine:", "mine:"},
		{"sessions", onion.ModeProd, nil, "sessions_shop:"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %s %v", tt.client, tt.mode, tt.said), func(t *testing.T) {
			cfg := Config{Clients: map[string]ClientConfig{tt.client: {KeyPrefix: tt.said}}}
			clients, err := NewClients(testEnv(tt.mode), cfg, "sessions")
			if err != nil {
				t.Fatal(err)
			}
			client := get(t, clients, tt.client)
			defer client.Redis.Close()
			if client.Prefix != tt.want || client.Key("k") != tt.want+"k" {
				t.Errorf("prefix %q, key %q; want prefix %q", client.Prefix, client.Key("k"), tt.want)
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	const secret = "hunter2"
	tests := []struct {
		name  string
		mode  onion.Mode
		redis values
		want  []string // in the error
	}{
		{"unknown key", "", values{"bases": values{}}, []string{"redis.bases", "unknown key"}},
		{"unknown key of a client", "", values{"clients": values{"limiter": values{"timeout": 5}}}, []string{"redis.clients.limiter.timeout", "unknown key"}},
		{"prefix in base", "", values{"base": values{"keyPrefix": true}}, []string{"redis.base.keyPrefix", "unknown key"}},
		{"unknown client", "", values{"clients": values{"limitr": values{}}}, []string{"redis.clients.limitr", "unknown client", "broadcast, cache, default, limiter", `aredis.Module("limitr")`}},
		{"wrong type", "", values{"base": values{"port": "6379"}}, []string{"redis.base.port"}},
		{"password that is no text", "", values{"base": values{"password": 4711}}, []string{"redis.base.password", "must be text"}},
		{"port", "", values{"base": values{"port": 65536}}, []string{"redis.base.port", "65535"}},
		{"port zero", "", values{"base": values{"port": 0}}, []string{"redis.base.port"}},
		{"db", "", values{"base": values{"db": -1}}, []string{"redis.base.db"}},
		{"timeout zero", "", values{"clients": values{"limiter": values{"timeoutMs": 0}}}, []string{"redis.clients.limiter.timeoutMs"}},
		{"pool", "", values{"clients": values{"cache": values{"poolSize": 0}}}, []string{"redis.clients.cache.poolSize"}},
		{"no nodes", "", values{"base": values{"nodes": []any{}}}, []string{"redis.base.nodes"}},
		{"host is a URL", "", values{"base": values{"host": "redis://u:" + secret + "@h"}}, []string{"redis.base.host", "without scheme"}},
		{"host with port", "", values{"base": values{"host": "h:6379"}}, []string{"redis.base.host", "port"}},
		{"empty host", "", values{"base": values{"host": ""}}, []string{"redis.base.host"}},
		{"node without port", "", values{"clients": values{"limiter": values{"nodes": []any{"a:1", "u:" + secret + "@h"}}}}, []string{"redis.clients.limiter.nodes[1]", "host:port"}},
		{"node with a service name", "", values{"base": values{"nodes": []any{"a:redis"}}}, []string{"redis.base.nodes[0]"}},
		{"host and nodes", "", values{"base": values{"host": "h", "nodes": []any{"a:1"}}}, []string{"redis.base.nodes", "not both"}},
		{"port and nodes of base", "", values{"base": values{"nodes": []any{"a:1"}}, "clients": values{"cache": values{"port": 5}}}, []string{"redis.clients.cache.nodes", "not both"}},
		{"nodes and sentinels", "", values{"base": values{"nodes": []any{"a:1"}, "sentinels": []any{"a:1"}}}, []string{"redis.base.nodes", "not both"}},
		{"host and sentinels", "", values{"base": values{"host": "h", "sentinels": []any{"a:1"}, "name": "m"}}, []string{"redis.base.sentinels", "not both"}},
		{"sentinels without name", "", values{"clients": values{"limiter": values{"sentinels": []any{"a:1"}}}}, []string{"redis.clients.limiter.name", "sentinels call"}},
		{"name without sentinels", "", values{"clients": values{"limiter": values{"name": "m"}}}, []string{"redis.clients.limiter.name", "sentinels"}},
		{"database of a cluster", "", values{"base": values{"db": 1}, "clients": values{"limiter": values{"nodes": []any{"a:1"}}}}, []string{"redis.clients.limiter.db", "must be 0, is 1"}},
		{"retries of the limiter", "", values{"clients": values{"limiter": values{"retries": 1}}}, []string{"redis.clients.limiter.retries", "must be 0"}},
		{"prefix type", "", values{"clients": values{"cache": values{"keyPrefix": 5}}}, []string{"redis.clients.cache.keyPrefix", "true, false or a text, is 5"}},
		{"empty prefix", "", values{"clients": values{"cache": values{"keyPrefix": ""}}}, []string{"redis.clients.cache.keyPrefix", "false is for none"}},
		{"no authority", "", values{"base": values{"tls": values{"caFile": "testdata/none.pem"}}}, []string{"redis.base.tls", "caFile", "testdata/none.pem"}},
		{"authority that is none", "", values{"base": values{"tls": values{"caFile": "config.go"}}}, []string{"caFile", "no certificate", "config.go"}},
		{"certificate without key", "", values{"clients": values{"cache": values{"tls": values{"certFile": "c.pem"}}}}, []string{"redis.clients.cache.tls", "keyFile"}},
		{"certificate that is none", "", values{"base": values{"tls": values{"certFile": "config.go", "keyFile": "config.go"}}}, []string{"certFile and keyFile"}},
		{"embedded in production", onion.ModeProd, values{"embedded": true}, []string{"redis.embedded", "prod", "redis.base"}},
		{"several at once", onion.ModeProd, values{"embedded": true, "base": values{"host": "h:1"}, "clients": values{"limitr": values{}, "limiter": values{"retries": 2}, "cache": values{"nodes": []any{"a"}}}},
			[]string{"redis.embedded", "redis.base.host", "redis.clients.limitr", "redis.clients.limiter.retries", "redis.clients.cache.nodes[0]"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := section(tt.redis)
			if err == nil {
				err = cfg.Check(testEnv(tt.mode))
				if _, again := NewClients(testEnv(tt.mode), cfg); fmt.Sprint(again) != fmt.Sprint(err) {
					t.Errorf("NewClients says %v", again)
				}
			}
			if err == nil {
				t.Fatal("no error")
			}
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(strings.TrimPrefix(line, "test: "), "redis.") { // "test" is the place that Decode names
					t.Errorf("no path at the beginning of %s", line)
				}
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q:\n%v", want, err)
				}
			}
			if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "4711") {
				t.Errorf("the error tells a secret:\n%v", err)
			}
			seen := map[string]bool{}
			for line := range strings.Lines(err.Error()) {
				if seen[line] {
					t.Errorf("said twice: %s", line)
				}
				seen[line] = true
			}
		})
	}
	t.Run("no application name", func(t *testing.T) {
		env := testEnv(onion.ModeTest)
		env.AppName = ""
		if _, err := NewClients(env, Config{}); err == nil || !strings.Contains(err.Error(), "app.name") {
			t.Errorf("error = %v, want app.name in it", err)
		}
	})
}

func TestPasswordNeverPrints(t *testing.T) {
	cfg, err := section(values{"base": values{"password": "hunter2", "sentinelPassword": "hunter2"}, "clients": values{"cache": values{"password": "hunter2"}}})
	if err != nil {
		t.Fatal(err)
	}
	p := *cfg.Base.Password
	if p.Reveal() != "hunter2" {
		t.Fatalf("Reveal = %q", p.Reveal())
	}
	var out bytes.Buffer
	for _, v := range []any{p, &p, cfg, cfg.Base, &cfg, []Password{p}, map[string]Password{"k": p}, struct{ P Password }{p}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
		for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(h).Info("m", "v", v)
		}
	}
	for _, leak := range []string{"hunter2", fmt.Sprintf("%x", "hunter2"), fmt.Sprintf("%d", []byte("hunter2"))} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("%q is in the output:\n%s", leak, out.String())
		}
	}
	if !strings.Contains(out.String(), "***") || Password("").String() != "" {
		t.Error("a password prints as ***, no password as nothing")
	}
}

package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestEnvironmentNames(t *testing.T) {
	cases := []struct {
		variable string
		path     string
		want     any
	}{
		{"APP_NAME=shop", "app.name", "shop"},
		{"APP_NAME=5", "app.name", "5"},
		{"SERVER_KEYS=one, two", "server.keys", []any{"one", "two"}},
		{"SERVER_GLOBALPREFIX=/v1", "server.globalPrefix", "/v1"},
		{"SERVER_GLOBALPREFIX=", "server.globalPrefix", ""},
		{"SERVER_SUBDOMAINOFFSET=1", "server.subdomainOffset", 1},
		{"SERVER_LISTEN_HOSTNAME=0.0.0.0", "server.listen.hostname", "0.0.0.0"},
		{"SERVER_LISTEN_PORT=7102", "server.listen.port", 7102},
		{"REDIS_DEFAULT_HOST=redis", "redis.base.host", "redis"},
		{"REDIS_DEFAULT_HOST=redis", "redis.embedded", false},
		{"REDIS_DEFAULT_PORT=6379", "redis.base.port", 6379},
		{"REDIS_DEFAULT_PASSWORD=a=b", "redis.base.password", "a=b"},
		{"REDIS_DEFAULT_PASSWORD=", "redis.base.password", ""},
		{"REDIS_DEFAULT_DB=3", "redis.base.db", 3},
		{"LOGGER_CLIENT_DEFAULT=debug", "logger.clients.default.level", "debug"},
	}
	file := map[string]string{"config.yaml": `
app: {name: file}
server: {keys: [file], globalPrefix: /file, subdomainOffset: 9, listen: {hostname: file, port: 9}}
redis: {embedded: true, base: {host: file, port: 9, password: file, db: 9}}
logger: {clients: {default: {level: file}}}
`}
	tested := map[string]bool{envMode: true, envFlavor: true} // in TestModeAndFlavor
	for _, tc := range cases {
		t.Run(tc.variable+"/"+tc.path, func(t *testing.T) {
			c := mustLoad(t, file, tc.variable)
			path := strings.Split(tc.path, ".")
			name, _, _ := strings.Cut(tc.variable, "=")
			tested[name] = true
			if got, _ := c.Get(path...); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("%s = %#v, want %#v", tc.path, got, tc.want)
			}
			if got := c.Source(path...); got.Env != name {
				t.Errorf("it is from %v", got)
			}
		})
	}
	for name := range Variables() {
		if !tested[name] {
			t.Errorf("no test sets %s", name)
		}
	}
	if got := Variables()["SERVER_LISTEN_PORT"]; got != "server.listen.port" {
		t.Errorf("Variables names %q", got)
	}
}

func TestEmptyVariablesSayNothing(t *testing.T) {
	var environ []string
	for name := range Variables() {
		if name != "SERVER_GLOBALPREFIX" && name != "REDIS_DEFAULT_PASSWORD" {
			environ = append(environ, name+"=")
		}
	}
	c := mustLoad(t, map[string]string{"config.yaml": "redis: {embedded: true}"}, environ...)
	if got := c.Paths(); !reflect.DeepEqual(got, [][]string{{"redis", "embedded"}}) {
		t.Errorf("values: %v", got)
	}
}

func TestBadVariables(t *testing.T) {
	c, err := load(t, map[string]string{"config.yaml": ""},
		"SERVER_KEYS=hunter2,,x", "SERVER_SUBDOMAINOFFSET= 1", "SERVER_LISTEN_PORT=7102x", "REDIS_DEFAULT_PORT=1e3",
		"REDIS_DEFAULT_DB=99999999999999999999", "PATH", "OTHER=x")
	// What else there is can be checked all the same.
	if c == nil || c.Has("server", "keys") {
		t.Errorf("beside the error: %v", c)
	}
	wantLines(t, err,
		"environment SERVER_KEYS: server.keys: must be a list separated by commas without empty items",
		`environment SERVER_SUBDOMAINOFFSET: server.subdomainOffset: must be a whole number, is " 1"`,
		`environment SERVER_LISTEN_PORT: server.listen.port: must be a whole number, is "7102x"`,
		`environment REDIS_DEFAULT_PORT: redis.base.port: must be a whole number, is "1e3"`,
		`environment REDIS_DEFAULT_DB: redis.base.db: must be a whole number, is "99999999999999999999"`)
}

func TestLastOfAVariableCounts(t *testing.T) {
	c := mustLoad(t, map[string]string{"config.yaml": ""}, "APP_NAME=a", "APP_NAME=b")
	if got, _ := c.Get("app", "name"); got != "b" {
		t.Errorf("app.name = %v", got)
	}
}

func TestEnvironmentReplacesWhatIsNoObject(t *testing.T) {
	c := mustLoad(t, map[string]string{"config.yaml": "server: null\nredis: 5"}, "SERVER_KEYS=a,b", "REDIS_DEFAULT_DB=1")
	if got := c.Map("server"); !reflect.DeepEqual(got, map[string]any{"keys": []any{"a", "b"}}) {
		t.Errorf("server = %v", got)
	}
	if got := c.Source("server", "keys", "[1]").Env; got != "SERVER_KEYS" {
		t.Errorf("the second key is from %q", got)
	}
	if got := c.Source("redis").Env; got != "REDIS_DEFAULT_DB" {
		t.Errorf("redis is from %q", got)
	}
}

package config

import (
	"testing"
	"time"
)

type ruled struct {
	listen
	Name    string            `koanf:"name" validate:"required"`
	Level   string            `koanf:"level" validate:"omitempty,oneof=debug info warn"`
	Keys    []Secret          `koanf:"keys" validate:"min=1,dive,min=8"`
	Pass    Secret            `koanf:"pass" validate:"omitempty,min=8"`
	Clients map[string]client `koanf:"clients" validate:"dive"`
	Hops    []client          `koanf:"hops" validate:"max=2,dive"`
	Wait    time.Duration     `koanf:"wait" validate:"min=1ms,max=10s"`
	Ratio   float64           `koanf:"ratio" validate:"gte=0,lte=1"`
	URL     string            `koanf:"url" validate:"omitempty,url"`
	Short   string            `koanf:"short" validate:"max=3"`
	Inner   *client           `koanf:"inner"`
	Below   int               `koanf:"below" validate:"ltfield=Port"`
	Grid    [][]int           `koanf:"grid" validate:"dive,min=1,dive,max=9"`
	DBPass  string            `koanf:"dbPassword" validate:"max=3"`
	On      bool              `koanf:"on" validate:"eq=false"`
}

type client struct {
	Host string `koanf:"host" validate:"omitempty,hostname_rfc1123"`
	DB   int    `koanf:"db" validate:"min=0"`
}

func TestValidate(t *testing.T) {
	cases := []struct{ name, yaml, want string }{
		{"range", "port: 70000", "config/config.yaml:2: port: must be between 0 and 65535, is 70000"},
		{"empty", "name: ''", "config/config.yaml:2: name: must not be empty"},
		{"one of", "level: loud", `config/config.yaml:2: level: must be one of debug, info, warn, is "loud"`},
		{"items", "keys: []", "config/config.yaml:2: keys: must have at least 1 items, has 0"},
		{"secret in a list", "keys: [12345678, short]", ""},
		{"short secret in a list", "keys:\n  - longer-than-8\n  - hunter2", "config/config.yaml:4: keys[1]: must be at least 8 characters long"},
		{"short secret", "pass: hunter2", "config/config.yaml:2: pass: must be at least 8 characters long"},
		{"in a map", "clients:\n  acme.eu: {db: -1}", `config/config.yaml:3: clients."acme.eu".db: must be at least 0, is -1`},
		{"form", "clients: {a: {host: 'a b'}}", `config/config.yaml:2: clients.a.host: must be a host name, is "a b"`},
		{"in a list", "hops: [{}, {db: -2}]", "config/config.yaml:2: hops[1].db: must be at least 0, is -2"},
		{"too many", "hops: [{}, {}, {}]", "config/config.yaml:2: hops: must have at most 2 items, has 3"},
		{"duration", "wait: 11s", "config/config.yaml:2: wait: must be between 1ms and 10s, is 11s"},
		{"gte and lte", "ratio: 1.5", "config/config.yaml:2: ratio: must be between 0 and 1, is 1.5"},
		{"URL", "url: 'no url'", `config/config.yaml:2: url: must be a URL, is "no url"`},
		{"length", "short: abcd", `config/config.yaml:2: short: must be at most 3 characters long, is "abcd"`},
		{"behind a pointer", "inner: {db: -1}", "config/config.yaml:2: inner.db: must be at least 0, is -1"},
		{"another rule", "below: 5", `config/config.yaml:2: below: breaks the rule "ltfield=Port", is 5`},
		{"lists in a list", "grid: [[1, 10], []]", "config/config.yaml:2: grid[0][1]: must be at most 9, is 10|config/config.yaml:2: grid[1]: must have at least 1 items, has 0"},
		{"secret by name", "dbPassword: hunter2", "config/config.yaml:2: dbPassword: must be at most 3 characters long, is text"},
		{"bool", "on: true", "config/config.yaml:2: on: must be false, is true"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			into := ruled{Name: "n", Keys: secrets("longer-than-8"), Wait: time.Second, Below: -1}
			err := base(t, "\n"+tc.yaml).Decode(&into)
			if tc.name == "secret in a list" {
				wantLines(t, err, "config/config.yaml:2: keys[0]: must be text, is a number", "config/config.yaml:2: keys[1]: must be at least 8 characters long")
				return
			}
			wantLines(t, err, splitBar(tc.want)...)
		})
	}
}

func TestValidateWhatIsAbsent(t *testing.T) {
	c := base(t, "a: 1\nserver:\n  listen: {}\n")
	type section struct {
		Keys   []string `koanf:"keys" validate:"required"`
		Listen struct {
			Port int `koanf:"port" validate:"required"`
		} `koanf:"listen"`
	}
	var token struct {
		Pass  Secret   `koanf:"pass" validate:"required"`
		Empty Secret   `koanf:"a" validate:"required"`
		Given []Secret `koanf:"given" validate:"dive,required"`
	}
	wantLines(t, FromMap("record", map[string]any{"a": "", "given": []any{"x", ""}}).Decode(&token),
		"record: a: must not be empty", "record: given[1]: must not be empty", "record: pass: must be given")
	var s section
	wantLines(t, c.Decode(&s, "server"),
		"config/config.yaml:2: server.keys: must be given", "config/config.yaml:3: server.listen.port: must be given")
	wantLines(t, c.Decode(&s, "elsewhere"),
		"config/config.yaml: elsewhere.keys: must be given", "config/config.yaml: elsewhere.listen.port: must be given")
}

func TestValidateFromEnvironment(t *testing.T) {
	c := mustLoad(t, map[string]string{"config.yaml": "server: {listen: {}}"}, "SERVER_LISTEN_PORT=70000")
	var l listen
	wantLines(t, c.Decode(&l, "server", "listen"),
		"environment SERVER_LISTEN_PORT: server.listen.port: must be between 0 and 65535, is 70000")
}

func TestValidateMapsAndUnnamedStructs(t *testing.T) {
	c := base(t, "clients: {a.b: {db: -1}}")
	var m map[string]client
	wantLines(t, c.Decode(&m, "clients"), `config/config.yaml:1: clients."a.b".db: must be at least 0, is -1`)
	var s struct {
		Clients map[string]*client `koanf:"clients" validate:"dive"`
	}
	wantLines(t, c.Decode(&s), `config/config.yaml:1: clients."a.b".db: must be at least 0, is -1`)
	var g generic[client]
	wantLines(t, c.Decode(&g), `config/config.yaml:1: clients."a.b".db: must be at least 0, is -1`)
	if m != nil || s.Clients != nil {
		t.Error("something was filled in spite of the fault")
	}
}

type generic[T any] struct {
	Clients map[string]T `koanf:"clients" validate:"dive"`
}

func TestWhatDidNotDecodeIsNotJudgedAgain(t *testing.T) {
	var into ruled
	err := base(t, "name: 5\nkeys: x\nport: x\nwait: 1s\nbelow: -1").Decode(&into)
	wantLines(t, err,
		"config/config.yaml:1: name: must be text, is 5",
		"config/config.yaml:2: keys: must be a list, is text",
		`config/config.yaml:3: port: must be a whole number, is "x"`)
}

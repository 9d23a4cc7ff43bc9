package config

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const sesame = "open-sesame"

type holder struct {
	Pass  Secret            `koanf:"pass"`
	Ptr   *Secret           `koanf:"ptr"`
	List  []Secret          `koanf:"list"`
	Named map[string]Secret `koanf:"named"`
	deep  struct{ unexported Secret }
}

func secrets(texts ...string) (out []Secret) {
	for _, text := range texts {
		out = append(out, NewSecret(text))
	}
	return out
}

func TestSecretNeverPrints(t *testing.T) {
	secret := NewSecret(sesame)
	h := holder{Pass: secret, Ptr: &secret, List: []Secret{secret}, Named: map[string]Secret{"a": secret}}
	h.deep.unexported = secret
	var out bytes.Buffer
	for verb := range strings.SplitSeq("v +v #v s q x X d c U t b o e f g p T", " ") {
		for _, value := range []any{secret, &secret, h, &h, h.List, h.Named, []any{secret}, fmt.Errorf("wrapped: %v", secret)} {
			fmt.Fprintf(&out, "%"+verb+" %10"+strings.TrimPrefix(strings.TrimPrefix(verb, "+"), "#")+"\n", value, value)
		}
	}
	fmt.Fprintln(&out, secret, h.Pass, errors.New(secret.String()), secret.GoString())
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal, xmlOf} {
		for _, value := range []any{secret, &secret, h.List, h, map[string]any{"a": secret}} {
			data, err := marshal(value)
			if err != nil && !strings.Contains(err.Error(), "xml") { // which knows no maps
				t.Error(err)
			}
			out.Write(data)
		}
	}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		log := slog.New(handler)
		log.Info("x", "secret", secret, "ptr", &secret, "holder", h, "list", h.List, slog.Any("any", secret), slog.Group("g", "s", secret))
	}
	if text, err := secret.MarshalText(); err != nil || string(text) != mask {
		t.Errorf("MarshalText: %s %v", text, err)
	}
	for _, form := range []string{sesame, fmt.Sprintf("%x", sesame), fmt.Sprintf("%X", sesame), fmt.Sprint([]byte(sesame))} {
		if strings.Contains(out.String(), form) {
			t.Errorf("%s was printed in\n%s", form, &out)
		}
	}
	if !strings.Contains(out.String(), mask) {
		t.Error("the mask was not printed either")
	}
	if secret.Reveal() != sesame {
		t.Error("Reveal does not reveal")
	}
}

func xmlOf(v any) ([]byte, error) { return xml.Marshal(v) }

func TestEmptySecretPrintsEmpty(t *testing.T) {
	data, err := json.Marshal(Secret{})
	if got := fmt.Sprintf("%s|%v|%q", Secret{}, Secret{}, Secret{}); got != "||" || string(data) != `""` || err != nil {
		t.Errorf("%q %s %v", got, data, err)
	}
}

// ownSecret stands for a secret type of another package.
type ownSecret string

func (s ownSecret) Reveal() string { return string(s) }

func TestSecretsAreInNoMessage(t *testing.T) {
	cases := []struct{ name, yaml string }{
		{"wrong type", "pass: [open-sesame]"},
		{"list for one", "pass: {open-sesame: 1}"},
		{"text for a list", "list: open-sesame"},
		{"too short", "own: open-sesame"},
		{"name says so", "dbPassword: open-sesame"},
		{"in a URL", "number: https://user:open-sesame@host/x?y=1"},
		{"in a broken URL", "number: 'https://user:open-sesame@ho st/%zz'"},
		{"tag", "pass: !open-sesame"},
		{"anchor", "pass: *open-sesame"},
		{"malformed", "pass: 'open-sesame"},
		{"malformed", "pass: @open-sesame"},
		{"malformed", "pass: a: open-sesame"},
		{"malformed", "pass: %open-sesame"},
		{"text alone", "open-sesame"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			var into struct {
				Pass   Secret    `koanf:"pass"`
				List   []Secret  `koanf:"list"`
				Own    ownSecret `koanf:"own" validate:"max=3"`
				DB     int       `koanf:"dbPassword"`
				Number int       `koanf:"number"`
			}
			c, err := load(t, map[string]string{"config.yaml": tc.yaml})
			if err == nil {
				err = c.Decode(&into)
			}
			if err == nil {
				t.Fatal("no error")
			}
			if all := fmt.Sprintf("%v %+v %q", err, err, err); strings.Contains(all, sesame) && !strings.Contains(all, sesame+": unknown key") {
				t.Errorf("the secret is in %s", all)
			}
		})
	}
	for _, variable := range []string{"SERVER_KEYS=open-sesame,", "REDIS_DEFAULT_DB=open sesame"} {
		_, err := load(t, map[string]string{"config.yaml": ""}, variable)
		if err == nil || strings.Contains(err.Error(), sesame) {
			t.Errorf("%s: %v", variable, err)
		}
	}
}

func TestMaskURL(t *testing.T) {
	for in, want := range map[string]string{
		"redis://:pw@host:6379/0":           "redis://:***@host:6379/0",
		"postgres://u:p%40w@h/db?sslmode=x": "postgres://u:***@h/db?sslmode=x",
		"https://user@host":                 "https://user@host",
		"https://host/a@b":                  "https://host/a@b",
		"https://u:p@w@host/%zz":            "https://***",
		"text @ :// that is no URL":         "text @ ://***",
		"mail@host":                         "mail@host",
	} {
		if got := maskURL(in); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}

func TestRedacted(t *testing.T) {
	c := mustLoad(t, map[string]string{"config.yaml": `
redis: {base: {password: open-sesame, host: h, url: "redis://:open-sesame@h/0"}, clients: {limiter: {sharedSecret: 12345}}}
jwt: {base: {key: open-sesame}}
mail: {apiKey: open-sesame, empty: "", on: true, n: null, list: [open-sesame]}
`}, "SERVER_KEYS=open-sesame,open-sesame-2")
	var jwt struct {
		Key Secret `koanf:"key"`
	}
	var mail struct {
		APIKey ownSecret `koanf:"apiKey"`
		Empty  Secret    `koanf:"empty"`
		On     bool      `koanf:"on"`
		N      *int      `koanf:"n"`
		List   []Secret  `koanf:"list"`
	}
	if err := errors.Join(c.Decode(&jwt, "jwt", "base"), c.Decode(&mail, "mail")); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"redis": map[string]any{
			"base":    map[string]any{"password": mask, "host": "h", "url": "redis://:***@h/0"},
			"clients": map[string]any{"limiter": map[string]any{"sharedSecret": mask}},
		},
		"jwt":    map[string]any{"base": map[string]any{"key": mask}},
		"mail":   map[string]any{"apiKey": mask, "empty": "", "on": true, "n": nil, "list": []any{mask}},
		"server": map[string]any{"keys": []any{mask, mask}},
	}
	if got := c.Redacted(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := c.Redacted("server", "keys", "[1]"); got != mask {
		t.Errorf("one key: %v", got)
	}
}

package passport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/vonago/vonago/onion"
)

type jwtVectors struct {
	App, Secret, Issuer string
	Cases               []jwtCase
}

type jwtCase struct {
	Name, Token  string
	Client       Client
	At           int64
	RoutePathRaw string
	Valid        bool
	Why          Reason
	Data         struct {
		UserID, AuthID ID
		Token          string
	}
}

func (c jwtCase) payload() Payload {
	return Payload{UserID: c.Data.UserID, AuthID: c.Data.AuthID, Token: c.Data.Token}
}

// Every token recorded from Vona, at the time of its recording.
func TestVerifyVectors(t *testing.T) {
	var file jwtVectors
	vectorFile(t, "jwt.json", &file)
	if len(file.Cases) < 9 {
		t.Fatalf("only %d cases", len(file.Cases))
	}
	for _, tc := range file.Cases {
		t.Run(tc.Name, func(t *testing.T) {
			tokens, err := NewTokens(file.Issuer, Keys{Secret(file.Secret)}, DefaultConfig(), clockAt(tc.At))
			if err != nil {
				t.Fatal(err)
			}
			claims, err := tokens.Verify(tc.Token, tc.Client, tc.RoutePathRaw)
			if got := reasonOf(t, err); got != tc.Why || (err == nil) != tc.Valid {
				t.Fatalf("got reason %q, want %q", got, tc.Why)
			}
			if tc.Valid && (claims.Payload != tc.payload() || claims.Client != tc.Client) {
				t.Errorf("got %+v, want %+v", claims, tc.payload())
			}
		})
	}
}

// What is signed here is byte for byte what Vona signed, at the same time for the same user.
func TestSignVectors(t *testing.T) {
	var file jwtVectors
	vectorFile(t, "jwt.json", &file)
	opts := map[string]SignOptions{
		"access": {}, "refresh": {},
		"temporary token on its path": {Temp: true, Paths: []string{"/oracle/probe/priv"}},
	}
	for _, tc := range file.Cases {
		o, ok := opts[tc.Name]
		if !ok {
			continue
		}
		delete(opts, tc.Name)
		t.Run(tc.Name, func(t *testing.T) {
			token, err := newTokens(t, clockAt(tc.At-1)).Sign(tc.Client, tc.payload(), o)
			if err != nil {
				t.Fatal(err)
			}
			if token != tc.Token {
				t.Errorf("got  %s\nwant %s", token, tc.Token)
			}
		})
	}
	if len(opts) > 0 {
		t.Errorf("not in the vectors: %v", opts)
	}
}

func TestLifetimes(t *testing.T) {
	tokens := newTokens(t, testNow)
	for _, tc := range []struct {
		client Client
		opts   SignOptions
		want   time.Duration
	}{
		{ClientAccess, SignOptions{}, 2 * time.Hour},
		{ClientRefresh, SignOptions{}, 7 * 24 * time.Hour},
		{ClientOAuth, SignOptions{}, 5 * time.Minute},
		{ClientCode, SignOptions{}, 3 * time.Minute},
		{ClientAccess, SignOptions{Temp: true}, 10 * time.Minute},
		{ClientAccess, SignOptions{ExpiresIn: time.Second}, time.Second},
		{ClientAccess, SignOptions{ExpiresIn: time.Second, Temp: true}, time.Second},
	} {
		token := mustSign(t, tokens, tc.client, tc.opts)
		claims, err := tokens.Verify(token, tc.client, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := claims.ExpiresAt.Unix() - int64(testNow); got != int64(tc.want/time.Second) {
			t.Errorf("%s %+v lives %d s, want %v", tc.client, tc.opts, got, tc.want)
		}
		last := newTokens(t, testNow+clockAt(tc.want/time.Second)-1)
		if _, err := last.Verify(token, tc.client, ""); err != nil {
			t.Errorf("%s is refused in its last second: %v", tc.client, err)
		}
		over := newTokens(t, testNow+clockAt(tc.want/time.Second))
		if _, err := over.Verify(token, tc.client, ""); reasonOf(t, err) != ReasonExpired {
			t.Errorf("%s after its life: %v", tc.client, err)
		}
	}
}

func TestSignRefuses(t *testing.T) {
	tokens := newTokens(t, testNow)
	long := make([]string, 500)
	for i := range long {
		long[i] = fmt.Sprintf("/demo/student/%d", i)
	}
	for name, tc := range map[string]struct {
		client  Client
		payload Payload
		opts    SignOptions
		want    string
	}{
		"unknown client":     {"Access", testPayload(), SignOptions{}, `unknown client "Access"`},
		"no user":            {ClientAccess, Payload{}, SignOptions{}, "no user id"},
		"empty user":         {ClientAccess, Payload{UserID: StringID("")}, SignOptions{}, "no user id"},
		"negative life":      {ClientAccess, testPayload(), SignOptions{ExpiresIn: -time.Second}, "whole seconds"},
		"part of a second":   {ClientAccess, testPayload(), SignOptions{ExpiresIn: 1500 * time.Millisecond}, "whole seconds"},
		"longer than a life": {ClientAccess, testPayload(), SignOptions{ExpiresIn: 200_000 * time.Hour}, "ten years"},
		"too long":           {ClientAccess, testPayload(), SignOptions{Paths: long}, "longer than 8192 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			token, err := tokens.Sign(tc.client, tc.payload, tc.opts)
			if err == nil || token != "" || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestPaths(t *testing.T) {
	tokens := newTokens(t, testNow)
	one := mustSign(t, tokens, ClientAccess, SignOptions{Paths: []string{testRoute}})
	two := mustSign(t, tokens, ClientAccess, SignOptions{Paths: []string{"/a<b>&c", testRoute}})
	all := mustSign(t, tokens, ClientAccess, SignOptions{})
	if raw, err := strictEncoding.DecodeString(strings.Split(two, ".")[1]); err != nil || !strings.Contains(string(raw), `"path":["/a<b>&c",`) {
		t.Errorf("paths are not written as Vona writes them: %s (%v)", raw, err)
	}
	for _, tc := range []struct {
		token, route string
		want         Reason
	}{
		{one, testRoute, ""},
		{one, "/demo/student/:ID", ReasonPath},
		{one, "/demo/student/1", ReasonPath},
		{one, "/demo/student", ReasonPath},
		{one, "", ReasonPath},
		{two, testRoute, ""},
		{two, "/a<b>&c", ""},
		{two, "/a", ReasonPath},
		{all, testRoute, ""},
		{all, "", ""},
	} {
		if _, err := tokens.Verify(tc.token, ClientAccess, tc.route); reasonOf(t, err) != tc.want {
			t.Errorf("route %q: got %v, want %q", tc.route, err, tc.want)
		}
	}
}

// Contract P1 and the rotation of issue keys: the first key signs, all verify.
func TestKeyRotation(t *testing.T) {
	before := newTokens(t, testNow, "old")
	after := newTokens(t, testNow, "new", "old")
	done := newTokens(t, testNow, "new")
	old := mustSign(t, before, ClientAccess, SignOptions{})
	fresh := mustSign(t, after, ClientAccess, SignOptions{})
	for _, tc := range []struct {
		name   string
		tokens *Tokens
		token  string
		want   Reason
	}{
		{"an old token while both keys stand", after, old, ""},
		{"a new token while both keys stand", after, fresh, ""},
		{"a new token when the old key is gone", done, fresh, ""},
		{"an old token when the old key is gone", done, old, ReasonSignature},
		{"a new token where only the old key is known", before, fresh, ReasonSignature},
	} {
		if _, err := tc.tokens.Verify(tc.token, ClientAccess, ""); reasonOf(t, err) != tc.want {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}

	cfg := DefaultConfig()
	cfg.Base.Secret = "base"
	base, err := NewTokens(testApp, Keys{"old"}, cfg, testNow)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := base.Verify(old, ClientAccess, ""); reasonOf(t, err) != ReasonSignature {
		t.Errorf("server.keys verify beside jwt.base.secret: %v", err)
	}
}

func TestNewTokensRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		issuer string
		keys   Keys
		edit   func(*Config)
		want   string
	}{
		"no key":       {testApp, nil, nil, "server.keys: there is none"},
		"an empty key": {testApp, Keys{"a", ""}, nil, "server.keys[1]: must not be empty"},
		"no name":      {"", Keys{"a"}, nil, "app.name: must not be empty"},
		"several at once": {"", Keys{"", ""}, func(c *Config) { c.Clients.Code.SignOptions.ExpiresIn, c.Clients.OAuth.SignOptions.ExpiresIn = 0, -1 },
			"app.name: must not be empty: it is the issuer of tokens\n" +
				"server.keys[0]: must not be empty: anyone can sign with an empty key\n" +
				"server.keys[1]: must not be empty: anyone can sign with an empty key\n" +
				"jwt.clients.oauth.signOptions.expiresIn: want 1 to 315360000 seconds, got -1\n" +
				"jwt.clients.code.signOptions.expiresIn: want 1 to 315360000 seconds, got 0"},
		"a life of zero": {testApp, Keys{"a"}, func(c *Config) { c.Clients.Code.SignOptions.ExpiresIn = 0 }, "jwt.clients.code.signOptions.expiresIn: want 1 to"},
		"a long life":    {testApp, Keys{"a"}, func(c *Config) { c.TempAuthToken.SignOptions.ExpiresIn = maxLife + 1 }, "jwt.tempAuthToken.signOptions.expiresIn: want 1 to"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := DefaultConfig()
			if tc.edit != nil {
				tc.edit(&cfg)
			}
			_, err := NewTokens(tc.issuer, tc.keys, cfg, testNow)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
			env := onion.NewEnv(tc.issuer, onion.ModeTest, "", nil, testNow)
			if err := onion.Provide(env, tc.keys); err != nil {
				t.Fatal(err)
			}
			if again := cfg.Check(env); again == nil || again.Error() != err.Error() {
				t.Errorf("the section's check says %v, want %v", again, err)
			}
		})
	}
}

// No way of printing gives a secret away.
func TestNothingPrintsSecrets(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Base.Secret = testKey
	tokens := newTokens(t, testNow)
	token := mustSign(t, tokens, ClientAccess, SignOptions{})
	claims, err := tokens.Verify(token, ClientAccess, "")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	keys, err := json.Marshal(Keys{testKey})
	if err != nil {
		t.Fatal(err)
	}
	text := string(keys)
	if asJSON, err := json.Marshal(map[string]any{"claims": claims}); err == nil {
		text += string(asJSON)
	}
	for _, v := range []any{cfg, &cfg, Keys{testKey}, Secret(testKey), tokens, *claims, claims, claims.Payload, &claims.Payload} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			text += fmt.Sprintf(verb, v) + "\n"
		}
		logger.Info("x", "v", v)
	}
	text += log.String()
	hex := fmt.Sprintf("%x %x", testKey, testSecret)
	for _, secret := range append(strings.Fields(hex), testKey, testSecret, fmt.Sprint([]byte(testKey))) {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in %s", secret, text)
		}
	}
	if Secret("a").Reveal() != "a" || Secret("").String() != "" {
		t.Error("a Secret reveals something else")
	}
}

package passport

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/vonago/vonago/onion"
)

func TestDecoratorsNameTheirAuthor(t *testing.T) {
	for name, use := range map[string]onion.Use{
		"Public": Public(), "Activated": Activated(true), "UserName": UserName("a"), "RoleName": RoleName("a"), "SystemAdmin": SystemAdmin(),
	} {
		if !strings.HasPrefix(use.Where, "passport/module_test.go:") {
			t.Errorf("%s stands at %q", name, use.Where)
		}
	}
}

func TestModuleProvides(t *testing.T) {
	env := testEnv(nil, testNow)
	m := Module()
	if err := m.Provide(env); err == nil || !strings.Contains(err.Error(), "server.keys: there is none, and no jwt.base.secret") {
		t.Fatalf("without a key: %v", err)
	}
	m.Settings.Base.Secret = "only this"
	if err := m.Provide(env); err != nil {
		t.Fatalf("jwt.base.secret is enough: %v", err)
	}
	if err := m.Provide(env); err == nil || !strings.Contains(err.Error(), "provided twice") {
		t.Fatalf("a second time: %v", err)
	}
	m.Settings.Field.Header = "no header"
	if err := m.Provide(testEnv(nil, testNow)); err == nil || !strings.Contains(err.Error(), "jwt.field.header") {
		t.Fatalf("a bad header name: %v", err)
	}
	if err := m.Settings.Check(env); err == nil || !strings.HasPrefix(err.Error(), "jwt.field.header: ") {
		t.Errorf("the section's check of a bad header name: %v", err)
	}
	if m.Config()["jwt"] != &m.Settings {
		t.Error("the section jwt fills something else")
	}
}

func TestTokensNeedTheModule(t *testing.T) {
	if _, err := buildGuard(defaultOptions(), testEnv(nil, testNow)); err == nil || !strings.Contains(err.Error(), "module a-user") {
		t.Errorf("got %v", err)
	}
}

func TestShortKeysAreWarnedAbout(t *testing.T) {
	for _, tc := range []struct {
		mode onion.Mode
		key  Secret
		want bool
	}{
		{onion.ModeProd, testKey, true}, {onion.ModeDev, testKey, false}, {onion.ModeProd, Secret(strings.Repeat("k", 32)), false},
	} {
		var log bytes.Buffer
		env := onion.NewEnv(testApp, tc.mode, "", slog.New(slog.NewTextHandler(&log, nil)), testNow)
		m := Module()
		m.Settings.Base.Secret = tc.key
		if err := m.Provide(env); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), "short"); got != tc.want {
			t.Errorf("%s, %d bytes: warned %v", tc.mode, len(tc.key), got)
		}
		if strings.Contains(log.String(), tc.key.Reveal()) {
			t.Error("the warning shows the key")
		}
	}
}

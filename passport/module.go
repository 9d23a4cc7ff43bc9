package passport

import (
	"errors"

	"github.com/vonago/vonago/onion"
)

const moduleName = "a-user"

// weakKeyBytes is the length under which RFC 7518, 3.2 calls a key too short for HS256.
const weakKeyBytes = 32

// UserModule is the module a-user: the three guards and the service *Tokens.
type UserModule struct {
	onion.Basic

	// Settings is the section jwt; the application fills it from its configuration.
	Settings Config
}

var (
	_ onion.Configurable = (*UserModule)(nil)
	_ onion.Provider     = (*UserModule)(nil)
)

// Module makes the module a-user with DefaultConfig.
func Module() *UserModule {
	return &UserModule{
		Basic:    onion.Basic{ModuleName: moduleName, ModuleOnions: []onion.Onion{Guard, UserNameGuard, RoleNameGuard}},
		Settings: DefaultConfig(),
	}
}

// Config names the section jwt.
func (m *UserModule) Config() map[string]any { return map[string]any{"jwt": &m.Settings} }

// Provide offers *Tokens. The application's keys are the service Keys, which the application has provided before.
func (m *UserModule) Provide(env onion.Env) error {
	tokens, err := NewTokens(env.AppName, serverKeys(env), m.Settings, env.Clock)
	if err != nil {
		return err //nolint:wrapcheck // the application names the module
	}
	extract, err := newExtractor(m.Settings.Field)
	if err != nil {
		return err //nolint:wrapcheck // the application names the module
	}
	for i, key := range tokens.keys {
		if env.Production() && len(key) < weakKeyBytes {
			env.Logger.Warn("a key that signs tokens is short: whoever guesses it can be anyone", "key", i, "bytes", len(key), "want", weakKeyBytes)
		}
	}
	return errors.Join(
		onion.Provide(env, tokens),
		onion.Provide(env, &source{extractor: extract, tokens: tokens, stateless: m.Settings.Stateless}),
	)
}

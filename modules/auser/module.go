// Package auser signs users in and out: the module a-user with a token store in Redis (contract E).
//
// Its module takes the place of passport.Module in an application's list. It provides the service *Service, with which
// actions sign in and out, refresh, kick out and make temporary tokens. What it knows of users it asks the application's
// Adapters.
package auser

import (
	"errors"
	"fmt"

	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// Config is the section "modules.a-user".
type Config struct {
	// SignIn is what becomes of a sign-in that is there when the same auth signs in again: Refresh by default.
	SignIn Strategy `koanf:"signIn" validate:"oneof=reissue refresh reuse"`
	// RefreshAuthToken is what becomes of it when its refresh token is used: Reissue by default, so that a refresh token
	// is good once.
	RefreshAuthToken Strategy `koanf:"refreshAuthToken" validate:"oneof=reissue refresh reuse"`
}

// Strategy says what becomes of the opaque token of a sign-in that is in the store. Where there is none, a sign-in makes one.
type Strategy string

// The strategies of Vona.
const (
	// Reissue replaces the token: what was signed for the one before is worth nothing from then on.
	Reissue Strategy = "reissue"
	// Refresh keeps the token and gives it its full life again.
	Refresh Strategy = "refresh"
	// Reuse keeps the token and the rest of its life.
	Reuse Strategy = "reuse"
)

// Module is the module a-user with sign-in: the onions, the section "jwt" and the services of passport.Module, the section
// "modules.a-user" (see Config), and the services *Service, passport.Resolver and, unless jwt.stateless is set,
// passport.TokenChecker. In the list of modules it stands after aredis.Module.
func Module(adapters Adapters) onion.Module {
	return &module{UserModule: passport.Module(), adapters: adapters, config: Config{SignIn: Refresh, RefreshAuthToken: Reissue}}
}

type module struct {
	*passport.UserModule

	adapters Adapters
	config   Config
}

var (
	_ onion.Configurable = (*module)(nil)
	_ onion.Provider     = (*module)(nil)
)

// Config gives the sections "jwt" and "modules.a-user".
func (m *module) Config() map[string]any {
	sections := m.UserModule.Config()
	sections["modules."+m.Name()] = &m.config
	return sections
}

// Provide offers the services. It connects to nothing.
func (m *module) Provide(env onion.Env) error {
	if m.adapters.Users == nil {
		return errors.New("auser.Module: Adapters.Users is nil: say where the users are")
	}
	if err := m.UserModule.Provide(env); err != nil {
		return err
	}
	tokens, err := onion.Service[*passport.Tokens](env)
	if err != nil {
		return err
	}
	s := &Service{
		tokens: tokens, config: m.config, mode: env.Mode, clock: env.Clock,
		users: users{m.adapters.Users, m.adapters.Roles}, passports: m.adapters.Passports,
	}
	if s.passports == nil {
		s.passports = s.users
	}
	if !m.Settings.Stateless {
		if s.store, err = m.store(env); err != nil {
			return err
		}
		if err := onion.Provide[passport.TokenChecker](env, s); err != nil {
			return err
		}
	}
	return errors.Join(onion.Provide[passport.Resolver](env, s), onion.Provide(env, s))
}

func (m *module) store(env onion.Env) (TokenStore, error) {
	if m.adapters.Store != nil {
		return m.adapters.Store, nil
	}
	clients, err := onion.Service[*aredis.Clients](env)
	if err != nil {
		return nil, fmt.Errorf("jwt.stateless is false, and the token store needs Redis: list aredis.Module before auser.Module, or set jwt.stateless: %w", err)
	}
	client, err := clients.Client(aredis.Cache)
	if err != nil {
		return nil, err
	}
	return &redisStore{client}, nil
}

package passport

import (
	"errors"
	"fmt"
	"time"

	"github.com/vonago/vonago/onion"
)

// Config is the section "jwt" of the configuration; names and numbers are Vona's (contract P1, P2, P3).
type Config struct {
	Base  BaseConfig  `koanf:"base"`
	Field FieldConfig `koanf:"field"`
	// Stateless trusts a token until it expires. Otherwise its sign-in must still be in the token store (contract P3),
	// which some module has to provide (TokenChecker). A stateless token is not bound to an instance.
	Stateless bool          `koanf:"stateless"`
	Clients   ClientsConfig `koanf:"clients"`
	// TempAuthToken is for the access tokens that stand in URLs.
	TempAuthToken ClientConfig `koanf:"tempAuthToken"`
}

// BaseConfig is what all clients share.
type BaseConfig struct {
	// Secret, if set, is the only key; server.keys then neither sign nor verify tokens.
	Secret Secret `koanf:"secret"`
}

// FieldConfig says where a request carries its token (contract P2).
type FieldConfig struct {
	// Query is the query field, "auth_token" by default; empty turns it off.
	Query string `koanf:"query"`
	// Header is a header field that holds the bare token, looked at after Authorization; empty, the default, is none.
	Header string `koanf:"header"`
}

// ClientsConfig are the four kinds of tokens.
type ClientsConfig struct {
	Access  ClientConfig `koanf:"access"`
	Refresh ClientConfig `koanf:"refresh"`
	OAuth   ClientConfig `koanf:"oauth"`
	Code    ClientConfig `koanf:"code"`
}

// ClientConfig is one kind of token.
type ClientConfig struct {
	SignOptions SignConfig `koanf:"signOptions"`
}

// SignConfig is how a token is made.
type SignConfig struct {
	// ExpiresIn is the token's life in seconds, from 1 second to ten years.
	ExpiresIn int64 `koanf:"expiresIn" validate:"min=1,max=315360000"`
}

// maxLife bounds the life of a token, in seconds: ten years.
const maxLife = 315360000

// DefaultConfig has the lifetimes of contract P1 and the query field of P2; it is not stateless.
func DefaultConfig() Config {
	life := func(d time.Duration) ClientConfig {
		return ClientConfig{SignOptions: SignConfig{ExpiresIn: int64(d / time.Second)}}
	}
	return Config{
		Field: FieldConfig{Query: "auth_token"},
		Clients: ClientsConfig{
			Access:  life(2 * time.Hour),
			Refresh: life(7 * 24 * time.Hour),
			OAuth:   life(5 * time.Minute),
			Code:    life(3 * time.Minute),
		},
		TempAuthToken: life(10 * time.Minute),
	}
}

var _ onion.SectionChecker = Config{}

// Check tells what the types of the section cannot, and whether there is a key (onion.SectionChecker).
func (c Config) Check(env onion.Env) error {
	_, errTokens := NewTokens(env.AppName, serverKeys(env), c, env.Clock)
	_, errField := newExtractor(c.Field)
	return errors.Join(errTokens, errField)
}

// serverKeys are the application's; none may be given, for jwt.base.secret may do.
func serverKeys(env onion.Env) Keys {
	keys, err := onion.Service[Keys](env)
	if err != nil {
		return nil
	}
	return keys
}

// lifetimes are the lives of the clients' tokens.
func (c Config) lifetimes() (map[Client]time.Duration, time.Duration, error) {
	lives, errs := map[Client]time.Duration{}, []error{}
	for _, client := range []struct {
		name Client
		conf ClientConfig
	}{
		{ClientAccess, c.Clients.Access}, {ClientRefresh, c.Clients.Refresh},
		{ClientOAuth, c.Clients.OAuth}, {ClientCode, c.Clients.Code},
	} {
		life, err := client.conf.life("clients." + string(client.name))
		lives[client.name] = life
		errs = append(errs, err)
	}
	temp, err := c.TempAuthToken.life("tempAuthToken")
	return lives, temp, errors.Join(append(errs, err)...)
}

func (c ClientConfig) life(path string) (time.Duration, error) {
	seconds := c.SignOptions.ExpiresIn
	if seconds < 1 || seconds > maxLife {
		return 0, fmt.Errorf("jwt.%s.signOptions.expiresIn: want 1 to %d seconds, got %d", path, maxLife, seconds)
	}
	return time.Duration(seconds) * time.Second, nil
}

// signingKeys are the keys in force: jwt.base.secret alone, or server.keys.
func (c Config) signingKeys(server Keys) (Keys, error) {
	if c.Base.Secret != "" {
		return Keys{c.Base.Secret}, nil
	}
	if len(server) == 0 {
		return nil, errors.New("server.keys: there is none, and no jwt.base.secret: without a key no token can be made or believed")
	}
	var errs []error
	for i, key := range server {
		if key == "" {
			errs = append(errs, fmt.Errorf("server.keys[%d]: must not be empty: anyone can sign with an empty key", i))
		}
	}
	return server, errors.Join(errs...)
}

package auser

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// Tokens are what a client gets that signs in. They print as nothing but their life; as JSON they are themselves.
type Tokens struct {
	AccessToken  string `json:"accessToken"`
	RefreshToken string `json:"refreshToken"`
	// ExpiresIn is the life of the access token, in seconds.
	ExpiresIn int64 `json:"expiresIn"`
}

// String leaves the tokens out.
func (t Tokens) String() string { return fmt.Sprintf("tokens for %d s", t.ExpiresIn) }

// Format leaves the tokens out, whatever the verb.
func (t Tokens) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.String()) }

// LogValue leaves the tokens out.
func (t Tokens) LogValue() slog.Value { return slog.StringValue(t.String()) }

// SignInOptions changes how one sign-in is done.
type SignInOptions struct {
	// Strategy is another one than the configuration's; empty leaves that.
	Strategy Strategy
}

// SignIn signs a user in whose identity the caller has checked, and makes them the caller for the rest of the call. The
// passport needs a user id and, unless everything is stateless, an auth id: what the user signed in with. One auth is one
// sign-in, however many devices share it; to keep devices apart, give each an auth id of its own.
func (s *Service) SignIn(ctx context.Context, p *passport.Passport, opts SignInOptions) (*Tokens, error) {
	if !p.Authenticated() {
		return nil, errors.New("signing in: an anonymous passport, or one without a user id")
	}
	strategy := s.config.SignIn
	if opts.Strategy != "" {
		strategy = opts.Strategy
	}
	if strategy != Reissue && strategy != Refresh && strategy != Reuse {
		return nil, fmt.Errorf("signing in: unknown strategy %q", strategy)
	}
	for _, f := range s.listeners(&s.signIn) {
		if err := f(ctx, p); err != nil {
			return nil, err
		}
	}
	payload, err := s.passports.Serialize(ctx, p)
	if err != nil {
		return nil, answer(fmt.Errorf("serializing a passport: %w", err))
	}
	if s.store != nil {
		if payload.Token, err = s.store.IssueToken(ctx, payload, rand.Text(), strategy); err != nil {
			return nil, answer(fmt.Errorf("storing a sign-in: %w", err))
		}
	}
	tokens, err := s.pair(payload)
	if err != nil {
		return nil, err
	}
	setCurrent(ctx, p)
	return tokens, nil
}

// pair signs the tokens of a sign-in.
func (s *Service) pair(payload passport.Payload) (*Tokens, error) {
	access, err := s.tokens.Sign(passport.ClientAccess, payload, passport.SignOptions{})
	if err != nil {
		return nil, err
	}
	refresh, err := s.tokens.Sign(passport.ClientRefresh, payload, passport.SignOptions{})
	if err != nil {
		return nil, err
	}
	return &Tokens{AccessToken: access, RefreshToken: refresh, ExpiresIn: int64(s.tokens.Life(passport.ClientAccess) / time.Second)}, nil
}

// SignOut ends the caller's sign-in: every token of it is worth nothing from then on, on all devices that share its auth
// id. Where everything is stateless nothing can be taken back: the tokens stay good until they expire. An anonymous caller
// has nothing to end. If the store fails the caller is still signed in.
func (s *Service) SignOut(ctx context.Context) error {
	p := passport.Current(ctx)
	if !p.Authenticated() {
		return nil
	}
	if s.store != nil {
		payload, err := s.passports.Serialize(ctx, p)
		if err != nil {
			return answer(fmt.Errorf("serializing a passport: %w", err))
		}
		if err := s.store.RemoveToken(ctx, payload); err != nil {
			return answer(fmt.Errorf("removing a sign-in: %w", err))
		}
	}
	var errs []error
	for _, f := range s.listeners(&s.signOut) {
		errs = append(errs, f(ctx, p))
	}
	setCurrent(ctx, passport.Anonymous())
	return errors.Join(errs...)
}

// KickOut ends all sign-ins of a user in the instance of ctx. Whoever signs in meanwhile may stay, so keep the user from
// signing in first. It is an error where everything is stateless.
func (s *Service) KickOut(ctx context.Context, user passport.ID) error {
	if s.store == nil {
		return errors.New("kicking a user out: jwt.stateless is set, so that no token can be taken back")
	}
	if err := s.store.RemoveTokens(ctx, user); err != nil {
		return answer(fmt.Errorf("removing the sign-ins of a user: %w", err))
	}
	return nil
}

// mockAuth is where the auth ids of mock users begin; they count down, as in Vona.
const mockAuth = -10000

// SignInMock signs the user of a name in ("admin" if it is empty) without asking for anything, for tests. It is refused
// (403) in any mode but test and dev.
func (s *Service) SignInMock(ctx context.Context, name string) (*Tokens, error) {
	if s.mode != onion.ModeTest && s.mode != onion.ModeDev {
		return nil, onion.NewError(http.StatusForbidden, fmt.Errorf("sign-in of a mock user in mode %s", s.mode))
	}
	if name == "" {
		name = "admin"
	}
	user, err := s.FindUser(ctx, name)
	if err != nil {
		return nil, err
	}
	if user == nil {
		return nil, passport.Unauthorized(nil)
	}
	p, err := s.users.passport(ctx, *user, passport.NumberID(mockAuth-s.mocked.Add(1)))
	if err != nil {
		return nil, answer(err)
	}
	return s.SignIn(ctx, p, SignInOptions{})
}

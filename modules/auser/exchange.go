package auser

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// Refresh exchanges a refresh token for new tokens and makes its user the caller for the rest of the call. Its rules are
// those of the strategy modules.a-user.refreshAuthToken:
//
//   - Reissue: the refresh token is good once. All tokens of the sign-in, access tokens too, are replaced by the new ones;
//     of two calls with one token one succeeds, and the other, like any later one, is a 401 and changes nothing.
//   - Refresh: the refresh token stays good until it expires, and the sign-in in the store gets its full life again.
//   - Reuse: the same, but the sign-in keeps the rest of its life, so that it ends 30 days after it began.
//
// In every case the token must be a refresh token, its sign-in in force, and its user still there. Where everything is
// stateless it only has to be a refresh token of a user who is there.
func (s *Service) Refresh(ctx context.Context, refreshToken string) (*Tokens, error) {
	claims, p, err := s.verify(ctx, refreshToken, passport.ClientRefresh)
	if err != nil {
		return nil, err
	}
	payload := claims.Payload
	if s.store != nil {
		if payload, err = s.renew(ctx, payload); err != nil {
			return nil, err
		}
	}
	tokens, err := s.pair(payload)
	if err != nil {
		return nil, err
	}
	setCurrent(ctx, p)
	return tokens, nil
}

// renew applies the strategy to the sign-in of a payload.
func (s *Service) renew(ctx context.Context, payload passport.Payload) (passport.Payload, error) {
	fresh := payload.Token
	switch s.config.RefreshAuthToken {
	case Reuse:
		return payload, nil // verify has found it in force
	case Refresh:
	default:
		fresh = rand.Text()
	}
	done, err := s.store.ReplaceToken(ctx, payload, fresh)
	if err != nil {
		return payload, answer(fmt.Errorf("renewing a sign-in: %w", err))
	}
	if !done { // since verify looked
		return payload, answer(&passport.TokenError{Reason: passport.ReasonRevoked})
	}
	payload.Token = fresh
	return payload, nil
}

// CreateTempAuthToken makes an access token of the caller's with a short life (jwt.tempAuthToken), to stand in a URL. Name
// the routes that it is for in opts.Paths, by their raw templates; without any it is good everywhere.
func (s *Service) CreateTempAuthToken(ctx context.Context, opts passport.SignOptions) (string, error) {
	opts.Temp = true
	return s.own(ctx, passport.ClientAccess, opts)
}

// CreateOAuthToken makes a token of the caller's that can be exchanged for a code and for nothing else: for a page that
// asks the user whether another application may act for them.
func (s *Service) CreateOAuthToken(ctx context.Context, opts passport.SignOptions) (string, error) {
	return s.own(ctx, passport.ClientOAuth, opts)
}

// CreateOAuthCode makes a code of the caller's, for SignInByOAuthCode.
func (s *Service) CreateOAuthCode(ctx context.Context, opts passport.SignOptions) (string, error) {
	return s.own(ctx, passport.ClientCode, opts)
}

// CreateOAuthCodeFromToken exchanges a token of CreateOAuthToken for a code.
func (s *Service) CreateOAuthCodeFromToken(ctx context.Context, oauthToken string, opts passport.SignOptions) (string, error) {
	claims, _, err := s.verify(ctx, oauthToken, passport.ClientOAuth)
	if err != nil {
		return "", err
	}
	return s.tokens.Sign(passport.ClientCode, claims.Payload, opts)
}

// SignInByOAuthCode exchanges a code for the tokens of its sign-in and makes its user the caller for the rest of the call.
// A code is good once (RFC 6749, 4.1.2); where everything is stateless, until it expires. It begins no sign-in, so OnSignIn
// is not called.
func (s *Service) SignInByOAuthCode(ctx context.Context, code string) (*Tokens, error) {
	claims, p, err := s.verify(ctx, code, passport.ClientCode)
	if err != nil {
		return nil, err
	}
	if s.store != nil {
		digest := sha256.Sum256([]byte(code))
		// A minute more than it lives: Redis has a clock of its own.
		life := claims.ExpiresAt.Sub(s.clock.Now()) + time.Minute
		first, err := s.store.SpendCode(ctx, base64.RawURLEncoding.EncodeToString(digest[:]), life)
		if err != nil {
			return nil, answer(fmt.Errorf("spending a code: %w", err))
		}
		if !first {
			return nil, answer(&passport.TokenError{Reason: passport.ReasonRevoked, Detail: "a code is good once"})
		}
	}
	tokens, err := s.pair(claims.Payload)
	if err != nil {
		return nil, err
	}
	setCurrent(ctx, p)
	return tokens, nil
}

// own signs a token for the caller's sign-in as it is. It never begins one: who was kicked out a moment ago stays out.
func (s *Service) own(ctx context.Context, client passport.Client, opts passport.SignOptions) (string, error) {
	p := passport.Current(ctx)
	if !p.Authenticated() {
		return "", passport.Unauthorized(nil)
	}
	payload, err := s.passports.Serialize(ctx, p)
	if err != nil {
		return "", answer(fmt.Errorf("serializing a passport: %w", err))
	}
	if s.store != nil {
		if payload.Token, err = s.store.FindToken(ctx, payload); err != nil {
			return "", answer(fmt.Errorf("looking for a sign-in: %w", err))
		}
		if payload.Token == "" {
			return "", answer(&passport.TokenError{Reason: passport.ReasonRevoked})
		}
	}
	return s.tokens.Sign(client, payload, opts)
}

// verify checks a token for another client than access, its sign-in and its user.
func (s *Service) verify(ctx context.Context, token string, client passport.Client) (*passport.Claims, *passport.Passport, error) {
	route := ""
	if c := onion.CallFrom(ctx); c != nil && c.Route != nil {
		route = c.Route.Raw
	}
	claims, err := s.tokens.Verify(token, client, route)
	if err != nil {
		return nil, nil, answer(err)
	}
	if err := s.CheckToken(ctx, claims.Payload); err != nil {
		return nil, nil, answer(fmt.Errorf("checking a sign-in: %w", err))
	}
	p, err := s.Resolve(ctx, claims.Payload)
	if err != nil {
		return nil, nil, answer(fmt.Errorf("resolving a user: %w", err))
	}
	return claims, p, nil
}

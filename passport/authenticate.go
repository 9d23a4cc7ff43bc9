package passport

import (
	"context"
	"fmt"
	"net/http"

	"github.com/vonago/vonago/onion"
)

// Resolver turns the payload of a verified token into a passport: it finds the user and its roles. A user that is no
// more is a *TokenError with ReasonUnknownUser; any other error is a failure of the resolver's and answers 503.
//
// A module offers one as a service (onion.Provide[passport.Resolver]). Without one the payload is trusted: the user is
// activated and has neither name nor roles.
type Resolver interface {
	Resolve(ctx context.Context, payload Payload) (*Passport, error)
}

// TokenChecker says whether a sign-in is still in force (contract P3); it is not asked where jwt.stateless is set. A
// sign-in that is gone or was replaced is a *TokenError with ReasonRevoked; any other error is a failure of the store's
// and answers 503. The instance is that of the call in ctx: a sign-in holds for one instance.
type TokenChecker interface {
	CheckToken(ctx context.Context, payload Payload) error
}

// trusting is the Resolver where no module offers one.
type trusting struct{}

func (trusting) Resolve(_ context.Context, p Payload) (*Passport, error) {
	return &Passport{User: User{ID: p.UserID, Activated: true}, Auth: Auth{ID: p.AuthID}}, nil
}

// source is what the module a-user provides for its guards: how to find, verify and resolve tokens.
type source struct {
	extractor

	tokens    *Tokens
	stateless bool
}

// authenticator is a source with the services of other modules, which may be provided after it.
type authenticator struct {
	*source

	checker  TokenChecker // nil where stateless
	resolver Resolver
}

func newAuthenticator(env onion.Env) (*authenticator, error) {
	src, err := onion.Service[*source](env)
	if err != nil {
		return nil, fmt.Errorf("module %s has not been provided: %w", moduleName, err)
	}
	a := &authenticator{source: src, resolver: trusting{}}
	if resolver, err := onion.Service[Resolver](env); err == nil {
		a.resolver = resolver
	}
	if src.stateless {
		return a, nil
	}
	if a.checker, err = onion.Service[TokenChecker](env); err != nil {
		return nil, fmt.Errorf("jwt.stateless is false, and there is no token store: list a module that has one, or set jwt.stateless: %w", err)
	}
	return a, nil
}

// authenticate gives the passport of the token that a call carries; nil if it carries none. Its error is a *TokenError
// for a bad token, and an *onion.Error for a store that fails.
func (a *authenticator) authenticate(ctx context.Context, c *onion.Call) (*Passport, error) {
	token, err := a.token(c)
	if token == "" || err != nil {
		return nil, err
	}
	route := ""
	if c.Route != nil {
		route = c.Route.Raw
	}
	claims, err := a.tokens.Verify(token, ClientAccess, route)
	if err != nil {
		return nil, err
	}
	if a.checker != nil {
		if err := a.checker.CheckToken(ctx, claims.Payload); err != nil {
			return nil, failure("checking a sign-in", err)
		}
	}
	p, err := a.resolver.Resolve(ctx, claims.Payload)
	if err != nil {
		return nil, failure("resolving a user", err)
	}
	if p == nil {
		return nil, refuse(ReasonUnknownUser, "")
	}
	return p, nil
}

// failure tells a bad token from a store that fails. The latter closes: to go on as anonymous would serve a signed-in
// caller the wrong answer.
func failure(doing string, err error) error {
	if bad := tokenError(err); bad != nil {
		return bad
	}
	return onion.NewError(http.StatusServiceUnavailable, fmt.Errorf("%s: %w", doing, err))
}

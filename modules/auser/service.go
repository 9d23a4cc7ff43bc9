package auser

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// Service signs users in and out. The module provides it as *Service; it is safe for concurrent use.
//
// Errors of its methods are answers: a 401 with WWW-Authenticate for whoever may not, a 503 for a store or an adapter that
// fails. No error, log line or trace holds a token.
type Service struct {
	tokens    *passport.Tokens
	config    Config
	mode      onion.Mode
	clock     onion.Clock
	users     users
	passports PassportAdapter
	store     TokenStore // nil where stateless
	mocked    atomic.Int64

	mu      sync.Mutex
	signIn  []Listener
	signOut []Listener
}

var (
	_ passport.Resolver     = (*Service)(nil)
	_ passport.TokenChecker = (*Service)(nil)
)

// Listener is told of a sign-in or a sign-out, in the context of the call that does it.
type Listener func(ctx context.Context, p *passport.Passport) error

// OnSignIn has f called at every sign-in, after those added before, and before a token is made: an error refuses the
// sign-in and is the answer. Modules call it from their Provide.
func (s *Service) OnSignIn(f Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signIn = append(s.signIn, f)
}

// OnSignOut has f called after every sign-out, when the tokens are worth nothing any more. Every listener is called; their
// errors are the answer. A kick-out is no sign-out: it is not the user's doing, and may end many.
func (s *Service) OnSignOut(f Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signOut = append(s.signOut, f)
}

// listeners gives a list as it is now.
func (s *Service) listeners(list *[]Listener) []Listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (*list)[:len(*list):len(*list)]
}

// CheckToken implements passport.TokenChecker: the payload's token must be the stored one. It asks the store once.
func (s *Service) CheckToken(ctx context.Context, payload passport.Payload) error {
	if s.store == nil {
		return nil
	}
	if payload.Token == "" {
		return &passport.TokenError{Reason: passport.ReasonRevoked, Detail: "it names no sign-in"}
	}
	held, err := s.store.FindToken(ctx, payload)
	switch {
	case err != nil:
		return err
	case !same(held, payload.Token):
		return &passport.TokenError{Reason: passport.ReasonRevoked}
	default:
		return nil
	}
}

// Resolve implements passport.Resolver.
func (s *Service) Resolve(ctx context.Context, payload passport.Payload) (*passport.Passport, error) {
	p, err := s.passports.Deserialize(ctx, payload)
	switch {
	case err != nil:
		return nil, err
	case p == nil:
		return nil, &passport.TokenError{Reason: passport.ReasonUnknownUser}
	default:
		return p, nil
	}
}

// FindUser gives the user of a name, nil if there is none.
func (s *Service) FindUser(ctx context.Context, name string) (*passport.User, error) {
	user, err := s.users.users.FindUser(ctx, UserQuery{Name: name})
	return user, answer(err)
}

// Register creates a user. Whether it is activated is for the caller to say.
func (s *Service) Register(ctx context.Context, user passport.User) (*passport.User, error) {
	if user.Anonymous || !user.ID.IsZero() {
		return nil, errors.New("registering a user: it is anonymous, or has an id already")
	}
	created, err := s.users.users.CreateUser(ctx, user)
	return created, answer(err)
}

// Activate activates the caller, who then passes guards that want activated users. A caller that is not signed in is a 401.
func (s *Service) Activate(ctx context.Context) error {
	current := passport.Current(ctx)
	if !current.Authenticated() {
		return passport.Unauthorized(nil)
	}
	if err := s.users.users.ActivateUser(ctx, current.User.ID); err != nil {
		return answer(err)
	}
	activated := *current
	activated.User.Activated = true
	setCurrent(ctx, &activated)
	return nil
}

// setCurrent makes p the caller for the rest of the call, if there is one.
func setCurrent(ctx context.Context, p *passport.Passport) {
	if c := onion.CallFrom(ctx); c != nil {
		passport.Set(c, p)
	}
}

// answer makes an answer of an error: what is one already stays, a bad token is a 401, a mistake of the application's a 500,
// anything else a 503.
func answer(err error) error {
	if err == nil {
		return nil
	}
	if bad, ok := errors.AsType[*passport.TokenError](err); ok {
		return passport.Unauthorized(bad)
	}
	if own, ok := errors.AsType[*onion.Error](err); ok {
		return own
	}
	switch {
	case errors.Is(err, errNoInstance):
		return passport.Unauthorized(nil)
	case errors.Is(err, errNoAuth):
		return err
	}
	return onion.NewError(http.StatusServiceUnavailable, err)
}

// same compares two tokens, in a time that does not tell how much of them is alike. No token is the same as none.
func same(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

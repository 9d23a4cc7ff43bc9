package auser

import (
	"context"
	"time"

	"github.com/vonago/vonago/passport"
)

// Adapters are what the module asks of an application. Users is needed, the others have defaults.
type Adapters struct {
	// Users finds and changes the application's users.
	Users UserAdapter
	// Roles gives the roles of a user; without it nobody has any.
	Roles RoleAdapter
	// Passports turns a passport into the payload of its tokens and back; the default writes the two ids, and asks Users
	// and Roles for the rest.
	Passports PassportAdapter
	// Store keeps the sign-ins; the default keeps them in the Redis client "cache" (contract P3). It is not asked where
	// jwt.stateless is set.
	Store TokenStore
}

// UserAdapter is where users are. It is called by many requests at once, and finds its tenant with instance.Current(ctx).
type UserAdapter interface {
	// FindUser gives a user, nil without an error if there is none. Any error is taken for a failure, and answers 503.
	FindUser(ctx context.Context, by UserQuery) (*passport.User, error)
	// CreateUser adds a user and gives it with its id. The id of user is not set.
	CreateUser(ctx context.Context, user passport.User) (*passport.User, error)
	// ActivateUser marks a user as activated. To do it twice is no error.
	ActivateUser(ctx context.Context, id passport.ID) error
}

// UserQuery asks for one user, by ID if that is given and else by Name.
type UserQuery struct {
	ID   passport.ID
	Name string
}

// RoleAdapter knows the roles of users.
type RoleAdapter interface {
	// RolesOf gives the names of a user's roles.
	RolesOf(ctx context.Context, user passport.User) ([]string, error)
}

// PassportAdapter turns passports into payloads and back.
type PassportAdapter interface {
	// Serialize gives what tokens say of a passport. The payload's Token is left empty: the module sets it.
	Serialize(ctx context.Context, p *passport.Passport) (passport.Payload, error)
	// Deserialize gives the passport of a payload; nil without an error if its user is no more.
	Deserialize(ctx context.Context, payload passport.Payload) (*passport.Passport, error)
}

// TokenStore keeps one opaque token per sign-in: per instance, user and auth id of a payload (contract P3). Its methods
// are atomic, and the instance is that of ctx.
type TokenStore interface {
	TokenFinder
	TokenIssuer
	TokenRemover
}

// TokenFinder reads the store.
type TokenFinder interface {
	// FindToken gives the token of a sign-in, "" if it is not signed in. It is asked once per request.
	FindToken(ctx context.Context, payload passport.Payload) (string, error)
}

// TokenIssuer changes sign-ins.
type TokenIssuer interface {
	// IssueToken stores fresh, or keeps the token that is there if the strategy says so, and gives the one in force.
	IssueToken(ctx context.Context, payload passport.Payload, fresh string, strategy Strategy) (string, error)
	// ReplaceToken puts fresh in the place of the payload's token and renews its life; false if another one, or none, is
	// there. fresh may be the same token.
	ReplaceToken(ctx context.Context, payload passport.Payload, fresh string) (bool, error)
	// SpendCode takes note that a code was used, for the rest of its life, and reports whether this was the first time. code
	// is a digest.
	SpendCode(ctx context.Context, code string, life time.Duration) (bool, error)
}

// TokenRemover ends sign-ins.
type TokenRemover interface {
	// RemoveToken ends the sign-in of a payload, if there is one.
	RemoveToken(ctx context.Context, payload passport.Payload) error
	// RemoveTokens ends all sign-ins of a user, in this instance.
	RemoveTokens(ctx context.Context, user passport.ID) error
}

// users is the default PassportAdapter.
type users struct {
	users UserAdapter
	roles RoleAdapter
}

// Serialize gives the two ids.
func (users) Serialize(_ context.Context, p *passport.Passport) (passport.Payload, error) {
	return passport.Payload{UserID: p.User.ID, AuthID: p.Auth.ID}, nil
}

// Deserialize asks for the user and its roles.
func (u users) Deserialize(ctx context.Context, payload passport.Payload) (*passport.Passport, error) {
	user, err := u.users.FindUser(ctx, UserQuery{ID: payload.UserID})
	if err != nil || user == nil {
		return nil, err
	}
	return u.passport(ctx, *user, payload.AuthID)
}

func (u users) passport(ctx context.Context, user passport.User, auth passport.ID) (*passport.Passport, error) {
	p := &passport.Passport{User: user, Auth: passport.Auth{ID: auth}}
	if u.roles == nil {
		return p, nil
	}
	var err error
	p.Roles, err = u.roles.RolesOf(ctx, user)
	return p, err
}

package passport

import (
	"context"
	"slices"

	"github.com/vonago/vonago/onion"
)

// anonymousSubject is the subject of every anonymous caller (contract A5).
const anonymousSubject = "anonymous"

// anonymousID is the id of every anonymous user.
var anonymousID = NumberID(-1)

// User is the user of a passport.
type User struct {
	ID        ID     `json:"id"`
	Name      string `json:"name,omitempty"`
	Anonymous bool   `json:"anonymous,omitempty"`
	// Activated users pass guards that ask for it, as a-user:passport does by default.
	Activated bool `json:"activated,omitempty"`
}

// Auth is the sign-in that a passport comes from: one user can have several.
type Auth struct {
	ID ID `json:"id"`
}

// IsZero reports that there is no sign-in.
func (a Auth) IsZero() bool { return a.ID.IsZero() }

// Passport says who is calling. Once it is set in a call it is only read.
type Passport struct {
	User User `json:"user"`
	Auth Auth `json:"auth,omitzero"`
	// Roles are the names of the user's roles.
	Roles []string `json:"roles,omitempty"`
}

// Anonymous makes the passport of a caller who is not signed in; as in Vona, the user's id is -1.
func Anonymous() *Passport {
	return &Passport{User: User{ID: anonymousID, Anonymous: true}}
}

// Authenticated reports that the caller is a known user, activated or not. A passport without a user id, and none at
// all, is anonymous.
func (p *Passport) Authenticated() bool {
	return p != nil && !p.User.Anonymous && !p.User.ID.IsZero()
}

// Subject is what the rate limiter counts the caller by: the auth id if there is one, else the user id, else (and for
// any anonymous user) "anonymous" (contract A5).
func (p *Passport) Subject() string {
	switch {
	case p == nil || p.User.Anonymous:
		return anonymousSubject
	case !p.Auth.ID.IsZero():
		return p.Auth.ID.String()
	case !p.User.ID.IsZero():
		return p.User.ID.String()
	default:
		return anonymousSubject
	}
}

// HasRole reports that an authenticated user has one of the roles.
func (p *Passport) HasRole(names ...string) bool {
	return p.Authenticated() && slices.ContainsFunc(p.Roles, func(role string) bool { return slices.Contains(names, role) })
}

// Named reports that an authenticated user has one of the names.
func (p *Passport) Named(names ...string) bool {
	return p.Authenticated() && slices.Contains(names, p.User.Name)
}

type passportKey struct{}

// Current is the passport of the call that ctx belongs to. It is never nil: before the passport guard has run, and
// outside any call, it is anonymous.
func Current(ctx context.Context) *Passport {
	return Of(onion.CallFrom(ctx))
}

// Of is the passport of a call, which may be nil; like Current it is never nil itself.
func Of(c *onion.Call) *Passport {
	if p := held(c); p != nil {
		return p
	}
	return Anonymous()
}

// Set makes p the passport of a call. The passport guard does so; others may before it runs, and it then keeps theirs
// unless the call brings a token of its own (Call.AuthToken).
func Set(c *onion.Call, p *Passport) { c.Set(passportKey{}, p) }

// Inherit gives a child call its parent's passport, if the parent has one (contract F1). Either may be nil.
func Inherit(parent, child *onion.Call) {
	if p := held(parent); p != nil && child != nil {
		Set(child, p)
	}
}

// held is the passport that was set, or nil.
func held(c *onion.Call) *Passport {
	if c == nil {
		return nil
	}
	p, _ := c.Value(passportKey{}).(*Passport)
	return p
}

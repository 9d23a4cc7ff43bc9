package student

import (
	"context"

	"github.com/vonago/vonago/modules/acore"
	"github.com/vonago/vonago/modules/aratelimit"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// Passwords is the controller of passwords, declared by code: the compiler
// checks all of it.
type Passwords struct{}

// Controller is the declaration: the first argument of a route names the action,
// the second is its path.
func (p Passwords) Controller() onion.Controller {
	return onion.Controller{Name: "password", Path: "password", Routes: []onion.Route{
		onion.Post("requestReset", "request-reset", p.requestReset, passport.Public(),
			acore.RateLimit(aratelimit.Policy{Mode: aratelimit.Enforce, Limit: 5, WindowMs: 60_000, Name: "password-reset"}, onion.Enable(true))),
		onion.Get("health", "health", p.health, passport.Public(), acore.RateLimit(aratelimit.Policy{}, onion.Enable(false))),
	}}
}

// ResetInput asks for a password reset.
type ResetInput struct {
	Email string `field:"email" validate:"required,email"`
}

// Accepted says that a request was taken, and nothing about whether the address
// is known.
type Accepted struct {
	Accepted bool `json:"accepted"`
}

func (Passwords) requestReset(context.Context, *ResetInput) (*Accepted, error) {
	return &Accepted{Accepted: true}, nil
}

func (Passwords) health(context.Context, *onion.Empty) (string, error) { return "ok", nil }

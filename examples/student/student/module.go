package student

import (
	"context"

	"github.com/vonago/vonago/modules/auser"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// Module is the module demo-student. It stands after auser.Module, which is given the same users.
func Module(users *Users) onion.Module {
	auth := NewAuth(users)
	return &module{auth: auth, Basic: onion.Basic{ModuleName: "demo-student", ModuleControllers: []onion.Declaration{
		onion.Tags(NewStudents()), onion.Code(Passwords{}), onion.Tags(auth),
	}}}
}

type module struct {
	onion.Basic

	auth *Auth
}

// Provide finds the service that signs in, and logs who comes and goes.
func (m *module) Provide(env onion.Env) error {
	service, err := onion.Service[*auser.Service](env)
	if err != nil {
		return err
	}
	service.OnSignIn(func(ctx context.Context, p *passport.Passport) error {
		env.Logger.InfoContext(ctx, "signed in", "user", p.User.ID.String())
		return nil
	})
	service.OnSignOut(func(ctx context.Context, p *passport.Passport) error {
		env.Logger.InfoContext(ctx, "signed out", "user", p.User.ID.String())
		return nil
	})
	m.auth.auser = service
	return nil
}

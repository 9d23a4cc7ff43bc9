package student

import (
	"context"

	"github.com/vonago/vonago/modules/auser"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// Auth is the controller of signing in and out. Who guesses passwords or tokens draws from one bucket per address, whatever
// name they try and whichever of the two routes they take.
type Auth struct {
	onion.ControllerTag `name:"auth" path:"auth"`

	SignIn  onion.Action[SignInInput, *auser.Tokens]  `post:"sign-in" passport:"public" rateLimit:"enable,mode=enforce,key=ip,limit=10,windowMs=60000,name=sign-in,shared"` //nolint:lll // a tag is one line
	Refresh onion.Action[RefreshInput, *auser.Tokens] `post:"refresh" passport:"public" rateLimit:"enable,mode=enforce,key=ip,limit=10,windowMs=60000,name=sign-in,shared"` //nolint:lll // a tag is one line
	SignOut onion.Action[onion.Empty, onion.Empty]    `post:"sign-out"`
	Link    onion.Action[onion.Empty, Link]           `post:"link"`
	KickOut onion.Action[KickOutInput, onion.Empty]   `post:"kick-out" roleName:"name=systemAdmin"`

	users *Users
	auser *auser.Service // set when the module provides
}

// NewAuth makes the controller.
func NewAuth(users *Users) *Auth {
	a := &Auth{users: users}
	a.SignIn, a.Refresh, a.SignOut, a.Link, a.KickOut = a.signIn, a.refresh, a.signOut, a.link, a.kickOut
	return a
}

// SignInInput is a name and a password.
type SignInInput struct {
	Body struct {
		Name     string `json:"name" validate:"required,max=64"`
		Password string `json:"password" validate:"required,max=128"`
	} `body:""`
}

// signIn answers a wrong password and an unknown name alike.
func (a *Auth) signIn(ctx context.Context, in *SignInInput) (*auser.Tokens, error) {
	p, err := a.users.Check(ctx, in.Body.Name, in.Body.Password)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, passport.Unauthorized(nil)
	}
	return a.auser.SignIn(ctx, p, auser.SignInOptions{})
}

// RefreshInput is a refresh token.
type RefreshInput struct {
	Body struct {
		RefreshToken string `json:"refreshToken" validate:"required"`
	} `body:""`
}

func (a *Auth) refresh(ctx context.Context, in *RefreshInput) (*auser.Tokens, error) {
	return a.auser.Refresh(ctx, in.Body.RefreshToken)
}

func (a *Auth) signOut(ctx context.Context, _ *onion.Empty) (onion.Empty, error) {
	return onion.Empty{}, a.auser.SignOut(ctx)
}

// Link is a query that opens one page for ten minutes.
type Link struct {
	Query string `json:"query"`
}

func (a *Auth) link(ctx context.Context, _ *onion.Empty) (Link, error) {
	token, err := a.auser.CreateTempAuthToken(ctx, passport.SignOptions{Paths: []string{"/demo/student/mine"}})
	return Link{Query: "auth_token=" + token}, err
}

// KickOutInput names a user.
type KickOutInput struct {
	Body struct {
		UserID string `json:"userId" validate:"required,max=64"`
	} `body:""`
}

func (a *Auth) kickOut(ctx context.Context, in *KickOutInput) (onion.Empty, error) {
	return onion.Empty{}, a.auser.KickOut(ctx, passport.StringID(in.Body.UserID))
}

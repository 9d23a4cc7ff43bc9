package passport

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/vonago/vonago/onion"
)

// Options are the options of a-user:passport (contract P4).
type Options struct {
	// Public admits anonymous callers.
	Public onion.Toggle `json:"public"`
	// Activated says which signed-in users pass: on, those who are activated; off, only those who are not yet.
	Activated onion.Toggle `json:"activated"`
	// CheckAuthToken looks for a token; off, everyone is anonymous who has no passport yet.
	CheckAuthToken onion.Toggle `json:"checkAuthToken"`
}

// Guard is a-user:passport, the global guard that finds out who is calling. Its tag key is passport.
var Guard = onion.Guard("a-user:passport", defaultOptions, buildGuard, onion.Global(), onion.Mandatory(), onion.Tag("passport")).CheckLayer(checkLayer)

func defaultOptions() Options {
	return Options{Public: onion.Off, Activated: onion.On, CheckAuthToken: onion.On}
}

// Public admits anonymous callers to an action, or to all of a controller.
func Public() onion.Use { return Guard.UseAt(1, Options{Public: onion.On}) }

// Activated says which signed-in users an action is for: true, the default, those who are activated; false, only those
// who are not yet, for example to activate themselves.
func Activated(on bool) onion.Use { return Guard.UseAt(1, Options{Activated: onion.ToggleOf(on)}) }

// checkLayer keeps a tenant from opening routes, and tells the operator who opens them all (contract P4).
func checkLayer(kind onion.LayerKind, o Options) (warning string, err error) {
	if !o.Public.True() {
		return "", nil
	}
	switch kind {
	case onion.LayerInstance, onion.LayerStored:
		return "", &onion.OptionError{Path: []string{"public"}, Message: "an instance cannot make routes public: say so at the controller or the action"}
	case onion.LayerApp:
		return "public is true in application config: every route that does not say otherwise is open to anonymous callers", nil
	default:
		return "", nil
	}
}

func buildGuard(o Options, env onion.Env) (onion.CheckFunc, error) {
	g := &guard{public: o.Public.True(), activated: o.Activated, logger: env.Logger}
	if o.CheckAuthToken.True() {
		var err error
		if g.auth, err = newAuthenticator(env); err != nil {
			return nil, err
		}
	}
	return g.check, nil
}

type guard struct {
	public    bool
	activated onion.Toggle
	auth      *authenticator // nil where tokens are not looked for
	logger    *slog.Logger
}

// check is contract C6 and P4.
func (g *guard) check(ctx context.Context, c *onion.Call) (onion.Verdict, error) {
	p, err := g.passport(ctx, c)
	if err != nil {
		return onion.Refuse, err
	}
	Set(c, p)
	switch {
	case !p.Authenticated():
		if !g.public {
			return onion.Refuse, Unauthorized(nil)
		}
	case p.User.Activated != (g.activated == onion.On):
		return onion.Refuse, onion.NewError(http.StatusForbidden, nil)
	}
	if c.Inner {
		return onion.Enough, nil
	}
	return onion.Pass, nil
}

// passport finds the caller. A passport that the call already has stays (contract F1), unless the call brings a token of
// its own.
func (g *guard) passport(ctx context.Context, c *onion.Call) (*Passport, error) {
	if p := held(c); p != nil && (c.AuthToken == "" || g.auth == nil) {
		return p, nil
	}
	if g.auth == nil {
		return Anonymous(), nil
	}
	p, err := g.auth.authenticate(ctx, c)
	if err != nil {
		if err := g.refused(ctx, c, err); err != nil {
			return nil, err
		}
	}
	if p == nil {
		p = Anonymous()
	}
	return p, nil
}

// headerAuthToken is the header by which a client asks to be told that its token has expired, even where it could go
// on as anonymous (contract C6).
const headerAuthToken = "X-Vona-Jwt-Authtoken" //nolint:gosec // the name of a header

// refused decides what a bad token means: 401, or on a public action nothing. A store that fails is not a bad token.
func (g *guard) refused(ctx context.Context, c *onion.Call, err error) error {
	bad := tokenError(err)
	if bad == nil {
		return err
	}
	g.logger.LogAttrs(ctx, slog.LevelDebug, "auth token refused",
		slog.String("reason", string(bad.Reason)), slog.String("detail", bad.Detail))
	tell := bad.Reason == ReasonExpired && c.Header.Get(headerAuthToken) == "true"
	if g.public && !tell {
		return nil
	}
	e := Unauthorized(bad)
	if tell {
		e.Message = messageExpired
	}
	return e
}

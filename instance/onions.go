package instance

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/vonago/vonago/onion"
)

// App is a-instance:app: it answers 503 with Retry-After: 1 until the
// application is ready. A request that arrives while the application is stopping
// is served.
var App = onion.SystemMiddleware("a-instance:app", onion.NoDefaults, buildApp,
	onion.Inbound(), onion.After("a-core:overrideMethod"))

// Admit is a-instance:instance: it lets a request pass to its instance. An
// unknown or disabled instance answers 423 Locked, the name "null" 401 (contract
// C8). The first request of an instance waits for its startup hooks, at most
// until the request's context is done; if that happens, or they fail, the answer
// is 503 with Retry-After: 1.
var Admit = onion.SystemMiddleware("a-instance:instance", onion.NoDefaults, buildAdmit,
	onion.Inbound(), onion.After("a-instance:app"))

// errNotReady is the cause of the 503 of a-instance:app.
var errNotReady = errors.New("the application is starting")

func buildApp(_ onion.NoOptions, env onion.Env) (onion.Wrap, error) {
	state, err := onion.Service[*State](env)
	if err != nil {
		return nil, err
	}
	return func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			if !state.Started() {
				return nil, unavailable(errNotReady)
			}
			return next(ctx, c)
		}
	}, nil
}

func buildAdmit(onion.NoOptions, onion.Env) (onion.Wrap, error) {
	return func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			if err := admit(ctx, c); err != nil {
				return nil, err
			}
			return next(ctx, c)
		}
	}, nil
}

func admit(ctx context.Context, c *onion.Call) error {
	if c.NoInstance {
		e := onion.NewError(http.StatusUnauthorized, errors.New(`the instance name "null" means none, and no one is known outside an instance`))
		e.Header = http.Header{"Www-Authenticate": {"Bearer"}} // as every 401 has (RFC 9110, 15.5.2)
		return e
	}
	inst := Of(c)
	if inst == nil {
		return onion.NewError(http.StatusLocked,
			fmt.Errorf("%s is unknown: neither the configuration (instance.instances, instances/*.yaml) nor the store has it", label(c.Instance)))
	}
	if inst.Disabled {
		return onion.NewError(http.StatusLocked, fmt.Errorf("%s is disabled", label(inst.Name)))
	}
	if err := inst.Ready(ctx); err != nil {
		return unavailable(err)
	}
	return nil
}

// unavailable is a 503 that asks to come again in a second.
func unavailable(cause error) error {
	err := onion.NewError(http.StatusServiceUnavailable, cause)
	err.Header = http.Header{"Retry-After": {"1"}}
	return err
}

// Module is the module a-instance: the system middleware a-instance:app and
// a-instance:instance. The application provides the service *State.
func Module() onion.Module {
	return onion.Basic{ModuleName: "a-instance", ModuleOnions: []onion.Onion{App, Admit}}
}

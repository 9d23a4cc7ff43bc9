package acore

import (
	"context"

	"github.com/vonago/vonago/onion"
)

// bodyRes asks for the wrapper {code, message, data} around the action's value
// (contract C1). A route without it answers the bare value.
var bodyRes = onion.Interceptor("a-body:bodyRes", onion.NoDefaults, buildBodyRes,
	onion.Global(), onion.After("a-body:bodyReq"), onion.Tag("bodyRes"))

func buildBodyRes(onion.NoOptions, onion.Env) (onion.Wrap, error) {
	return func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			c.Response.Envelope = true
			return next(ctx, c)
		}
	}, nil
}

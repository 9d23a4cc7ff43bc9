package acore

import (
	"context"
	"net/http"

	"github.com/vonago/vonago/onion"
)

// notFound turns a request that nothing matched into a 404 (contract C5).
var notFound = onion.SystemMiddleware("a-core:notfound", onion.NoDefaults, buildNotFound,
	onion.After("a-logger:httpLog", "a-core:health"))

const notFoundPage = "<h1>404 Not Found</h1>"

func buildNotFound(onion.NoOptions, onion.Env) (onion.Wrap, error) {
	return func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			value, err := next(ctx, c)
			if err != nil || value != onion.Unhandled {
				return value, err
			}
			if c.WantsJSON {
				return nil, onion.NewError(http.StatusNotFound, nil)
			}
			return &onion.Reply{
				Status: http.StatusNotFound, ContentType: contentHTML,
				Header: http.Header{headerNosniff: {"nosniff"}},
				Body:   []byte(notFoundPage),
			}, nil
		}
	}, nil
}

package acore

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/vonago/vonago/onion"
)

const headerOverride = "X-Http-Method-Override"

// overrideMethod lets a client that can only POST ask for PUT, PATCH or DELETE
// by the header X-HTTP-Method-Override (contract C10). The header means nothing
// on other methods. On a POST any other value, or two values that differ, is
// 400: the request was meant for another action than the one a POST would find.
// Vona's "_method" field of the body is not read: routing comes before bodies.
var overrideMethod = onion.SystemMiddleware("a-core:overrideMethod", onion.NoDefaults, buildOverrideMethod,
	onion.Inbound(), onion.After("a-core:notfound"), onion.Before("a-instance:app"))

func buildOverrideMethod(onion.NoOptions, onion.Env) (onion.Wrap, error) {
	return func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			values := c.Header[headerOverride]
			if len(values) == 0 || c.Method != http.MethodPost {
				return next(ctx, c)
			}
			method, err := overriding(values)
			if err != nil {
				return nil, &onion.Error{Status: http.StatusBadRequest, Message: err.Error()}
			}
			c.Method = method
			return next(ctx, c)
		}
	}, nil
}

func overriding(values []string) (string, error) {
	method := strings.ToUpper(strings.TrimSpace(values[0]))
	for _, other := range values[1:] {
		if !strings.EqualFold(strings.TrimSpace(other), method) {
			return "", errors.New("X-HTTP-Method-Override is given twice with different values")
		}
	}
	switch method {
	case http.MethodPut, http.MethodPatch, http.MethodDelete:
		return method, nil
	}
	return "", errors.New("X-HTTP-Method-Override: want PUT, PATCH or DELETE")
}

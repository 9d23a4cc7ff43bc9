package executor

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// Assemble makes the run of a route from its steps, outside in: middleware,
// guards, interceptors, arguments with their pipes, local middleware, action. It
// is what onion.Input wants. The error names type and field of an input that
// cannot be filled in.
func Assemble(route *onion.RouteInfo, steps *onion.Steps) (onion.Next, error) {
	inner, err := assembleAction(route, steps)
	if err != nil {
		return nil, err
	}
	run := onion.Compose(steps.Interceptors, inner)
	if len(steps.Guards) > 0 {
		run = guarded(steps.Guards, run)
	}
	return unauthorized(onion.Compose(steps.Middleware, run)), nil
}

// unauthorized makes a 403 that an anonymous caller gets a 401 (contract C6).
func unauthorized(next onion.Next) onion.Next {
	return func(ctx context.Context, c *onion.Call) (any, error) {
		value, err := next(ctx, c)
		if err = realError(err); err == nil {
			return value, nil
		}
		var e *onion.Error
		if errors.As(err, &e) && e != nil && e.Status == http.StatusForbidden && !passport.Of(c).Authenticated() {
			err = asUnauthorized(c, e, err)
		}
		return nil, err
	}
}

// asUnauthorized keeps the header and a message of the error's own.
func asUnauthorized(c *onion.Call, forbidden *onion.Error, cause error) error {
	e := passport.Forbidden(c, cause)
	if forbidden.Text() != http.StatusText(http.StatusForbidden) {
		e.Message = forbidden.Message
	}
	for key, values := range forbidden.Header {
		if e.Header[key] == nil {
			e.Header[key] = values
		}
	}
	return e
}

// guarded runs guards one after another before next.
func guarded(guards []onion.CheckFunc, next onion.Next) onion.Next {
	return func(ctx context.Context, c *onion.Call) (any, error) {
		for _, guard := range guards {
			verdict, err := guard(ctx, c)
			if err = realError(err); err != nil {
				return nil, err
			}
			if verdict == onion.Enough {
				break
			}
			if verdict != onion.Pass {
				return nil, passport.Forbidden(c, nil)
			}
		}
		return next(ctx, c)
	}
}

// inputKey is where a call keeps its input between the arguments and the action.
type inputKey struct{}

// assembleAction makes arguments, local middleware and action.
func assembleAction(route *onion.RouteInfo, steps *onion.Steps) (onion.Next, error) {
	b, err := newBinder(route)
	if err != nil {
		return nil, err
	}
	pipes, err := newArgumentPipes(b, steps)
	if err != nil {
		return nil, err
	}
	a := arguments{binder: b, make: route.Handler.New, pipes: pipes, whole: steps.InputPipes}
	invoke := func(ctx context.Context, in any) (any, error) {
		value, err := route.Handler.Invoke(ctx, in)
		if err = realError(err); err != nil {
			return nil, err
		}
		return value, nil
	}
	if len(steps.LocalMiddleware) == 0 {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			in, err := a.collect(ctx, c)
			if err != nil {
				return nil, err
			}
			return invoke(ctx, in)
		}, nil
	}
	local := onion.Compose(steps.LocalMiddleware, func(ctx context.Context, c *onion.Call) (any, error) {
		return invoke(ctx, c.Value(inputKey{}))
	})
	return func(ctx context.Context, c *onion.Call) (any, error) {
		in, err := a.collect(ctx, c)
		if err != nil {
			return nil, err
		}
		c.Set(inputKey{}, in)
		return local(ctx, c)
	}, nil
}

// arguments makes the input of a route's action.
type arguments struct {
	*binder
	make  func() any
	pipes []argumentPipes
	whole []onion.PipeFunc
}

// inputArg describes the whole input to the pipes that want it.
var inputArg = onion.Arg{Source: onion.SourceInput}

// collect makes the input: each argument is extracted, converted and passed
// through its pipes, then the input as a whole. What is wrong with the fields,
// by conversion or validation, is one list (contract C2).
func (a *arguments) collect(ctx context.Context, c *onion.Call) (any, error) {
	in := a.make()
	var bad []onion.FieldError
	var err error
	if len(a.fields) > 0 {
		if bad, err = a.bind(ctx, c, addressOf(in), a.pipes); err != nil {
			return nil, err
		}
	}
	converted := len(bad)
	for _, pipe := range a.whole {
		next, err := pipe(ctx, c, inputArg, in)
		if err = realError(err); err == nil {
			if next != in {
				return nil, onion.NewError(http.StatusInternalServerError,
					errors.New("a pipe of whole inputs must give back the input it was given"))
			}
			continue
		}
		list, err := validationErrors(err)
		if err != nil {
			return nil, err
		}
		bad = a.appendNew(bad, bad[:converted], list)
	}
	if len(bad) > 0 {
		return nil, onion.ValidationError(bad)
	}
	return in, nil
}

// appendNew adds errors but those at or below a path that could not even be
// converted: about such a value there is nothing more to say.
func (a *arguments) appendNew(bad, unconverted, list []onion.FieldError) []onion.FieldError {
	for _, e := range list {
		if !slices.ContainsFunc(unconverted, func(u onion.FieldError) bool { return a.covers(u.Path, e.Path) }) {
			bad = append(bad, e)
		}
	}
	return bad
}

// covers reports whether path is at or below prefix. The empty prefix is a whole
// body, to which all paths belong that begin with no argument's name.
func (a *arguments) covers(prefix, path []any) bool {
	if len(prefix) == 0 {
		return !slices.ContainsFunc(a.fields, func(f field) bool {
			return f.arg.Source != onion.SourceBody && len(path) > 0 && path[0] == any(f.arg.Name)
		})
	}
	return len(path) >= len(prefix) && slices.EqualFunc(path[:len(prefix)], prefix, sameName)
}

// sameName compares a step of a validator's path with one of a conversion's. The
// validator may take the key "1" of a map for an index.
func sameName(validated, converted any) bool {
	if validated == converted {
		return true
	}
	index, isIndex := validated.(int)
	key, isKey := converted.(string)
	if !isIndex || !isKey {
		return false
	}
	n, err := strconv.Atoi(key)
	return err == nil && n == index
}

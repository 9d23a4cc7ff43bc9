package acore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/vonago/vonago/onion"
)

// ErrorOptions are the options of a-error:error.
type ErrorOptions struct {
	// Logs says by error code ("404", "demo-student:1") whether the error is
	// logged: true logs it at info at least, false never. Unsaid, a 5xx is logged
	// at error, with its cause and stack, and anything else at debug. While Redis
	// is away an enforced limit makes every request a 503: {"503": false} keeps
	// the log short then, for the limiter has its own events.
	Logs map[string]bool `json:"logs"`
}

// errorFilter logs every error that reaches it and answers it in the format that
// the request wants (contract C2, C3). A filter that is to see errors before it
// names it in dependents.
var errorFilter = onion.Filter("a-error:error", func() ErrorOptions { return ErrorOptions{} }, buildErrorFilter,
	onion.Global(), onion.Tag("error"))

func buildErrorFilter(o ErrorOptions, env onion.Env) (onion.FilterFunc, error) {
	f := &errorRenderer{env: env, logs: o.Logs}
	return f.filter, nil
}

type errorRenderer struct {
	env  onion.Env
	logs map[string]bool
}

func (f *errorRenderer) filter(ctx context.Context, c *onion.Call, err error) (*onion.Reply, error) {
	e := httpError(err)
	f.log(ctx, c, e, err)
	reply := &onion.Reply{Status: e.Status, Header: e.Header.Clone()}
	if reply.Header == nil {
		reply.Header = http.Header{}
	}
	// Errors from before a-security:securities carry this one too (contract C3).
	reply.Header.Set(headerNosniff, "nosniff")
	if e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable {
		reply.Header.Set(headerCacheControl, "no-store") // contract A9
	}
	if c.WantsJSON {
		reply.ContentType = contentJSON
		reply.Body, err = errorJSON(e, f.env.Production())
	} else {
		reply.ContentType = contentHTML
		reply.Body, err = errorPage(c, e, err, f.env.Production())
	}
	if err != nil {
		return nil, fmt.Errorf("rendering a %d: %w", e.Status, err)
	}
	return reply, nil
}

// httpError is the error that the client is to see. A status that is none of an
// error's is a bug of whoever raised it, and no success.
func httpError(err error) *onion.Error {
	e := onion.AsError(err)
	if e.Status < http.StatusBadRequest || e.Status > 599 {
		return onion.NewError(http.StatusInternalServerError, err)
	}
	return e
}

// errorBody is the JSON face of an error (contract C2).
type errorBody struct {
	Code    json.RawMessage    `json:"code"`
	Message string             `json:"message"`
	Errors  []onion.FieldError `json:"errors,omitempty"`
}

func errorJSON(e *onion.Error, production bool) ([]byte, error) {
	code, message, fields := e.Public(production)
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // the type is JSON, and nosniff is set
	if err := enc.Encode(errorBody{Code: code, Message: message, Errors: fields}); err != nil {
		return nil, fmt.Errorf("encoding the error: %w", err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// log writes what the client is not told. The path is logged, the query is not.
func (f *errorRenderer) log(ctx context.Context, c *onion.Call, e *onion.Error, err error) {
	code := e.Code
	if code == "" {
		code = strconv.Itoa(e.Status)
	}
	level := slog.LevelDebug
	if e.Status >= http.StatusInternalServerError && !gone(ctx, err) {
		level = slog.LevelError
	}
	if wanted, said := f.logs[code]; said {
		if !wanted {
			return
		}
		level = max(level, slog.LevelInfo)
	}
	if !f.env.Logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.Int("status", e.Status), slog.String("code", code),
		slog.String("method", c.Method), slog.String("path", c.Path),
		slog.String("instanceName", instanceName(c)), slog.String("error", err.Error()),
	}
	if c.Route != nil {
		attrs = append(attrs, slog.String("route", c.Route.Raw))
	}
	if stack := stackOf(err); stack != "" && level == slog.LevelError {
		attrs = append(attrs, slog.String("stack", stack))
	}
	f.env.Logger.LogAttrs(ctx, level, "request failed", attrs...)
}

// gone reports an error that only says that the client left.
func gone(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// stackOf is the stack that an error brings along, as one made of a panic does.
func stackOf(err error) string {
	var with interface{ Stack() []byte }
	if errors.As(err, &with) {
		return string(with.Stack())
	}
	return ""
}

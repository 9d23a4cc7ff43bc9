package acore

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
)

// HTTPLogOptions are the options of a-logger:httpLog.
type HTTPLogOptions struct {
	// IP adds the client address of contract D4. It is off unless asked for: an
	// address is a person's.
	IP onion.Toggle `json:"ip"`
}

// httpLog writes one line for each request, after its response was sent: the
// path and never the query, whose values may be secrets (contract E2).
var httpLog = onion.SystemMiddleware("a-logger:httpLog",
	func() HTTPLogOptions { return HTTPLogOptions{IP: onion.Off} }, buildHTTPLog)

func buildHTTPLog(o HTTPLogOptions, env onion.Env) (onion.Wrap, error) {
	return func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			start := env.Clock.Now()
			aborted := true
			defer func() {
				line := requestLine{start: start, ip: o.IP.True(), aborted: aborted}
				line.write(ctx, env, c)
			}()
			value, err := next(ctx, c)
			aborted = false
			return value, err
		}
	}, nil
}

// requestLine is what httpLog knows beside the call.
type requestLine struct {
	start time.Time
	ip    bool
	// aborted: a panic passes through, so the connection will be cut (contract C9).
	aborted bool
}

func (l requestLine) write(ctx context.Context, env onion.Env, c *onion.Call) {
	status := c.Response.Written.Status
	level := levelOf(status)
	if l.aborted {
		level = slog.LevelWarn
	}
	if !env.Logger.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 9)
	attrs = append(attrs, slog.String("method", c.Method), slog.String("path", c.Path))
	if c.Route != nil {
		attrs = append(attrs, slog.String("route", c.Route.Raw))
	}
	attrs = append(attrs,
		slog.Int("status", status),
		slog.Int64("bytes", c.Response.Written.Bytes),
		slog.Float64("ms", milliseconds(env.Clock.Now().Sub(l.start))),
		slog.String("instanceName", instanceName(c)))
	if l.ip {
		attrs = append(attrs, slog.String("ip", c.IP()))
	}
	if l.aborted {
		attrs = append(attrs, slog.Bool("aborted", true))
	}
	env.Logger.LogAttrs(ctx, level, "request", attrs...)
}

func levelOf(status int) slog.Level {
	switch {
	case status >= http.StatusInternalServerError:
		return slog.LevelError
	case status >= http.StatusBadRequest:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// milliseconds keeps microseconds as a fraction.
func milliseconds(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}

// instanceName is the instance as logs name it: "null" is the name that stands
// for no instance (contract D1).
func instanceName(c *onion.Call) string {
	if c.NoInstance {
		return "null"
	}
	if len(c.Instance) > instance.MaxNameLen { // no instance has that name
		return c.Instance[:instance.MaxNameLen] + "..."
	}
	return c.Instance
}

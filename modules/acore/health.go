package acore

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/vonago/vonago/onion"
)

// HealthOptions are the options of a-core:health.
type HealthOptions struct {
	// Path is what the three paths begin with: "/health" gives /health/live,
	// /health/ready and /health/startup. It takes no API prefix.
	Path string `json:"path" nonempty:"true"`
	// TimeoutMs bounds the modules' checks for ready, in milliseconds.
	TimeoutMs int64 `json:"timeoutMs" range:"1..60000"`
}

// Validate wants a path that requests can have.
func (o HealthOptions) Validate() error {
	if !strings.HasPrefix(o.Path, "/") || strings.HasSuffix(o.Path, "/") {
		return optionError(fmt.Sprintf("want a path like /health, got %q", o.Path), "path")
	}
	return nil
}

// health answers probes, always in JSON, for the default instance and all others
// alike, before instances and routes are looked at:
//
//	live     200 as long as the process serves
//	startup  200 once the application has started
//	ready    200 when it has started, does not shut down, and each module that
//	         implements onion.ReadyChecker says yes; else 503
//
// The body is {"status":"ok"}; ready adds "checks" with a word for each module: ok,
// timeout, refused or failed, in every mode, and "details" with what a module says
// of itself (onion.ReadyDetailer). Errors and addresses stay in the log.
var health = onion.SystemMiddleware("a-core:health",
	func() HealthOptions { return HealthOptions{Path: "/health", TimeoutMs: 1000} }, buildHealth,
	onion.Inbound(), onion.After("a-logger:httpLog"), onion.Before("a-instance:app"))

// healthBody is what a probe is told.
type healthBody struct {
	Status  string            `json:"status"`
	Checks  map[string]string `json:"checks,omitempty"`
	Details map[string]string `json:"details,omitempty"`
}

func buildHealth(o HealthOptions, env onion.Env) (onion.Wrap, error) {
	probe, err := onion.Service[onion.Probe](env)
	if err != nil {
		return nil, err
	}
	k := &checker{probe: probe, timeout: time.Duration(o.TimeoutMs) * time.Millisecond, env: env}
	answers := map[string]func(context.Context) (int, healthBody){
		o.Path + "/live":    func(context.Context) (int, healthBody) { return http.StatusOK, healthBody{Status: "ok"} },
		o.Path + "/ready":   k.ready,
		o.Path + "/startup": k.startup,
	}
	return func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			if !strings.HasPrefix(c.Path, o.Path) {
				return next(ctx, c)
			}
			answer, ok := answers[c.Path]
			if !ok {
				return next(ctx, c)
			}
			if c.Method != http.MethodGet && c.Method != http.MethodHead {
				return nil, &onion.Error{Status: http.StatusMethodNotAllowed, Header: http.Header{"Allow": {"GET, HEAD"}}}
			}
			return healthReply(answer(ctx))
		}
	}, nil
}

func (k *checker) startup(context.Context) (int, healthBody) {
	if !k.probe.Started() {
		return http.StatusServiceUnavailable, healthBody{Status: "starting"}
	}
	return http.StatusOK, healthBody{Status: "ok"}
}

func (k *checker) ready(ctx context.Context) (int, healthBody) {
	if k.probe.Draining() {
		return http.StatusServiceUnavailable, healthBody{Status: "draining"}
	}
	if status, body := k.startup(ctx); status != http.StatusOK {
		return status, body
	}
	r := k.run(ctx)
	if !r.ok {
		return http.StatusServiceUnavailable, healthBody{Status: "unavailable", Checks: r.results, Details: r.details}
	}
	return http.StatusOK, healthBody{Status: "ok", Checks: r.results, Details: r.details}
}

func healthReply(status int, body healthBody) (any, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encoding health: %w", err)
	}
	return &onion.Reply{
		Status: status, ContentType: contentJSON, Body: text,
		Header: http.Header{headerCacheControl: {"no-store"}, headerNosniff: {"nosniff"}},
	}, nil
}

package executor

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// app is what the tests make a small application of.
type app struct {
	mode      onion.Mode
	server    ServerConfig
	proxy     ProxyConfig
	mounts    []Mount
	onions    []onion.Onion
	routes    []onion.Route
	uses      []onion.Use
	instances map[string]any
	settings  map[string]any
	store     instance.Store
	resolve   instance.NameFunc
}

func newApp(routes ...onion.Route) *app {
	return &app{
		mode: onion.ModeTest, server: DefaultServerConfig(), proxy: DefaultProxyConfig(), routes: routes,
		onions:    []onion.Onion{bodyReq, bodyRes, instance.Admit},
		instances: map[string]any{"": map[string]any{}, "acme": map[string]any{}, "closed": map[string]any{"disabled": true}},
	}
}

// Controller is the application's only one.
func (a *app) Controller() onion.Controller {
	return onion.Controller{Name: "c", Path: "/t", Routes: a.routes, Uses: a.uses}
}

// bodyReq is a small a-body:bodyReq.
var bodyReq = onion.Interceptor("a-body:bodyReq", onion.NoDefaults, func(onion.NoOptions, onion.Env) (onion.Wrap, error) {
	return func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			if c.Body.Parsed || c.Request == nil {
				return next(ctx, c)
			}
			c.Body.Parsed = true
			switch raw, err := io.ReadAll(c.Request.Body); {
			case err != nil:
				return nil, err
			case isJSONType(c.Header.Get("Content-Type")):
				c.Body.JSON = raw
			case len(raw) > 0:
				c.Request.Body = io.NopCloser(bytes.NewReader(raw))
				if err := c.Request.ParseForm(); err != nil {
					return nil, err
				}
				c.Body.Form = c.Request.PostForm
			}
			return next(ctx, c)
		}
	}, nil
}, onion.Global())

// bodyRes is a small a-body:bodyRes.
var bodyRes = onion.Interceptor("a-body:bodyRes", onion.NoDefaults, func(onion.NoOptions, onion.Env) (onion.Wrap, error) {
	return func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			c.Response.Envelope = true
			return next(ctx, c)
		}
	}, nil
}, onion.Global())

// logBuffer holds what was logged.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// build makes the application's runtime.
func (a *app) build(log io.Writer) (*Runtime, error) {
	logger := slog.New(slog.NewTextHandler(log, nil))
	env := onion.NewEnv("test", a.mode, "normal", logger, nil)
	module := onion.Basic{ModuleName: "demo-x", ModuleOnions: a.onions, ModuleControllers: []onion.Declaration{onion.Code(a)}}
	in := onion.Input{Modules: []onion.Module{module}, Env: env, Prefix: a.server.GlobalPrefix, Assemble: Assemble}
	if a.settings != nil {
		in.App = onion.Settings{Kind: onion.LayerApp, Label: "application config", Onions: a.settings}
	}
	engine, err := onion.Build(in)
	if err != nil {
		return nil, err
	}
	tree := config.FromMap("test", map[string]any{"instance": map[string]any{"instances": a.instances}})
	statics, err := instance.Statics(tree, nil)
	if err != nil {
		return nil, err
	}
	manager, err := instance.NewManager(instance.Config{App: tree, Statics: statics, NewSet: engine.Set}, instance.Options{Logger: logger, Store: a.store})
	if err != nil {
		return nil, err
	}
	section := instance.Section{QueryField: instance.DefaultField, HeaderField: instance.DefaultField}
	return NewRuntime(RuntimeInput{
		Env: env, Engine: engine, Instances: manager, Resolver: instance.NewResolver(section, a.server.SubdomainOffset, a.resolve),
		Server: a.server, Proxy: a.proxy, Mounts: a.mounts,
	})
}

// running is an application that serves.
type running struct {
	*Executor
	t   *testing.T
	url string
	log *logBuffer
}

func (a *app) run(t *testing.T) *running {
	t.Helper()
	log := &logBuffer{}
	rt, err := a.build(log)
	if err != nil {
		t.Fatal(err)
	}
	e := New(rt)
	server := httptest.NewUnstartedServer(e)
	server.Config = NewServer(a.server, e)
	server.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(log, nil), slog.LevelError)
	server.Start()
	t.Cleanup(server.Close)
	return &running{Executor: e, t: t, url: server.URL, log: log}
}

// response is an answer with its body read.
type response struct {
	*http.Response
	body string
}

// do sends a request; headers are "Name: value".
func (r *running) do(method, path, body string, headers ...string) response {
	r.t.Helper()
	res, err := r.try(method, path, body, headers...)
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

func (r *running) try(method, path, body string, headers ...string) (response, error) {
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		return response{}, err
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		}
		req.Header.Add(name, value)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return response{}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return response{res, string(raw)}, err
}

func (r *running) get(path string, headers ...string) response {
	return r.do("GET", path, "", headers...)
}

// want compares status and body.
func (res response) want(t *testing.T, status int, body string) {
	t.Helper()
	if res.StatusCode != status || res.body != body {
		t.Errorf("got %d %s\nwant %d %s", res.StatusCode, res.body, status, body)
	}
}

const (
	asHTML = "Accept: text/html"
	asJSON = "Content-Type: application/json"
	asForm = "Content-Type: application/x-www-form-urlencoded"
)

// handle is an action without input.
func handle[Out any](f func(ctx context.Context) (Out, error)) onion.Action[onion.Empty, Out] {
	return func(ctx context.Context, _ *onion.Empty) (Out, error) { return f(ctx) }
}

func gives[Out any](v Out) onion.Action[onion.Empty, Out] {
	return handle(func(context.Context) (Out, error) { return v, nil })
}

func fails(err error) onion.Action[onion.Empty, string] {
	return handle(func(context.Context) (string, error) { return "", err })
}

func system(name string, wrap onion.Wrap, opts ...onion.DefOption) onion.Onion {
	return onion.SystemMiddleware(name, onion.NoDefaults, func(onion.NoOptions, onion.Env) (onion.Wrap, error) { return wrap, nil }, opts...)
}

func globalFilter(name string, f onion.FilterFunc) onion.Onion {
	return onion.Filter(name, onion.NoDefaults, func(onion.NoOptions, onion.Env) (onion.FilterFunc, error) { return f, nil }, onion.Global())
}

func globalGuard(name string, f onion.CheckFunc) onion.Onion {
	return onion.Guard(name, onion.NoDefaults, func(onion.NoOptions, onion.Env) (onion.CheckFunc, error) { return f, nil }, onion.Global())
}

// signIn is a guard that takes the user's name from a header.
func signIn(_ context.Context, c *onion.Call) (onion.Verdict, error) {
	if name := c.Header.Get("X-User"); name != "" {
		passport.Set(c, &passport.Passport{User: passport.User{ID: passport.NumberID(7), Name: name, Activated: true}})
	}
	return onion.Pass, nil
}

var errSecret = errors.New("the secret cause")

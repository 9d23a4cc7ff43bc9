package auser_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/internal/redistest"
	"github.com/vonago/vonago/modules/acore"
	"github.com/vonago/vonago/modules/aratelimit"
	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/modules/auser"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

const (
	appName = "VonaDev"
	appKey  = "vona__1596889047267_3245" // the public sample of the vectors
	oldKey  = "the key before that one, which still verifies"
)

const baseConfig = `
app: {name: VonaDev}
server: {keys: [vona__1596889047267_3245, "the key before that one, which still verifies"], globalPrefix: /api}
logger: {clients: {default: {level: debug}}}
instance:
  instances:
    "": {id: 1}
    acme: {id: 2}
    beta: {id: 3}
`

// setup says how an application under test differs from the usual one.
type setup struct {
	mode     string // "test" if empty
	local    string // YAML on top of baseConfig
	clock    onion.Clock
	adapters func(*auser.Adapters)
	provide  func(*auser.Service)
	redis    *redistest.Server
	via      *redistest.Proxy
}

// served is an application with the controller auths, on a loopback port, with a real redis-server.
type served struct {
	t     *testing.T
	app   *app.App
	url   string
	redis *redistest.Server
	users *people
	auser *auser.Service
	log   *log
}

func serve(t *testing.T, s setup) *served {
	t.Helper()
	if s.redis == nil {
		s.redis = redistest.Start(t)
	}
	v := &served{t: t, redis: s.redis, users: newPeople(), log: &log{}}
	a, err := v.build(s)
	if err != nil {
		t.Fatal(err)
	}
	v.app = a
	if v.auser, err = onion.Service[*auser.Service](a.Env()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended, listening := make(chan error, 1), make(chan struct{})
	go func() { ended <- a.ServeOn(ctx, l, func(string) { close(listening) }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("it did not end well: %v", err)
		}
	})
	select {
	case <-listening:
	case err := <-ended:
		ended <- nil
		t.Fatalf("it ended at once: %v", err)
	}
	v.url = "http://" + l.Addr().String()
	return v
}

func (v *served) build(s setup) (*app.App, error) {
	v.t.Helper()
	dir := v.t.TempDir()
	for name, text := range map[string]string{"config.yaml": baseConfig, "config.local.yaml": s.local} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			v.t.Fatal(err)
		}
	}
	mode, addr := s.mode, s.redis.Addr()
	if mode == "" {
		mode = "test"
	}
	if s.via != nil {
		addr = s.via.Addr()
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		v.t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Dir: dir, Environ: []string{"META_MODE=" + mode, "REDIS_DEFAULT_HOST=" + host, "REDIS_DEFAULT_PORT=" + port}})
	if err != nil {
		v.t.Fatal(err)
	}
	adapters := auser.Adapters{Users: v.users, Roles: v.users}
	if s.adapters != nil {
		s.adapters(&adapters)
	}
	options := []app.Option{app.WithLogOutput(v.log), app.WithoutWatch()}
	if s.clock != nil {
		options = append(options, app.WithClock(s.clock))
	}
	return app.New(cfg, []onion.Module{
		acore.Module(), instance.Module(), aredis.Module(), auser.Module(adapters), aratelimit.Module(), &auths{provide: s.provide},
	}, options...)
}

// people are the users: a UserAdapter and RoleAdapter.
type people struct {
	mu      sync.Mutex
	list    map[string]*passport.User // by id
	failing error
}

func newPeople() *people {
	p := &people{list: map[string]*passport.User{}}
	for id, name := range map[string]string{"1": "admin", "10": "tom", "3": "fresh"} {
		p.list[id] = &passport.User{ID: passport.StringID(id), Name: name, Activated: name != "fresh"}
	}
	return p
}

func (p *people) FindUser(_ context.Context, by auser.UserQuery) (*passport.User, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, user := range p.list {
		if user.ID == by.ID || by.ID.IsZero() && user.Name == by.Name {
			found := *user
			return &found, p.failing
		}
	}
	return nil, p.failing
}

func (p *people) CreateUser(_ context.Context, user passport.User) (*passport.User, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	user.ID = passport.StringID("new-" + user.Name)
	p.list[user.ID.String()] = &user
	return &user, p.failing
}

func (p *people) ActivateUser(_ context.Context, id passport.ID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.list[id.String()] == nil {
		return errors.New("no such user")
	}
	p.list[id.String()].Activated = true
	return p.failing
}

func (p *people) RolesOf(_ context.Context, user passport.User) ([]string, error) {
	if user.Name == "admin" {
		return []string{passport.RoleSystemAdmin}, nil
	}
	return nil, nil
}

func (p *people) remove(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.list, id)
}

func (p *people) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failing = err
}

// auths is the module and controller that the tests call.
type auths struct {
	provide func(*auser.Service)
	auser   *auser.Service
}

func (*auths) Name() string                       { return "test-auth" }
func (*auths) Onions() []onion.Onion              { return nil }
func (a *auths) Controllers() []onion.Declaration { return []onion.Declaration{onion.Code(a)} }
func (a *auths) Provide(env onion.Env) (err error) {
	if a.auser, err = onion.Service[*auser.Service](env); err == nil && a.provide != nil {
		a.provide(a.auser)
	}
	return err
}

func (a *auths) Controller() onion.Controller {
	temp := passport.SignOptions{Paths: []string{"/test/auth/me"}}
	none := passport.SignOptions{}
	return onion.Controller{Name: "auth", Path: "auth", Routes: []onion.Route{
		onion.Post("signIn", "sign-in", a.signIn, passport.Public()),
		onion.Post("mock", "mock", func(ctx context.Context, in *text) (*auser.Tokens, error) {
			return a.auser.SignInMock(ctx, in.Body.Text)
		}, passport.Public()),
		onion.Post("refresh", "refresh", func(ctx context.Context, in *text) (*auser.Tokens, error) { return a.auser.Refresh(ctx, in.Body.Text) }, passport.Public()),
		onion.Post("signOut", "sign-out", func(ctx context.Context, _ *onion.Empty) (onion.Empty, error) {
			return onion.Empty{}, a.auser.SignOut(ctx)
		}, passport.Public()),
		onion.Post("kickOut", "kick-out", a.kickOut, passport.SystemAdmin()),
		onion.Post("activate", "activate", func(ctx context.Context, _ *onion.Empty) (string, error) {
			err := a.auser.Activate(ctx)
			return describe(ctx), err
		}, passport.Activated(false)),
		onion.Get("me", "me", me),
		onion.Get("other", "other", me),
		onion.Get("public", "public", me, passport.Public()),
		onion.Get("admin", "admin", me, passport.SystemAdmin()),
		onion.Post("temp", "temp", func(ctx context.Context, _ *onion.Empty) (string, error) {
			return a.auser.CreateTempAuthToken(ctx, temp)
		}),
		onion.Post("oauth", "oauth", func(ctx context.Context, _ *onion.Empty) (string, error) { return a.auser.CreateOAuthToken(ctx, none) }),
		onion.Post("code", "code", func(ctx context.Context, _ *onion.Empty) (string, error) { return a.auser.CreateOAuthCode(ctx, none) }),
		onion.Post("codeFrom", "code-from", func(ctx context.Context, in *text) (string, error) {
			return a.auser.CreateOAuthCodeFromToken(ctx, in.Body.Text, none)
		}, passport.Public()),
		onion.Post("byCode", "by-code", func(ctx context.Context, in *text) (*auser.Tokens, error) {
			return a.auser.SignInByOAuthCode(ctx, in.Body.Text)
		}, passport.Public()),
	}}
}

type text struct {
	Body struct {
		Text string `json:"text"`
	} `body:""`
}

type signIn struct {
	Body struct {
		Name     string         `json:"name"`
		Auth     string         `json:"auth"`
		Strategy auser.Strategy `json:"strategy"`
	} `body:""`
}

func (a *auths) signIn(ctx context.Context, in *signIn) (*auser.Tokens, error) {
	user, err := a.auser.FindUser(ctx, in.Body.Name)
	if err != nil {
		return nil, err
	}
	if user == nil {
		return nil, passport.Unauthorized(nil)
	}
	p := &passport.Passport{User: *user, Auth: passport.Auth{ID: passport.StringID(in.Body.Auth)}}
	return a.auser.SignIn(ctx, p, auser.SignInOptions{Strategy: in.Body.Strategy})
}

func (a *auths) kickOut(ctx context.Context, in *text) (onion.Empty, error) {
	return onion.Empty{}, a.auser.KickOut(ctx, passport.StringID(in.Body.Text))
}

func me(ctx context.Context, _ *onion.Empty) (string, error) { return describe(ctx), nil }

// describe is what a service sees of the caller that it was not given.
func describe(ctx context.Context) string {
	p := passport.Current(ctx)
	if !p.Authenticated() {
		return "anonymous"
	}
	text := p.User.Name + " " + p.Auth.ID.String()
	if p.HasRole(passport.RoleSystemAdmin) {
		text += " admin"
	}
	if !p.User.Activated {
		text += " not activated"
	}
	return text
}

// log collects what an application logs.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// answer is what came back.
type answer struct {
	status  int
	message string
	header  http.Header
	data    json.RawMessage
}

// text is the data if it is a text, and the message otherwise.
func (a answer) text() string {
	var s string
	if json.Unmarshal(a.data, &s) == nil && s != "" {
		return s
	}
	return a.message
}

func (a answer) tokens(t *testing.T) auser.Tokens {
	t.Helper()
	var tokens auser.Tokens
	if err := json.Unmarshal(a.data, &tokens); err != nil || tokens.AccessToken == "" || tokens.RefreshToken == "" {
		t.Fatalf("%d %s: no tokens", a.status, a.message)
	}
	return tokens
}

// request is a call of the tests; path is below the controller's.
type request struct {
	method, path, query, body string
	token                     string // as Authorization: Bearer
	header                    http.Header
	instance                  string
}

func (v *served) do(r request) answer {
	v.t.Helper()
	url := v.url + "/api/test/auth/" + r.path
	if r.query != "" {
		url += "?" + r.query
	}
	if r.method == "" {
		r.method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(v.t.Context(), r.method, url, strings.NewReader(r.body))
	if err != nil {
		v.t.Fatal(err)
	}
	maps.Copy(req.Header, r.header)
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	if r.instance != "" {
		req.Header.Set("X-Vona-Instance-Name", r.instance)
	}
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	client := http.Client{Timeout: 20 * time.Second}
	res, err := client.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	var body struct {
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		body.Message = string(raw)
	}
	return answer{status: res.StatusCode, message: body.Message, header: res.Header, data: body.Data}
}

func (v *served) get(path, token string) answer {
	v.t.Helper()
	return v.do(request{path: path, token: token})
}

func (v *served) post(path, token, text string) answer {
	v.t.Helper()
	body, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		v.t.Fatal(err)
	}
	return v.do(request{method: http.MethodPost, path: path, token: token, body: string(body)})
}

// signIn signs a user in; the auth id is "a".
func (v *served) signIn(name string) auser.Tokens {
	v.t.Helper()
	return v.signInAs(name, "a", "", "")
}

func (v *served) signInAs(name, auth string, strategy auser.Strategy, inst string) auser.Tokens {
	v.t.Helper()
	body, err := json.Marshal(map[string]any{"name": name, "auth": auth, "strategy": strategy})
	if err != nil {
		v.t.Fatal(err)
	}
	return v.do(request{method: http.MethodPost, path: "sign-in", body: string(body), instance: inst}).tokens(v.t)
}

// wants checks status and text of an answer, and the challenge of a 401.
func (v *served) wants(what string, got answer, status int, text string) {
	v.t.Helper()
	if got.status != status || got.text() != text {
		v.t.Errorf("%s: %d %q, want %d %q", what, got.status, got.text(), status, text)
	}
	challenge := got.header.Get("WWW-Authenticate")
	if (status == http.StatusUnauthorized) != strings.HasPrefix(challenge, "Bearer") {
		v.t.Errorf("%s: %d with WWW-Authenticate %q", what, got.status, challenge)
	}
}

// inside is the context of a call of the default instance, as an action has it.
func (v *served) inside(p *passport.Passport) context.Context {
	c := &onion.Call{Header: http.Header{}}
	instance.Attach(c, &instance.Instance{ID: 1})
	if p != nil {
		passport.Set(c, p)
	}
	return onion.WithCall(v.t.Context(), c)
}

package passport

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vonago/vonago/onion"
)

const (
	noToken  = "Unauthorized; Bearer"
	badToken = `Unauthorized; Bearer error="invalid_token"`
	expired  = `Unauthorized; jwt expired; Bearer error="invalid_token"`
)

// Contract C6: what every kind of bad token does at a private and at a public action.
func TestTokensAtActions(t *testing.T) {
	h := newHarness(t, harnessConfig{routes: []onion.Route{route("private"), route("public", Public())}})
	good := mustSign(t, h.tokens, ClientAccess, SignOptions{})
	late := newTokens(t, testNow-clockAt(3*time.Hour/time.Second))
	stale := mustSign(t, late, ClientAccess, SignOptions{})
	head, body, signature, _ := split(stale)

	for _, tc := range []struct {
		name            string
		call            *onion.Call
		private, public string
	}{
		{"no token", &onion.Call{}, noToken, "anonymous"},
		{"good", bearerCall(good), "-10001", "-10001"},
		{"good in the query", &onion.Call{RawQuery: "auth_token=" + good}, "-10001", "-10001"},
		{"malformed", bearerCall("x"), badToken, "anonymous"},
		{"oversized", bearerCall(strings.Repeat("x", 1<<20)), badToken, "anonymous"},
		{"signature", bearerCall(good[:len(good)-4] + "AAAA"), badToken, "anonymous"},
		{"issuer", bearerCall(forge(goodHead, goodBody(t, "VonaDev", "Other"))), badToken, "anonymous"},
		{"alg none", bearerCall(forge(`{"alg":"none"}`, goodBody(t))), badToken, "anonymous"},
		{"refresh token", bearerCall(mustSign(t, h.tokens, ClientRefresh, SignOptions{})), badToken, "anonymous"},
		{"another path", bearerCall(mustSign(t, h.tokens, ClientAccess, SignOptions{Paths: []string{"/x"}})), badToken, "anonymous"},
		{"expired", bearerCall(stale), badToken, "anonymous"},
		{"expired, to be told", bearerCall(stale, "x-vona-jwt-authtoken", "true"), expired, expired},
		{"expired, told otherwise", bearerCall(stale, "x-vona-jwt-authtoken", "TRUE"), badToken, "anonymous"},
		{"expired but not ours, to be told", bearerCall(head+"."+body+"."+signature[1:]+"A", "x-vona-jwt-authtoken", "true"), badToken, "anonymous"},
		{"bad, to be told", bearerCall("x", "x-vona-jwt-authtoken", "true"), badToken, "anonymous"},
		{"two headers", &onion.Call{Header: http.Header{"Authorization": {"Bearer " + good, "Bearer " + good}}}, badToken, "anonymous"},
		{"another scheme", &onion.Call{Header: http.Header{"Authorization": {"Basic " + good}}}, noToken, "anonymous"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			copied := *tc.call
			if got := h.call("private", tc.call); got != tc.private {
				t.Errorf("private: got %q, want %q", got, tc.private)
			}
			if got := h.call("public", &copied); got != tc.public {
				t.Errorf("public: got %q, want %q", got, tc.public)
			}
		})
	}
	for _, part := range []string{good, stale, body, signature, testSecret, testKey} {
		if strings.Contains(h.log.String(), part) {
			t.Errorf("the log repeats %q", part)
		}
	}
	if !strings.Contains(h.log.String(), `"reason":"signature"`) {
		t.Error("the log does not tell why a token was refused")
	}
}

func TestPathTokenAtItsRoute(t *testing.T) {
	h := newHarness(t, harnessConfig{routes: []onion.Route{route("one"), route("other")}})
	raw := h.engine.Routes()[0].Raw
	token := mustSign(t, h.tokens, ClientAccess, SignOptions{Temp: true, Paths: []string{raw}})
	if got := h.call("one", bearerCall(token)); got != "-10001" {
		t.Errorf("at its route %s: %q", raw, got)
	}
	if got := h.call("other", bearerCall(token)); got != badToken {
		t.Errorf("at another: %q", got)
	}
}

// Contract P4: the layers of the guard's options.
func TestGuardOptions(t *testing.T) {
	h := newHarness(t, harnessConfig{
		app:  map[string]any{"a-user:passport": map[string]any{"activated": true}},
		uses: []onion.Use{Public()},
		routes: []onion.Route{
			route("open"),
			route("closed", Guard.Use(Options{Public: onion.Off})),
			route("blind", Guard.Use(Options{CheckAuthToken: onion.Off})),
			route("blindClosed", Guard.Use(Options{Public: onion.Off, CheckAuthToken: onion.Off})),
			route("both", Public(), Activated(false)),
		},
	})
	good := mustSign(t, h.tokens, ClientAccess, SignOptions{})
	for action, want := range map[string]string{"open": "anonymous", "closed": noToken, "blind": "anonymous", "blindClosed": noToken, "both": "anonymous"} {
		if got := h.call(action, &onion.Call{}); got != want {
			t.Errorf("%s without a token: got %q, want %q", action, got, want)
		}
	}
	for action, want := range map[string]string{"open": "-10001", "closed": "-10001", "blind": "anonymous", "blindClosed": noToken, "both": "Forbidden"} {
		if got := h.call(action, bearerCall(good)); got != want {
			t.Errorf("%s with a token: got %q, want %q", action, got, want)
		}
	}
}

// A tenant cannot open what a route guards, by whatever option of the guard.
func TestGuardsAreNotTheInstances(t *testing.T) {
	for _, guard := range []string{"a-user:userName", "a-user:roleName"} {
		for option, value := range map[string]any{
			"enable": false, "meta": map[string]any{"mode": "prod"}, "match": "/x", "ignore": "/demo/x",
			"passWhenMatched": true, "rejectWhenDismatched": false,
		} {
			t.Run(guard+" "+option, func(t *testing.T) {
				said := map[string]any{guard: map[string]any{option: value}}
				wantErrors(t, harnessConfig{instance: said, routes: []onion.Route{route("private", RoleName("admin"))}},
					guard, "instance acme", option+": an instance may not decide w")
				newHarness(t, harnessConfig{app: said, routes: []onion.Route{route("private", RoleName("admin"))}}) // the application may
			})
		}
	}
}

func TestPublicFromConfig(t *testing.T) {
	public := map[string]any{"a-user:passport": map[string]any{"public": true}}
	some := []onion.Route{route("private")}
	wantErrors(t, harnessConfig{instance: public, routes: some}, "a-user:passport", "instance acme", "public: an instance cannot make routes public")

	h := newHarness(t, harnessConfig{app: public, routes: some})
	if warnings := strings.Join(h.engine.Warnings(), "\n"); !strings.Contains(warnings, "a-user:passport") || !strings.Contains(warnings, "public is true") {
		t.Errorf("no warning: %q", warnings)
	}
	if got := h.call("private", &onion.Call{}); got != "anonymous" {
		t.Errorf("got %q", got)
	}

	off := map[string]any{"a-user:passport": map[string]any{"public": false}}
	h = newHarness(t, harnessConfig{app: off, instance: off, routes: some})
	if len(h.engine.Warnings()) > 0 {
		t.Errorf("warnings: %v", h.engine.Warnings())
	}
	if _, err := checkLayer(onion.LayerStored, Options{Public: onion.On}); err == nil {
		t.Error("a stored record can make routes public")
	}
	wantErrors(t, harnessConfig{app: map[string]any{"a-user:passport": map[string]any{"Public": true}}, routes: some}, "Public: unknown option")
}

// users is a Resolver and a TokenChecker with a table.
type users struct {
	onion.Basic

	list    map[string]*Passport
	revoked string
	failing error
	seen    []string // instances asked for
}

func newUsers() *users {
	user := func(id, name string, activated bool, roles ...string) *Passport {
		return &Passport{User: User{ID: StringID(id), Name: name, Activated: activated}, Roles: roles}
	}
	return &users{Basic: onion.Basic{ModuleName: "demo-users"}, list: map[string]*Passport{
		"1": user("1", "admin", true, "systemAdmin", "editor"), "2": user("2", "tom", true, "editor"), "3": user("3", "new", false),
		"4": {User: User{ID: StringID("4"), Name: "admin", Anonymous: true, Activated: true}, Roles: []string{"systemAdmin"}},
		"5": nil,
	}}
}

func (u *users) Provide(env onion.Env) error {
	return errors.Join(onion.Provide[Resolver](env, u), onion.Provide[TokenChecker](env, u))
}

func (u *users) Resolve(_ context.Context, p Payload) (*Passport, error) {
	found, ok := u.list[p.UserID.String()]
	if !ok {
		return nil, &TokenError{Reason: ReasonUnknownUser}
	}
	return found, nil
}

func (u *users) CheckToken(ctx context.Context, p Payload) error {
	u.seen = append(u.seen, onion.CallFrom(ctx).Instance)
	if p.Token == u.revoked {
		return &TokenError{Reason: ReasonRevoked}
	}
	return u.failing
}

func tokenOf(t *testing.T, h *harness, user string) string {
	t.Helper()
	token, err := h.tokens.Sign(ClientAccess, Payload{UserID: StringID(user), Token: "sign-in"}, SignOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestActivated(t *testing.T) {
	h := newHarness(t, harnessConfig{modules: []onion.Module{newUsers()}, routes: []onion.Route{
		route("private"), route("public", Public()), route("activate", Activated(false)), route("explicit", Activated(true)),
	}})
	for _, tc := range []struct{ action, activated, fresh string }{
		{"private", "2", "Forbidden"}, {"public", "2", "Forbidden"}, {"explicit", "2", "Forbidden"}, {"activate", "Forbidden", "3"},
	} {
		if got := h.call(tc.action, bearerCall(tokenOf(t, h, "2"))); got != tc.activated {
			t.Errorf("%s, activated: got %q, want %q", tc.action, got, tc.activated)
		}
		if got := h.call(tc.action, bearerCall(tokenOf(t, h, "3"))); got != tc.fresh {
			t.Errorf("%s, not activated: got %q, want %q", tc.action, got, tc.fresh)
		}
	}
	if got := h.call("activate", &onion.Call{}); got != noToken {
		t.Errorf("activate without a token: %q", got)
	}
}

func TestUsersThatAreNoMore(t *testing.T) {
	h := newHarness(t, harnessConfig{modules: []onion.Module{newUsers()}, routes: []onion.Route{route("private"), route("public", Public())}})
	for name, tc := range map[string]struct{ user, private string }{
		"unknown": {"99", badToken}, "no passport": {"5", badToken}, "an anonymous one": {"4", noToken},
	} {
		if got := h.call("private", bearerCall(tokenOf(t, h, tc.user))); got != tc.private {
			t.Errorf("%s, private: %q", name, got)
		}
		if got := h.call("public", bearerCall(tokenOf(t, h, tc.user))); got != "anonymous" {
			t.Errorf("%s, public: %q", name, got)
		}
	}
}

// Contract P3 from this side: the store is asked unless stateless, and its failure is neither a pass nor a bad token.
func TestTokenChecker(t *testing.T) {
	store := newUsers()
	h := newHarness(t, harnessConfig{
		modules: []onion.Module{store}, routes: []onion.Route{route("private"), route("public", Public())},
		edit: func(c *Config) { c.Stateless = false },
	})
	at := func(action string) string {
		c := bearerCall(tokenOf(t, h, "2"))
		c.Instance = "acme"
		return h.call(action, c)
	}
	if got := at("private"); got != "2" || len(store.seen) != 1 || store.seen[0] != "acme" {
		t.Errorf("got %q, asked for %v", got, store.seen)
	}
	if h.call("private", bearerCall("x")); len(store.seen) != 1 {
		t.Error("the store is asked about a token that did not verify")
	}
	store.revoked = "sign-in"
	if got, public := at("private"), at("public"); got != badToken || public != "anonymous" {
		t.Errorf("revoked: got %q, %q", got, public)
	}
	store.revoked, store.failing = "", errors.New("dial tcp: refused")
	if got, public := at("private"), at("public"); got != "Service Unavailable" || public != "Service Unavailable" {
		t.Errorf("failing: got %q, %q", got, public)
	}
	store.failing = onion.NewError(http.StatusLocked, nil)
	if got := at("private"); got != "Service Unavailable" {
		t.Errorf("failing with an error of its own: %q", got)
	}

	store = newUsers()
	store.revoked = "sign-in"
	h = newHarness(t, harnessConfig{modules: []onion.Module{store}, routes: []onion.Route{route("private")}})
	if got := at("private"); got != "2" || len(store.seen) != 0 {
		t.Errorf("stateless: got %q, asked for %v", got, store.seen)
	}
}

func TestStoreIsNeeded(t *testing.T) {
	wantErrors(t, harnessConfig{edit: func(c *Config) { c.Stateless = false }, routes: []onion.Route{route("private")}},
		"a-user:passport", "jwt.stateless is false, and there is no token store")
}

// Contract F1 and P4: calls from inside.
func TestInnerAccess(t *testing.T) {
	h := newHarness(t, harnessConfig{modules: []onion.Module{newUsers()}, routes: []onion.Route{
		route("admin", SystemAdmin()), route("public", Public(), SystemAdmin()),
	}})
	tom := &Passport{User: User{ID: StringID("2"), Name: "tom", Activated: true}}
	inner := func(p *Passport, edit func(*onion.Call)) *onion.Call {
		c := &onion.Call{Inner: true}
		if p != nil {
			Set(c, p)
		}
		if edit != nil {
			edit(c)
		}
		return c
	}
	token := tokenOf(t, h, "1")
	for _, tc := range []struct {
		name, action string
		call         *onion.Call
		want         string
	}{
		{"an inherited caller passes later guards", "admin", inner(tom, nil), "2"},
		{"nobody is nobody", "admin", inner(nil, nil), noToken},
		{"nobody passes later guards of a public action", "public", inner(nil, nil), "anonymous"},
		{"not inner: the later guard refuses", "admin", inner(tom, func(c *onion.Call) { c.Inner = false }), "Forbidden"},
		{"not activated is refused inside too", "admin", inner(newUsers().list["3"], nil), "Forbidden"},
		{"a token of its own beats the inherited caller", "admin", inner(tom, func(c *onion.Call) { c.AuthToken = token }), "1"},
		{"a bad token of its own is not the inherited caller", "admin", inner(tom, func(c *onion.Call) { c.AuthToken = "x" }), badToken},
		{"nor at a public action", "public", inner(tom, func(c *onion.Call) { c.AuthToken = "x" }), "anonymous"},
		{"a header does not beat the inherited caller", "admin", inner(tom, func(c *onion.Call) {
			c.Header = http.Header{"Authorization": {"Bearer " + token}}
		}), "2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := h.call(tc.action, tc.call); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestForbidden(t *testing.T) {
	cause := errors.New("why")
	c := &onion.Call{}
	e := Forbidden(c, cause)
	if e.Status != http.StatusUnauthorized || e.Header.Get("WWW-Authenticate") != "Bearer" || !errors.Is(e, cause) {
		t.Errorf("anonymous: %+v", e)
	}
	Set(c, &Passport{User: User{ID: StringID("1")}})
	if e := Forbidden(c, cause); e.Status != http.StatusForbidden || e.Header != nil || !errors.Is(e, cause) {
		t.Errorf("signed in: %+v", e)
	}
}

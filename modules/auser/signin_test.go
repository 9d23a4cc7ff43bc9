package auser_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/internal/redistest"
	"github.com/vonago/vonago/modules/auser"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

const (
	unauthorized = "Unauthorized"
	forbidden    = "Forbidden"
)

// The life of a sign-in, as a client sees it.
func TestSignInToSignOut(t *testing.T) {
	v := serve(t, setup{})
	tokens := v.signIn("tom")
	if tokens.ExpiresIn != 7200 {
		t.Errorf("expiresIn %d, want 7200", tokens.ExpiresIn)
	}
	keys := v.redis.Keys("*")
	if !slices.Equal(keys, []string{"cache_VonaDev_local:1!a-user.cacheRedis.authToken!10:a"}) {
		t.Errorf("keys %q", keys)
	}
	ttl := v.redis.Do("PTTL", keys[0]).(int64)
	if full := int64(30 * 24 * 60 * 60 * 1000); ttl > full || ttl < full-60_000 {
		t.Errorf("it lives %d ms", ttl)
	}
	v.wants("a private action", v.get("me", tokens.AccessToken), 200, "tom a")
	v.wants("an action for admins", v.get("admin", tokens.AccessToken), 403, forbidden)
	v.wants("an admin", v.get("admin", v.signIn("admin").AccessToken), 200, "admin a admin")

	next := v.post("refresh", "", tokens.RefreshToken).tokens(t)
	v.wants("the access token before", v.get("me", tokens.AccessToken), 401, unauthorized)
	v.wants("the new one", v.get("me", next.AccessToken), 200, "tom a")

	v.wants("sign-out", v.post("sign-out", next.AccessToken, ""), 200, "Success")
	v.wants("afterwards", v.get("me", next.AccessToken), 401, unauthorized)
	v.wants("its refresh token", v.post("refresh", "", next.RefreshToken), 401, unauthorized)
	if challenge := v.get("me", next.AccessToken).header.Get("WWW-Authenticate"); challenge != `Bearer error="invalid_token"` {
		t.Errorf("challenge %q", challenge)
	}
	v.wants("sign-out of nobody", v.post("sign-out", "", ""), 200, "Success")
	if keys := v.redis.Keys("*!10:*"); len(keys) > 0 {
		t.Errorf("left: %q", keys)
	}
}

// Contract P3: signing in reuses a stored token and refreshes it, unless told otherwise.
func TestStrategies(t *testing.T) {
	v := serve(t, setup{})
	const key = "cache_VonaDev_local:1!a-user.cacheRedis.authToken!10:a"
	for _, tc := range []struct {
		strategy    auser.Strategy
		kept, fresh bool // the token before stays good; its life is full again
	}{
		{"", true, true}, {auser.Refresh, true, true}, {auser.Reuse, true, false}, {auser.Reissue, false, true},
	} {
		t.Run(string(tc.strategy), func(t *testing.T) {
			before := v.signInAs("tom", "a", auser.Reissue, "")
			v.redis.Do("PEXPIRE", key, 60_000)
			after := v.signInAs("tom", "a", tc.strategy, "")
			v.wants("the new token", v.get("me", after.AccessToken), 200, "tom a")
			if got := v.get("me", before.AccessToken).status == 200; got != tc.kept {
				t.Errorf("the token before is good: %v, want %v", got, tc.kept)
			}
			if got := v.redis.Do("PTTL", key).(int64) > 60_000; got != tc.fresh {
				t.Errorf("its life is full: %v, want %v", got, tc.fresh)
			}
			v.redis.Do("DEL", key)
			v.wants("a first sign-in", v.get("me", v.signInAs("tom", "a", tc.strategy, "").AccessToken), 200, "tom a")
		})
	}
	v.wants("an unknown strategy", v.do(request{method: "POST", path: "sign-in", body: `{"name":"tom","auth":"a","strategy":"Reissue"}`}), 500, "Internal Server Error")
	v.wants("no auth id", v.do(request{method: "POST", path: "sign-in", body: `{"name":"tom","auth":""}`}), 500, "Internal Server Error")
}

// Two devices that share an auth id share a sign-in; others are kept apart.
func TestDevices(t *testing.T) {
	v := serve(t, setup{})
	one, two, other := v.signInAs("tom", "a", "", ""), v.signInAs("tom", "a", "", ""), v.signInAs("tom", "b", "", "")
	v.post("sign-out", one.AccessToken, "")
	v.wants("the same auth", v.get("me", two.AccessToken), 401, unauthorized)
	v.wants("another auth", v.get("me", other.AccessToken), 200, "tom b")
}

// The rules of rotation that Refresh states.
func TestRefreshRules(t *testing.T) {
	const key = "cache_VonaDev_local:1!a-user.cacheRedis.authToken!10:a"
	for strategy, rule := range map[string]struct{ once, fresh bool }{
		"": {true, true}, "reissue": {true, true}, "refresh": {false, true}, "reuse": {false, false},
	} {
		t.Run(strategy, func(t *testing.T) {
			local := ""
			if strategy != "" {
				local = "modules: {a-user: {refreshAuthToken: " + strategy + "}}"
			}
			v := serve(t, setup{local: local})
			first := v.signIn("tom")
			v.redis.Do("PEXPIRE", key, 60_000)
			second := v.post("refresh", "", first.RefreshToken).tokens(t)
			if got := v.redis.Do("PTTL", key).(int64) > 60_000; got != rule.fresh {
				t.Errorf("the sign-in's life is full: %v, want %v", got, rule.fresh)
			}
			v.wants("the new access token", v.get("me", second.AccessToken), 200, "tom a")
			if got := v.get("me", first.AccessToken).status == 401; got != rule.once {
				t.Errorf("the old access token is refused: %v, want %v", got, rule.once)
			}
			if got := v.post("refresh", "", first.RefreshToken).status == 401; got != rule.once {
				t.Errorf("the refresh token is refused the second time: %v, want %v", got, rule.once)
			}
			// Who replays a token does not harm the one who has the next.
			v.wants("after the replay", v.get("me", second.AccessToken), 200, "tom a")
			v.post("refresh", "", second.RefreshToken).tokens(t)
		})
	}
}

// Of many refreshes with one token at the same moment one succeeds.
func TestRefreshAtTheSameMoment(t *testing.T) {
	v := serve(t, setup{})
	token := v.signIn("tom").RefreshToken
	answers := make([]answer, 16)
	var calls sync.WaitGroup
	for i := range answers {
		calls.Go(func() { answers[i] = v.post("refresh", "", token) })
	}
	calls.Wait()
	var good []auser.Tokens
	for _, a := range answers {
		switch a.status {
		case 200:
			good = append(good, a.tokens(t))
		case 401:
		default:
			t.Errorf("%d %s", a.status, a.message)
		}
	}
	if len(good) != 1 {
		t.Fatalf("%d succeeded", len(good))
	}
	v.wants("the one", v.get("me", good[0].AccessToken), 200, "tom a")
}

func TestRefreshRefuses(t *testing.T) {
	v := serve(t, setup{})
	tokens := v.signIn("tom")
	v.wants("an access token", v.post("refresh", "", tokens.AccessToken), 401, unauthorized)
	v.wants("nothing", v.post("refresh", "", ""), 401, unauthorized)
	v.wants("of another instance", v.do(request{method: "POST", path: "refresh", body: `{"text":"` + tokens.RefreshToken + `"}`, instance: "acme"}), 401, unauthorized)
	v.users.remove("10")
	v.wants("of a user who is no more", v.post("refresh", "", tokens.RefreshToken), 401, unauthorized)
}

// A kick-out ends all sign-ins of one user: not those of users whose id begins alike, nor those of other instances.
func TestKickOut(t *testing.T) {
	v := serve(t, setup{})
	admin := v.signIn("admin") // user 1; tom is user 10
	a, b, elsewhere := v.signInAs("tom", "a", "", ""), v.signInAs("tom", "b*", "", ""), v.signInAs("tom", "a", "", "acme")
	for i := range 2500 { // several pages of SCAN
		v.redis.Do("SET", fmt.Sprintf("cache_VonaDev_local:1!a-user.cacheRedis.authToken!10:x%d", i), `"x"`)
	}
	v.wants("not by tom", v.post("kick-out", a.AccessToken, "1"), 403, forbidden)
	v.wants("tom", v.post("kick-out", admin.AccessToken, "10"), 200, "Success")
	v.wants("one sign-in", v.get("me", a.AccessToken), 401, unauthorized)
	v.wants("another", v.get("me", b.AccessToken), 401, unauthorized)
	v.wants("the refresh token", v.post("refresh", "", b.RefreshToken), 401, unauthorized)
	v.wants("in another instance", v.do(request{path: "me", token: elsewhere.AccessToken, instance: "acme"}), 200, "tom a")
	v.wants("the admin", v.get("admin", admin.AccessToken), 200, "admin a admin")
	if left := v.redis.Keys("cache_VonaDev_local:1!*!10:*"); len(left) > 0 {
		t.Errorf("%d left", len(left))
	}
	v.signInAs("tom", "a", "", "")
	v.wants("a pattern is no user", v.post("kick-out", admin.AccessToken, "1*"), 200, "Success")
	v.wants("the admin is still there", v.get("me", admin.AccessToken), 200, "admin a admin")
	if left := v.redis.Keys("cache_VonaDev_local:1!*!10:*"); len(left) != 1 {
		t.Errorf("%d left, want 1", len(left))
	}
	v.wants("nobody", v.post("kick-out", admin.AccessToken, ""), 500, "Internal Server Error")
	v.wants("himself", v.post("kick-out", admin.AccessToken, "1"), 200, "Success")
	v.wants("the admin", v.get("me", admin.AccessToken), 401, unauthorized)
}

func TestTempTokens(t *testing.T) {
	v := serve(t, setup{})
	tokens := v.signIn("tom")
	temp := v.post("temp", tokens.AccessToken, "").text()
	v.wants("in the query, at its route", v.do(request{path: "me", query: "auth_token=" + temp}), 200, "tom a")
	v.wants("at another", v.do(request{path: "other", query: "auth_token=" + temp}), 401, unauthorized)
	v.wants("as refresh token", v.post("refresh", "", temp), 401, unauthorized)
	if strings.Contains(v.log.String(), temp) {
		t.Error("the log repeats the token of the query")
	}
	v.post("sign-out", tokens.AccessToken, "")
	v.wants("after the sign-out", v.do(request{path: "me", query: "auth_token=" + temp}), 401, unauthorized)
}

func TestOAuth(t *testing.T) {
	v := serve(t, setup{})
	tokens := v.signIn("tom")
	oauth := v.post("oauth", tokens.AccessToken, "").text()
	v.wants("it is no access token", v.get("me", oauth), 401, unauthorized)
	v.wants("it is no code", v.post("by-code", "", oauth), 401, unauthorized)
	v.wants("an access token is not for codes", v.post("code-from", "", tokens.AccessToken), 401, unauthorized)
	code := v.post("code-from", "", oauth).text()
	v.wants("a code is no access token", v.get("me", code), 401, unauthorized)
	v.wants("nor a refresh token", v.post("refresh", "", code), 401, unauthorized)
	got := v.post("by-code", "", code).tokens(t)
	v.wants("by code", v.get("me", got.AccessToken), 200, "tom a")
	v.wants("the first one stays good", v.get("me", tokens.AccessToken), 200, "tom a")
	v.wants("a code is good once", v.post("by-code", "", code), 401, unauthorized)
	for _, key := range v.redis.Keys("*oauthCode*") {
		if ttl := v.redis.Do("TTL", key).(int64); ttl < 1 || ttl > 240 || strings.Contains(key, code) {
			t.Errorf("%s lives %d s", key, ttl)
		}
	}
	code = v.post("code", tokens.AccessToken, "").text()
	v.post("sign-out", tokens.AccessToken, "")
	v.wants("after the sign-out", v.post("by-code", "", code), 401, unauthorized)
	v.wants("the oauth token too", v.post("code-from", "", oauth), 401, unauthorized)
}

// Nothing brings a sign-in back that was ended while one of its calls ran.
func TestOwnTokensBeginNoSignIn(t *testing.T) {
	v := serve(t, setup{})
	p := &passport.Passport{User: passport.User{ID: passport.StringID("10"), Activated: true}, Auth: passport.Auth{ID: passport.StringID("a")}}
	ctx := v.inside(p)
	for name, create := range map[string]func(context.Context, passport.SignOptions) (string, error){
		"temp": v.auser.CreateTempAuthToken, "oauth": v.auser.CreateOAuthToken, "code": v.auser.CreateOAuthCode,
	} {
		if token, err := create(ctx, passport.SignOptions{}); statusOf(err) != 401 || token != "" {
			t.Errorf("%s: %q, %v", name, token, err)
		}
		if token, err := create(v.inside(nil), passport.SignOptions{}); statusOf(err) != 401 || token != "" {
			t.Errorf("%s of nobody: %q, %v", name, token, err)
		}
	}
	if keys := v.redis.Keys("*"); len(keys) > 0 {
		t.Errorf("keys %q", keys)
	}
}

func TestActivate(t *testing.T) {
	v := serve(t, setup{})
	fresh := v.signIn("fresh").AccessToken
	v.wants("not activated", v.get("me", fresh), 403, forbidden)
	v.wants("at a public action", v.get("public", fresh), 403, forbidden)
	v.wants("activate", v.post("activate", fresh, ""), 200, "fresh a")
	v.wants("activated", v.get("me", fresh), 200, "fresh a")
	v.wants("activate again", v.post("activate", fresh, ""), 403, forbidden)
	if err := v.auser.Activate(v.inside(nil)); statusOf(err) != 401 {
		t.Errorf("nobody: %v", err)
	}
	user, err := v.auser.Register(t.Context(), passport.User{Name: "ann"})
	if err != nil || user.Name != "ann" || user.Activated {
		t.Errorf("registered %+v, %v", user, err)
	}
	if _, err := v.auser.Register(t.Context(), *user); err == nil {
		t.Error("registered with an id")
	}
}

// Sign-in without a password is for tests.
func TestMock(t *testing.T) {
	for _, mode := range []string{"test", "dev"} {
		v := serve(t, setup{mode: mode})
		v.wants(mode, v.get("me", v.post("mock", "", "").tokens(t).AccessToken), 200, "admin -10001 admin")
		v.wants("the next", v.get("me", v.post("mock", "", "tom").tokens(t).AccessToken), 200, "tom -10002")
		v.wants("nobody", v.post("mock", "", "ghost"), 401, unauthorized)
	}
	v := serve(t, setup{mode: "prod"})
	v.wants("prod, anonymous", v.post("mock", "", ""), 401, unauthorized) // C6: a 403 for an anonymous caller
	if _, err := v.auser.SignInMock(v.inside(nil), ""); statusOf(err) != 403 {
		t.Errorf("prod: %v", err)
	}
	if keys := v.redis.Keys("*"); len(keys) > 0 {
		t.Errorf("keys %q", keys)
	}
}

func TestEvents(t *testing.T) {
	var mu sync.Mutex
	var told []string
	tell := func(what string, refuse string) auser.Listener {
		return func(ctx context.Context, p *passport.Passport) error {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprintf("%s %s in %q", what, p.User.Name, onion.CallFrom(ctx).Instance))
			if p.User.Name == refuse {
				return onion.NewError(http.StatusConflict, errors.New("not now"))
			}
			return nil
		}
	}
	v := serve(t, setup{provide: func(s *auser.Service) {
		s.OnSignIn(tell("in", "admin"))
		s.OnSignIn(tell("also in", ""))
		s.OnSignOut(tell("out", ""))
	}})
	tokens := v.signInAs("tom", "a", "", "acme")
	v.do(request{method: "POST", path: "sign-out", token: tokens.AccessToken, instance: "acme"})
	v.wants("a refused sign-in", v.do(request{method: "POST", path: "sign-in", body: `{"name":"admin","auth":"a"}`}), 409, "Conflict")
	want := []string{`in tom in "acme"`, `also in tom in "acme"`, `out tom in "acme"`, `in admin in ""`}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if keys := v.redis.Keys("*"); len(keys) > 0 {
		t.Errorf("keys %q", keys)
	}
}

// Every case of the vectors over HTTP, with the store entry as it was found in Redis.
func TestVectorsOverHTTP(t *testing.T) {
	var file struct {
		Store struct {
			Key   string `json:"key"`
			Value string `json:"value"`
		} `json:"store"`
		Cases []struct {
			Name   string `json:"name"`
			Token  string `json:"token"`
			Client string `json:"client"`
			At     int64  `json:"at"`
			Valid  bool   `json:"valid"`
		} `json:"cases"`
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "vectors", "jwt.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	redis := redistest.Start(t)
	redis.Do("SET", file.Store.Key, file.Store.Value, "PX", auser.TokenLife.Milliseconds())
	servers := map[int64]*served{}
	seen := 0
	for _, tc := range file.Cases {
		v := servers[tc.At]
		if v == nil {
			v = serve(t, setup{mode: "dev", clock: clockAt(tc.At), redis: redis})
			servers[tc.At] = v
		}
		switch {
		case tc.Client == "refresh" && tc.Valid:
			continue // changes the entry: below
		case tc.Client == "refresh":
			v.wants(tc.Name, v.post("refresh", "", tc.Token), 401, unauthorized)
		case tc.Valid && strings.HasPrefix(tc.Name, "temporary"):
			continue // its route is another application's: the passport package has it
		case tc.Valid:
			v.wants(tc.Name, v.get("me", tc.Token), 200, "admin -10001 admin")
		default:
			v.wants(tc.Name, v.get("me", tc.Token), 401, unauthorized)
		}
		seen++
	}
	for _, tc := range file.Cases {
		if tc.Client == "refresh" && tc.Valid {
			next := servers[tc.At].post("refresh", "", tc.Token).tokens(t)
			servers[tc.At].wants("a refreshed one", servers[tc.At].get("me", next.AccessToken), 200, "admin -10001 admin")
			seen++
		}
	}
	if seen != len(file.Cases)-1 {
		t.Errorf("%d of %d cases", seen, len(file.Cases))
	}
}

type clockAt int64

func (c clockAt) Now() time.Time { return time.Unix(int64(c), 0) }

func statusOf(err error) int {
	if e, ok := errors.AsType[*onion.Error](err); ok {
		return e.Status
	}
	return 0
}

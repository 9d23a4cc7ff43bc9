package auser_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/vonago/vonago/executor"
	"github.com/vonago/vonago/internal/redistest"
	"github.com/vonago/vonago/modules/auser"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// forge signs any header and payload with a key: the right one leaves it to the other checks to find what is wrong.
func forge(key, head, body string) string {
	enc := base64.RawURLEncoding
	text := enc.EncodeToString([]byte(head)) + "." + enc.EncodeToString([]byte(body))
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return text + "." + enc.EncodeToString(mac.Sum(nil))
}

const head = `{"alg":"HS256","typ":"JWT"}`

// payloadOf is what a good token says; each pair of edits replaces a part, which must be there.
func payloadOf(t *testing.T, token string, edits ...string) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	body := string(raw)
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(body, edits[i]) {
			t.Fatalf("nothing to replace for %q in %s", edits[i], body)
		}
		body = strings.Replace(body, edits[i], edits[i+1], 1)
	}
	return body
}

// asymmetric signs a payload with RS256 and ES256, with keys of the attacker's.
func asymmetric(t *testing.T, body string) (rs, es string) {
	t.Helper()
	var claims jwt.MapClaims
	if err := json.Unmarshal([]byte(body), &claims); err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if rs, err = jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(rsaKey); err != nil {
		t.Fatal(err)
	}
	if es, err = jwt.NewWithClaims(jwt.SigningMethodES256, claims).SignedString(ecKey); err != nil {
		t.Fatal(err)
	}
	return rs, es
}

// Attacks with a token, over HTTP, against an application whose store says that the sign-in is in force. Each is a 401 at
// a private action, whatever is wrong (contract C6), and anonymous at a public one; and nothing of it is in the log.
func TestAttacks(t *testing.T) {
	v := serve(t, setup{})
	tokens := v.signIn("tom")
	good := tokens.AccessToken
	body := func(edits ...string) string { return payloadOf(t, good, edits...) }
	with := func(edits ...string) string { return forge(appKey, head, body(edits...)) }
	var claims struct {
		Iat int64 `json:"iat"`
		Exp int64 `json:"exp"`
	}
	if err := json.Unmarshal([]byte(body()), &claims); err != nil {
		t.Fatal(err)
	}
	exp, iat := fmt.Sprintf(`"exp":%d`, claims.Exp), fmt.Sprintf(`"iat":%d`, claims.Iat)
	rs, es := asymmetric(t, body())
	cut := strings.Split(good, ".")

	for name, token := range map[string]string{
		"alg none":              cut[0] + "." + cut[1] + ".",
		"alg none, said":        base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + cut[1] + ".",
		"alg none, signed":      forge(appKey, `{"alg":"none"}`, body()),
		"HS256 with another":    forge("another key", head, body()),
		"HS256 with no key":     forge("", head, body()),
		"RS256":                 rs,
		"ES256":                 es,
		"RS256 header, our MAC": forge(appKey, `{"alg":"RS256"}`, body()),
		"ES256 header, our MAC": forge(appKey, `{"alg":"ES256"}`, body()),
		"two dots too many":     good + "..",
		"no dots":               strings.ReplaceAll(good, ".", ""),
		"many dots":             strings.Repeat(".", 20_000),
		"20 KB":                 cut[0] + "." + strings.Repeat("A", 20_000) + "." + cut[2],
		"no exp":                with(exp, `"x":1`),
		"exp a text":            with(exp, fmt.Sprintf(`"exp":"%d"`, claims.Exp)),
		"expired":               with(exp, `"exp":1700000000`),
		"iat in the future":     with(iat, fmt.Sprintf(`"iat":%d`, time.Now().Add(5*time.Minute).Unix())),
		"another issuer":        with(`"VonaDev"`, `"Other"`),
		"refresh as access":     tokens.RefreshToken,
		"another path":          with(`"iat"`, `"path":"/test/auth/other","iat"`),
		"client twice":          with(`"client":"access"`, `"client":"refresh","client":"access"`),
		"CLIENT beside client":  with(`"client":"access"`, `"CLIENT":"refresh","client":"access"`),
		"userId twice":          with(`"userId":"10"`, `"userId":"10","USERID":"1"`),
		"of another user":       with(`"userId":"10"`, `"userId":"1"`),
		"of an unknown user":    with(`"userId":"10"`, `"userId":"77"`),
		"ids moved over":        with(`"userId":"10","authId":"a"`, `"userId":"10:a","authId":""`),
		"another sign-in":       with(`"authId":"a"`, `"authId":"b"`),
		"no auth id":            with(`"authId":"a",`, ``),
		"no token":              forge(appKey, head, noToken(t, body())),
		"an empty token":        forge(appKey, head, strings.Replace(noToken(t, body()), `"authId":"a"`, `"authId":"a","token":""`, 1)),
		"another token":         forge(appKey, head, strings.Replace(noToken(t, body()), `"authId":"a"`, `"authId":"a","token":"x"`, 1)),
	} {
		v.wants(name, v.get("me", token), 401, unauthorized)
		v.wants(name+", public", v.get("public", token), 200, "anonymous")
		if strings.Contains(v.log.String(), token[:min(len(token), 500)]) {
			t.Errorf("%s: the log repeats it", name)
		}
	}
	for name, token := range map[string]string{
		"the good one":               good,
		"kid, jku and x5u ignored":   forge(appKey, `{"alg":"HS256","kid":"../../dev/null","jku":"http://127.0.0.1:1/","x5u":"http://127.0.0.1:1/"}`, body()),
		"signed with the older key":  forge(oldKey, head, body()),
		"iat a moment in the future": with(iat, fmt.Sprintf(`"iat":%d`, time.Now().Add(30*time.Second).Unix())),
	} {
		v.wants(name, v.get("me", token), 200, "tom a")
	}
	// As long as no header may be, and where headers do not count.
	for name, token := range map[string]string{"1 MB": cut[0] + "." + strings.Repeat("A", 1<<20) + "." + cut[2], "a million dots": strings.Repeat(".", 1_000_000)} {
		if got := v.get("me", token); got.status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s: %d", name, got.status)
		}
		value, err := v.app.PerformAction(v.inside(nil), "GET", "/test/auth/me", executor.ActionOptions{AuthToken: token})
		if statusOf(err) != http.StatusUnauthorized {
			t.Errorf("%s, in process: %v, %v", name, value, err)
		}
	}
	for _, secret := range []string{good, tokens.RefreshToken, cut[1], appKey, oldKey, stored(t, v)} {
		if strings.Contains(v.log.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// noToken is a payload without data.token.
func noToken(t *testing.T, body string) string {
	t.Helper()
	before, rest, ok := strings.Cut(body, `,"token":"`)
	_, after, closed := strings.Cut(rest, `"`)
	if !ok || !closed {
		t.Fatalf("no token in %s", body)
	}
	return before + after
}

// stored is the opaque token of tom's sign-in.
func stored(t *testing.T, v *served) string {
	t.Helper()
	var token string
	value, _ := v.redis.Do("GET", "cache_VonaDev_local:1!a-user.cacheRedis.authToken!10:a").(string)
	if err := json.Unmarshal([]byte(value), &token); err != nil || len(token) < 26 {
		t.Fatalf("stored: %q, %v", value, err)
	}
	return token
}

// How a token is sent.
func TestAttacksOnTheHeader(t *testing.T) {
	v := serve(t, setup{})
	good, other := v.signIn("tom").AccessToken, v.signIn("admin").AccessToken
	authorization := func(lines ...string) http.Header { return http.Header{"Authorization": lines} }
	for name, tc := range map[string]struct {
		request request
		status  int
		text    string
	}{
		"two headers":         {request{header: authorization("Bearer "+good, "Bearer "+other)}, 401, unauthorized},
		"two headers, alike":  {request{header: authorization("Bearer "+good, "Bearer "+good)}, 401, unauthorized},
		"two, one empty":      {request{header: authorization("Bearer "+good, "")}, 401, unauthorized},
		"two in one":          {request{header: authorization("Bearer " + good + ", Bearer " + other)}, 401, unauthorized},
		"scheme in any case":  {request{header: authorization("bEaReR " + good)}, 200, "tom a"},
		"many blanks":         {request{header: authorization("Bearer   \t" + good)}, 200, "tom a"},
		"no blank":            {request{header: authorization("Bearer" + good)}, 401, unauthorized},
		"no scheme":           {request{header: authorization(good)}, 401, unauthorized},
		"another scheme":      {request{header: authorization("Basic " + good)}, 401, unauthorized},
		"scheme alone":        {request{header: authorization("Bearer")}, 401, unauthorized},
		"in the query":        {request{query: "auth_token=" + good}, 200, "tom a"},
		"twice in the query":  {request{query: "auth_token=" + good + "&auth_token=" + other}, 401, unauthorized},
		"query before header": {request{query: "auth_token=" + other, token: good}, 200, "admin a admin"},
		"field in other case": {request{query: "AUTH_TOKEN=" + good}, 401, unauthorized},
		"in the body":         {request{method: "POST", path: "temp", body: `{"auth_token":"` + good + `"}`}, 401, unauthorized},
		"in a cookie":         {request{header: http.Header{"Cookie": {"auth_token=" + good}}}, 401, unauthorized},
	} {
		if tc.request.path == "" {
			tc.request.path = "me"
		}
		v.wants(name, v.do(tc.request), tc.status, tc.text)
	}
	// The URL is logged (contract E2: without the values of the query).
	if text := v.log.String(); !strings.Contains(text, "/api/test/auth/me") {
		t.Error("the path is not logged")
	} else if strings.Contains(text, good) || strings.Contains(text, other) || strings.Contains(text, url.QueryEscape(good)) {
		t.Error("the log holds a token")
	}
}

// A token is good for the sign-in and the instance that it was made for.
func TestAttacksWithOldTokens(t *testing.T) {
	v := serve(t, setup{})
	at := func(inst, token string) answer { return v.do(request{path: "me", token: token, instance: inst}) }

	acme := v.signInAs("tom", "a", "", "acme").AccessToken
	v.wants("here", at("acme", acme), 200, "tom a")
	v.wants("in another instance", at("beta", acme), 401, unauthorized)
	v.wants("in the default instance", at("", acme), 401, unauthorized)
	beta := v.signInAs("tom", "a", "", "beta").AccessToken
	v.wants("there the same user has another sign-in", at("beta", acme), 401, unauthorized)
	v.wants("that one", at("beta", beta), 200, "tom a")
	if got := at("null", acme); got.status != 401 { // a-instance:instance answers it (contract C8)
		t.Errorf("without an instance: %d", got.status)
	}

	v.signInAs("tom", "a", auser.Reissue, "acme")
	v.wants("of a replaced sign-in", at("acme", acme), 401, unauthorized)
	v.redis.FlushAll()
	v.wants("of a removed sign-in", at("beta", beta), 401, unauthorized)

	gone := v.signIn("tom").AccessToken
	v.users.remove("10")
	v.wants("of a user who is no more", at("", gone), 401, unauthorized)
	v.wants("of a user who is not activated", at("", v.signIn("fresh").AccessToken), 403, forbidden)
}

// An outage of the store is neither a pass nor a sign-out: 503, at public actions too, and no waiting for long.
func TestStoreIsAway(t *testing.T) {
	redis := redistest.Start(t)
	proxy := redistest.NewProxy(t, redis.Addr())
	v := serve(t, setup{redis: redis, via: proxy, local: "redis: {clients: {cache: {timeoutMs: 300}}}"})
	tokens := v.signIn("tom")
	for name, fault := range map[string]redistest.Fault{"refused": redistest.Refuse(), "hangs": redistest.Hang(), "garbage": redistest.Garbage("?\r\n")} {
		proxy.Set(fault)
		const away = "Service Unavailable"
		v.wants(name+", private", v.get("me", tokens.AccessToken), 503, away)
		v.wants(name+", public", v.get("public", tokens.AccessToken), 503, away)
		v.wants(name+", anonymous", v.get("public", ""), 200, "anonymous")
		v.wants(name+", a bad token", v.get("me", "x.y.z"), 401, unauthorized)
		v.wants(name+", sign-in", v.do(request{method: "POST", path: "sign-in", body: `{"name":"tom","auth":"a"}`}), 503, away)
		v.wants(name+", refresh", v.post("refresh", "", tokens.RefreshToken), 503, away)
		proxy.Set(redistest.Forward())
		proxy.Cut()
		v.wants(name+", afterwards", v.get("me", tokens.AccessToken), 200, "tom a")
	}
	v.redis.Do("SET", "cache_VonaDev_local:1!a-user.cacheRedis.authToken!10:a", "no JSON")
	v.wants("a value that is none", v.get("me", tokens.AccessToken), 503, "Service Unavailable")
	v.users.fail(errors.New("the database is away"))
	v.redis.FlushAll()
	v.wants("users are away", v.do(request{method: "POST", path: "sign-in", body: `{"name":"tom","auth":"a"}`}), 503, "Service Unavailable")
}

// A stateful verification is one command.
func TestOneRoundTrip(t *testing.T) {
	v := serve(t, setup{})
	token := v.signIn("tom").AccessToken
	v.wants("warm", v.get("me", token), 200, "tom a")
	const calls = 50
	before, gets := commands(t, v.redis), v.redis.Calls("get")
	for range calls {
		v.get("me", token)
	}
	// The INFO that counts is a command too, and so is the one of Calls.
	if got := commands(t, v.redis) - before - 2; got != calls {
		t.Errorf("%d requests cost %d commands", calls, got)
	}
	if got := v.redis.Calls("get") - gets; got != calls {
		t.Errorf("%d of them were GET", got)
	}
	v.get("me", "bad.bad.bad")
	v.get("public", "")
	if got := v.redis.Calls("get") - gets; got != calls {
		t.Errorf("a token that does not verify is looked up")
	}
}

// commands is how many commands a server has processed.
func commands(t *testing.T, s *redistest.Server) int64 {
	t.Helper()
	var n int64
	for line := range strings.Lines(s.Do("INFO", "stats").(string)) {
		if _, err := fmt.Sscanf(line, "total_commands_processed:%d", &n); err == nil {
			return n
		}
	}
	t.Fatal("no count of commands")
	return 0
}

// Where everything is stateless there is no store to ask, and what cannot be done says so.
func TestStateless(t *testing.T) {
	v := serve(t, setup{local: "jwt: {stateless: true}"})
	tokens := v.signInAs("tom", "", "", "")
	v.wants("private", v.get("me", tokens.AccessToken), 200, "tom ")
	next := v.post("refresh", "", tokens.RefreshToken).tokens(t)
	v.wants("refreshed", v.get("me", next.AccessToken), 200, "tom ")
	v.wants("temp", v.do(request{path: "me", query: "auth_token=" + v.post("temp", tokens.AccessToken, "").text()}), 200, "tom ")
	v.post("sign-out", tokens.AccessToken, "")
	v.wants("nothing is taken back", v.get("me", tokens.AccessToken), 200, "tom ")
	v.wants("kick-out", v.post("kick-out", v.signIn("admin").AccessToken, "10"), 500, "Internal Server Error")
	if keys := v.redis.Keys("*"); len(keys) > 0 {
		t.Errorf("keys %q", keys)
	}
}

// What is wrong with the list of modules or the configuration is said at start.
func TestStartRefuses(t *testing.T) {
	redis := redistest.Start(t)
	build := func(s setup) error {
		s.redis = redis
		_, err := (&served{t: t, users: newPeople(), log: &log{}}).build(s)
		return err
	}
	for name, tc := range map[string]struct {
		setup setup
		want  string
	}{
		"no users":         {setup{adapters: func(a *auser.Adapters) { a.Users = nil }}, "Adapters.Users is nil"},
		"unknown strategy": {setup{local: "modules: {a-user: {signIn: recreate}}"}, "modules.a-user.signIn"},
		"empty strategy":   {setup{local: "modules: {a-user: {refreshAuthToken: ''}}"}, "modules.a-user.refreshAuthToken"},
		"unknown option":   {setup{local: "modules: {a-user: {sign-in: reuse}}"}, "sign-in"},
		"an empty key":     {setup{local: "server: {keys: ['']}"}, "config.local.yaml:1: server.keys[0]: must not be empty"},
	} {
		if err := build(tc.setup); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	env := onion.NewEnv(appName, onion.ModeTest, "normal", nil, nil)
	if err := onion.Provide(env, passport.Keys{appKey}); err != nil {
		t.Fatal(err)
	}
	err := auser.Module(auser.Adapters{Users: newPeople()}).(onion.Provider).Provide(env)
	if err == nil || !strings.Contains(err.Error(), "list aredis.Module before auser.Module") {
		t.Errorf("without Redis: %v", err)
	}
}

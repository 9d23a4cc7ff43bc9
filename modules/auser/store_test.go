package auser

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/internal/redistest"
	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// in is the context of a call of an instance.
func in(t testing.TB, id int64) context.Context {
	c := &onion.Call{}
	instance.Attach(c, &instance.Instance{ID: id})
	return onion.WithCall(t.Context(), c)
}

func payload(user, auth, token string) passport.Payload {
	return passport.Payload{UserID: passport.StringID(user), AuthID: passport.StringID(auth), Token: token}
}

func newStore(t *testing.T) (*redisStore, *redistest.Server) {
	t.Helper()
	server := redistest.Start(t)
	port, host := server.Port(), "127.0.0.1"
	env := onion.NewEnv("shop*[1]", onion.ModeProd, "normal", slog.New(slog.DiscardHandler), nil)
	clients, err := aredis.NewClients(env, aredis.Config{Base: aredis.Connection{Host: &host, Port: &port}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = clients.Stop(context.Background()) })
	client, err := clients.Client(aredis.Cache)
	if err != nil {
		t.Fatal(err)
	}
	return &redisStore{client}, server
}

// FuzzKeys: no two sign-ins share a key, and what cannot be one has none.
func FuzzKeys(f *testing.F) {
	s := &redisStore{&aredis.Client{Prefix: "cache_app:"}}
	f.Add("1", "2:3", "1:2", "3", int64(1), int64(1))
	f.Add("1", "2", "1", "2", int64(1), int64(2))
	f.Add("", "", ":", "!", int64(1), int64(0))
	f.Fuzz(func(t *testing.T, userA, authA, userB, authB string, instA, instB int64) {
		a, errA := s.key(in(t, instA), payload(userA, authA, ""))
		b, errB := s.key(in(t, instB), payload(userB, authB, ""))
		if errA != nil || errB != nil {
			return
		}
		if same := userA == userB && authA == authB && instA == instB; (a == b) != same {
			t.Fatalf("%q and %q", a, b)
		}
		if want := fmt.Sprintf("cache_app:%d!a-user.cacheRedis.authToken!%s:%s", instA, userA, authA); a != want {
			t.Fatalf("%q, want %q", a, want)
		}
	})
}

// What has no key cannot be signed in, and asks nothing of Redis.
func TestNoKey(t *testing.T) {
	s := &redisStore{&aredis.Client{}} // any command would panic
	for name, tc := range map[string]struct {
		ctx     context.Context
		payload passport.Payload
	}{
		"no call":           {t.Context(), payload("1", "2", "x")},
		"no instance":       {onion.WithCall(t.Context(), &onion.Call{}), payload("1", "2", "x")},
		"no record":         {in(t, 0), payload("1", "2", "x")},
		"no user":           {in(t, 1), payload("", "2", "x")},
		"no auth":           {in(t, 1), payload("1", "", "x")},
		"a colon in a user": {in(t, 1), payload("1:2", "3", "x")},
	} {
		if token, err := s.FindToken(tc.ctx, tc.payload); token != "" || err != nil {
			t.Errorf("%s: find: %q, %v", name, token, err)
		}
		if done, err := s.ReplaceToken(tc.ctx, tc.payload, "y"); done || err != nil {
			t.Errorf("%s: replace: %v, %v", name, done, err)
		}
		if err := s.RemoveToken(tc.ctx, tc.payload); err != nil {
			t.Errorf("%s: remove: %v", name, err)
		}
		if token, err := s.IssueToken(tc.ctx, tc.payload, "y", Refresh); token != "" || err == nil {
			t.Errorf("%s: issue: %q, %v", name, token, err)
		}
		if name != "no auth" {
			if err := s.RemoveTokens(tc.ctx, tc.payload.UserID); err == nil {
				t.Errorf("%s: remove all", name)
			}
		}
	}
}

// What a stored value is compared with.
func TestReplaceToken(t *testing.T) {
	s, server := newStore(t)
	ctx := in(t, 7)
	key, err := s.key(ctx, payload("1", "2", ""))
	if err != nil || key != "cache_shop*[1]:7!a-user.cacheRedis.authToken!1:2" {
		t.Fatalf("key %q, %v", key, err)
	}
	// Another writer may spell a text otherwise.
	server.Do("SET", key, `"\u0061b"`)
	if done, err := s.ReplaceToken(ctx, payload("1", "2", "ba"), "c"); done || err != nil {
		t.Errorf("another token: %v, %v", done, err)
	}
	if done, err := s.ReplaceToken(ctx, payload("1", "2", ""), "c"); done || err != nil {
		t.Errorf("no token: %v, %v", done, err)
	}
	if done, err := s.ReplaceToken(ctx, payload("1", "2", "ab"), "c"); !done || err != nil {
		t.Errorf("the token: %v, %v", done, err)
	}
	if value := server.Do("GET", key); value != `"c"` {
		t.Errorf("stored %v", value)
	}
	for _, value := range []string{"", "c", `{"token":"c"}`, `""`, "null", `["c"]`} {
		server.Do("SET", key, value)
		if token, err := s.FindToken(ctx, payload("1", "2", "")); token != "" || err == nil {
			t.Errorf("%q: found %q, %v", value, token, err)
		}
	}
}

// A kick-out ends sign-ins that are being refreshed: none comes back. The application's name is a pattern here.
func TestKickOutAgainstRefreshes(t *testing.T) {
	s, server := newStore(t)
	ctx, cancel := context.WithTimeout(in(t, 7), 20*time.Second)
	defer cancel()
	var refreshing sync.WaitGroup
	for i := range 8 {
		auth := fmt.Sprint(i)
		token, err := s.IssueToken(ctx, payload("1", auth, ""), "t0", Refresh)
		if err != nil {
			t.Fatal(err)
		}
		refreshing.Go(func() {
			for n := 1; ; n++ {
				next := fmt.Sprint("t", n)
				done, err := s.ReplaceToken(ctx, payload("1", auth, token), next)
				if err != nil {
					t.Error("it came back: ", err)
				}
				if !done {
					return // kicked out
				}
				token = next
			}
		})
	}
	server.Do("SET", "cache_shopX1:7!a-user.cacheRedis.authToken!1:2", `"x"`) // what the name would match as a pattern
	if err := s.RemoveTokens(ctx, passport.StringID("1")); err != nil {
		t.Fatal(err)
	}
	refreshing.Wait()
	if keys := server.Keys("*"); len(keys) != 1 || !strings.HasPrefix(keys[0], "cache_shopX1") {
		t.Errorf("keys %q", keys)
	}
}

// Sign-ins at the same moment share one token; none of them is lost.
func TestIssueAtTheSameMoment(t *testing.T) {
	s, _ := newStore(t)
	ctx := in(t, 7)
	for _, strategy := range []Strategy{Refresh, Reuse} {
		tokens := make([]string, 16)
		var issuing sync.WaitGroup
		for i := range tokens {
			issuing.Go(func() {
				var err error
				if tokens[i], err = s.IssueToken(ctx, payload("1", string(strategy), ""), fmt.Sprint("t", i), strategy); err != nil {
					t.Error(err)
				}
			})
		}
		issuing.Wait()
		held, err := s.FindToken(ctx, payload("1", string(strategy), ""))
		for i, token := range tokens {
			if token != held || err != nil {
				t.Errorf("%s: call %d got %q, stored is %q, %v", strategy, i, token, held, err)
			}
		}
	}
}

// No way of printing gives a token away but JSON, which is what the client gets.
func TestTokensPrintAsNothing(t *testing.T) {
	tokens := Tokens{AccessToken: "secret-a", RefreshToken: "secret-b", ExpiresIn: 7}
	var text strings.Builder
	logger := slog.New(slog.NewJSONHandler(&text, nil))
	for _, v := range []any{tokens, &tokens} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			text.WriteString(fmt.Sprintf(verb, v) + "\n")
		}
		logger.Info("x", "v", v)
	}
	if strings.Contains(text.String(), "secret") || strings.Contains(text.String(), fmt.Sprintf("%x", "secret")) || !strings.Contains(text.String(), "tokens for 7 s") {
		t.Errorf("printed %s", &text)
	}
	data, err := json.Marshal(tokens)
	if want := `{"accessToken":"secret-a","refreshToken":"secret-b","expiresIn":7}`; err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
}

package passport

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vonago/vonago/onion"
)

// vectorFile reads a recorded vector.
func vectorFile(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

type clockAt int64

func (c clockAt) Now() time.Time { return time.Unix(int64(c), 999_000_000) }

const (
	testApp    = "VonaDev"
	testKey    = "vona__1596889047267_3245"
	testNow    = clockAt(1_796_073_373)
	testRoute  = "/demo/student/:id"
	testSecret = "52e36727-33b8-4790-8d44-2b68918fa1b7"
)

func testPayload() Payload {
	return Payload{UserID: StringID("1"), AuthID: NumberID(-10001), Token: testSecret}
}

func newTokens(t testing.TB, clock onion.Clock, keys ...Secret) *Tokens {
	t.Helper()
	if keys == nil {
		keys = Keys{testKey}
	}
	tokens, err := NewTokens(testApp, keys, DefaultConfig(), clock)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func mustSign(t testing.TB, tokens *Tokens, client Client, opts SignOptions) string {
	t.Helper()
	token, err := tokens.Sign(client, testPayload(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// forge signs any header and payload with the right key: what remains wrong is for the other checks to find.
func forge(head, body string) string { return forgeWith(testKey, head, body) }

func forgeWith(key, head, body string) string {
	enc := base64.RawURLEncoding
	text := enc.EncodeToString([]byte(head)) + "." + enc.EncodeToString([]byte(body))
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return text + "." + enc.EncodeToString(mac.Sum(nil))
}

const goodHead = `{"alg":"HS256","typ":"JWT"}`

// goodBody is a payload valid at testNow; each pair of edits replaces a part of it, which must be there.
func goodBody(t testing.TB, edits ...string) string {
	t.Helper()
	body := `{"client":"access","data":{"userId":"1","authId":-10001,"token":"secret-in-payload"},"iat":1796073372,"exp":1796080572,"iss":"VonaDev"}`
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(body, edits[i]) {
			t.Fatalf("nothing to replace for %q", edits[i])
		}
		body = strings.Replace(body, edits[i], edits[i+1], 1)
	}
	return body
}

func reasonOf(t testing.TB, err error) Reason {
	t.Helper()
	if err == nil {
		return ""
	}
	bad := tokenError(err)
	if bad == nil {
		t.Fatalf("got %v (%T), want a *TokenError", err, err)
	}
	return bad.Reason
}

func testEnv(logger *slog.Logger, clock onion.Clock) onion.Env {
	return onion.NewEnv(testApp, onion.ModeTest, "normal", logger, clock)
}

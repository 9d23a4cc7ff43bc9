package passport

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/vonago/vonago/onion"
)

// FuzzExtract: whatever a request carries, extraction gives a token, nothing or a refusal, and a token is a text that
// the request holds in one place only.
func FuzzExtract(f *testing.F) {
	f.Add("auth_token=a.b.c&x=1", "Bearer d.e.f", "", "x.x.x")
	f.Add("auth_token=a&auth_token=b", "Basic x", "Bearer y", "")
	f.Add("auth%5ftoken=%zz;", "bearer\t\tz", "", "")
	f.Add("", "BEARER", "", " ")
	f.Fuzz(func(t *testing.T, query, line, second, extra string) {
		e, err := newExtractor(FieldConfig{Query: "auth_token", Header: "X-Token"})
		if err != nil {
			t.Fatal(err)
		}
		c := &onion.Call{RawQuery: query, Header: http.Header{}}
		for _, value := range []string{line, second} {
			if value != "" {
				c.Header.Add("Authorization", value)
			}
		}
		if extra != "" {
			c.Header.Set("X-Token", extra)
		}
		token, err := e.token(c)
		if err != nil {
			if reasonOf(t, err) != ReasonAmbiguous || token != "" {
				t.Fatalf("got %q, %v", token, err)
			}
			return
		}
		values, _ := c.Query()
		inQuery := len(values["auth_token"]) == 1 && values.Get("auth_token") == token
		inHeader := second == "" && strings.HasSuffix(strings.Trim(line, " \t"), token)
		if token != "" && !inQuery && !inHeader && strings.Trim(extra, " \t") != token {
			t.Fatalf("%q is in no place", token)
		}
	})
}

// FuzzVerify: no token is accepted that is not signed by our key, under HS256, in its one spelling; and no error
// repeats the token.
func FuzzVerify(f *testing.F) {
	var file jwtVectors
	vectorFile(f, "jwt.json", &file)
	for _, tc := range file.Cases {
		f.Add(tc.Token)
	}
	f.Add(forge(`{"alg":"none"}`, goodBody(f)))
	f.Add(forge(`{"alg":"HS256","kid":"x"}`, goodBody(f, `"access"`, `"access","CLIENT":"access"`)))
	f.Add("..")
	tokens := newTokens(f, testNow)
	f.Fuzz(func(t *testing.T, token string) {
		claims, err := tokens.Verify(token, ClientAccess, testRoute)
		if err != nil {
			reasonOf(t, err)
			checkSilent(t, err, token)
			return
		}
		cut := strings.LastIndexByte(token, '.')
		mac := hmac.New(sha256.New, []byte(testKey))
		mac.Write([]byte(token[:cut]))
		if token[cut+1:] != base64.RawURLEncoding.EncodeToString(mac.Sum(nil)) {
			t.Fatalf("accepted without our signature: %q", token)
		}
		head, _, _ := strings.Cut(token, ".")
		var fields map[string]any
		raw, err := base64.RawURLEncoding.DecodeString(head)
		if err != nil || json.Unmarshal(raw, &fields) != nil || fields["alg"] != "HS256" {
			t.Fatalf("accepted with the header %q", raw)
		}
		if claims.Payload.UserID.String() == "" {
			t.Fatal("accepted without a user")
		}
	})
}

// FuzzClaims: of payloads that are signed with our key, only those are accepted that say by the exact names of the
// claims: an access token of this application, in its time, for a user, at this route.
func FuzzClaims(f *testing.F) {
	f.Add([]byte(goodBody(f)))
	f.Add([]byte(goodBody(f, `"iat"`, `"path":["/x","/demo/student/:id"],"nbf":0,"iat"`)))
	f.Add([]byte(goodBody(f, `"access"`, `"access","Client":"refresh"`)))
	f.Add([]byte(goodBody(f, `1796080572`, `1e300`)))
	tokens := newTokens(f, testNow)
	f.Fuzz(func(t *testing.T, body []byte) {
		claims, err := tokens.Verify(forge(goodHead, string(body)), ClientAccess, testRoute)
		if err != nil {
			reasonOf(t, err)
			return
		}
		var fields map[string]any
		if err := json.Unmarshal(body, &fields); err != nil {
			t.Fatalf("accepted what encoding/json does not read: %v", err)
		}
		exp, _ := fields["exp"].(float64)
		if fields["client"] != "access" || fields["iss"] != testApp || exp <= float64(testNow) {
			t.Fatalf("accepted %s", body)
		}
		if path, given := fields["path"]; given && path != testRoute && !slices.Contains(claims.Paths, testRoute) {
			t.Fatalf("accepted at another path: %s", body)
		}
		data, _ := fields["data"].(map[string]any)
		if user, ok := data["userId"].(string); ok && StringID(user) != claims.Payload.UserID {
			t.Fatalf("%s is of %v", body, claims.Payload)
		}
		if claims.Payload.UserID.String() == "" {
			t.Fatal("accepted without a user")
		}
	})
}

// FuzzParseObject: what is read strictly is what encoding/json reads, and written again it is the same object.
func FuzzParseObject(f *testing.F) {
	f.Add([]byte(`{"a":1.50,"b":["x",null,{"c":true}]}`))
	f.Add([]byte(`{"a":1,"A":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		object, reason := parseObject(data)
		if reason != "" {
			if object != nil && reason != ReasonMalformed && reason != ReasonDuplicate {
				t.Fatalf("reason %q", reason)
			}
			return
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		var want map[string]any
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("accepted %q: %v", data, err)
		}
		got, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if expect, err := json.Marshal(want); err != nil || !bytes.Equal(got, expect) {
			t.Fatalf("%q read as %s, want %s (%v)", data, got, expect, err)
		}
	})
}

// FuzzGuard: whatever a request carries, the guard answers 401 or lets it pass, and it passes with a user only if one of
// the texts that the request holds is a token that golang-jwt verifies too.
func FuzzGuard(f *testing.F) {
	h := newHarness(f, harnessConfig{routes: []onion.Route{route("private"), route("public", Public())}})
	good := mustSign(f, h.tokens, ClientAccess, SignOptions{})
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithIssuer(testApp), jwt.WithExpirationRequired(), jwt.WithTimeFunc(testNow.Now))
	verifies := func(token string) bool {
		_, err := parser.Parse(token, func(*jwt.Token) (any, error) { return []byte(testKey), nil })
		return err == nil
	}
	f.Add("auth_token="+good, "", "")
	f.Add("", "Bearer "+good, "")
	f.Add("", "bearer \t"+good+" ", "")
	f.Add("auth_token=x", "Bearer "+good, good)
	f.Add("auth_token=", "Basic "+good, good)
	f.Add("", "Bearer "+strings.Replace(good, ".", "..", 1), "")
	f.Fuzz(func(t *testing.T, query, line, told string) {
		h.t = t
		for _, action := range []string{"private", "public"} {
			c := &onion.Call{RawQuery: query, Header: http.Header{"Authorization": {line}, "X-Vona-Jwt-Authtoken": {told}}}
			answer := h.call(action, c)
			switch answer {
			case noToken, badToken, expired:
				if action == "public" && answer != expired {
					t.Fatalf("public: %q", answer)
				}
			case "anonymous":
				if action == "private" {
					t.Fatal("a private action for nobody")
				}
			default:
				values, _ := c.Query()
				if !verifies(values.Get("auth_token")) && !verifies(bearer(line)) {
					t.Fatalf("%q for %q %q", answer, query, line)
				}
			}
			if h.log.Len() > 1<<20 {
				h.log.Reset()
			}
		}
	})
}

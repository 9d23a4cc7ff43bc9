package passport

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// Tokens that must not pass, although all but the first groups are signed with the right key.
func TestVerifyRefuses(t *testing.T) {
	good := forge(goodHead, goodBody(t))
	enc := base64.RawURLEncoding
	head, body, signature, _ := split(good)
	with := func(edits ...string) string { return forge(goodHead, goodBody(t, edits...)) }

	for _, tc := range []struct {
		name  string
		token string
		want  Reason
	}{
		{"the good one", good, ""},

		{"empty", "", ReasonMalformed},
		{"one dot", head + "." + body, ReasonMalformed},
		{"three dots", good + ".", ReasonMalformed},
		{"three dots in front", "." + good, ReasonMalformed},
		{"four segments", good + "." + signature, ReasonMalformed},
		{"dots", strings.Repeat(".", MaxTokenBytes), ReasonMalformed},
		{"a million dots", strings.Repeat(".", 1_000_000), ReasonTooLarge},
		{"1 MB", head + "." + strings.Repeat("A", 1<<20) + "." + signature, ReasonTooLarge},
		{"one byte too long", good + strings.Repeat("A", MaxTokenBytes+1-len(good)), ReasonTooLarge},
		{"as long as may be", good + strings.Repeat("A", MaxTokenBytes-len(good)), ReasonSignature},
		{"no header", "." + body + "." + signature, ReasonMalformed},
		{"no payload", head + ".." + signature, ReasonMalformed},
		{"no signature", head + "." + body + ".", ReasonSignature},
		{"blank in front", " " + good, ReasonMalformed},
		{"a line end inside", head + ".\n" + body + "." + signature, ReasonMalformed},
		{"a line end behind", good + "\n", ReasonMalformed},
		{"padding", good + "=", ReasonMalformed},
		{"base64 with plus", strings.Replace(good, ".", "+.", 1), ReasonMalformed},
		{"not utf-8", good + "\xff", ReasonMalformed},
		{"header no JSON", forge("HS256", goodBody(t)), ReasonMalformed},
		{"header a list", forge(`["HS256"]`, goodBody(t)), ReasonMalformed},
		{"header null", forge(`null`, goodBody(t)), ReasonMalformed},
		{"header with bad utf-8", forge("{\"alg\":\"HS256\",\"x\":\"\xff\"}", goodBody(t)), ReasonMalformed},
		{"payload no JSON", forge(goodHead, goodBody(t)+"}"), ReasonMalformed},
		{"payload and another", forge(goodHead, goodBody(t)+goodBody(t)), ReasonMalformed},
		{"payload a list", forge(goodHead, "["+goodBody(t)+"]"), ReasonMalformed},
		{"payload a text", forge(goodHead, `"access"`), ReasonMalformed},
		{"payload with bad utf-8", with(`"1"`, "\"\xff\""), ReasonMalformed},
		{"payload too deep", with(`"iat"`, `"x":`+strings.Repeat("[", 20)+strings.Repeat("]", 20)+`,"iat"`), ReasonMalformed},
		{"too many keys", with(`"iat"`, manyKeys(maxKeys)+`"iat"`), ReasonMalformed},

		{"alg none", forge(`{"alg":"none"}`, goodBody(t)), ReasonAlgorithm},
		{"alg None", forge(`{"alg":"None"}`, goodBody(t)), ReasonAlgorithm},
		{"alg hs256", forge(`{"alg":"hs256"}`, goodBody(t)), ReasonAlgorithm},
		{"alg HS512", forge(`{"alg":"HS512"}`, goodBody(t)), ReasonAlgorithm},
		{"alg RS256", forge(`{"alg":"RS256"}`, goodBody(t)), ReasonAlgorithm},
		{"alg ES256", forge(`{"alg":"ES256"}`, goodBody(t)), ReasonAlgorithm},
		{"alg a list", forge(`{"alg":["HS256"]}`, goodBody(t)), ReasonAlgorithm},
		{"alg null", forge(`{"alg":null}`, goodBody(t)), ReasonAlgorithm},
		{"no alg", forge(`{}`, goodBody(t)), ReasonAlgorithm},
		{"ALG", forge(`{"ALG":"HS256"}`, goodBody(t)), ReasonAlgorithm},
		{"two algs", forge(`{"alg":"none","alg":"HS256"}`, goodBody(t)), ReasonDuplicate},
		{"alg and ALG", forge(`{"alg":"HS256","ALG":"none"}`, goodBody(t)), ReasonDuplicate},
		{"crit", forge(`{"alg":"HS256","crit":["exp"]}`, goodBody(t)), ReasonMalformed},

		{"another key", forgeWith("guess", goodHead, goodBody(t)), ReasonSignature},
		{"an empty key", forgeWith("", goodHead, goodBody(t)), ReasonSignature},
		{"the key in capitals", forgeWith(strings.ToUpper(testKey), goodHead, goodBody(t)), ReasonSignature},
		{"another payload", head + "." + enc.EncodeToString([]byte(goodBody(t, `"1"`, `"2"`))) + "." + signature, ReasonSignature},
		{"another header", enc.EncodeToString([]byte(`{"alg":"HS256"}`)) + "." + body + "." + signature, ReasonSignature},
		{"half a signature", head + "." + body + "." + signature[:20], ReasonSignature},
		{"signature with other spare bits", good[:len(good)-1] + string(good[len(good)-1]+1), ReasonMalformed},
		{"bad claims, unsigned", head + "." + enc.EncodeToString([]byte(`{"client":1,"client":2}`)) + "." + signature, ReasonSignature},

		{"client twice", with(`"client":"access"`, `"client":"refresh","client":"access"`), ReasonDuplicate},
		{"CLIENT beside client", with(`"client":"access"`, `"client":"refresh","CLIENT":"access"`), ReasonDuplicate},
		{"client, one escaped", with(`"client":"access"`, `"client":"refresh","cl\u0069ent":"access"`), ReasonDuplicate},
		{"i\u017fs beside iss", with(`"iss":"VonaDev"`, `"iss":"VonaDev","i\u017fs":"x"`), ReasonDuplicate},
		{"userId twice", with(`"userId":"1"`, `"userId":"1","userid":"2"`), ReasonDuplicate},
		{"twice, deep inside", with(`"iat"`, `"x":[{"a":1,"A":2}],"iat"`), ReasonDuplicate},

		{"CLIENT alone", with(`"client"`, `"CLIENT"`), ReasonClient},
		{"no client", with(`"client":"access",`, ``), ReasonClient},
		{"refresh", with(`"access"`, `"refresh"`), ReasonClient},
		{"Access", with(`"access"`, `"Access"`), ReasonClient},
		{"client a list", with(`"access"`, `["access"]`), ReasonClient},

		{"another issuer", with(`"VonaDev"`, `"VonaProd"`), ReasonIssuer},
		{"issuer in another case", with(`"VonaDev"`, `"vonadev"`), ReasonIssuer},
		{"no issuer", with(`,"iss":"VonaDev"`, ``), ReasonIssuer},
		{"issuer a list", with(`"VonaDev"`, `["VonaDev"]`), ReasonIssuer},

		{"no exp", with(`"exp":1796080572,`, ``), ReasonClaim},
		{"exp a text", with(`1796080572`, `"1796080572"`), ReasonClaim},
		{"exp null", with(`1796080572`, `null`), ReasonClaim},
		{"exp true", with(`1796080572`, `true`), ReasonClaim},
		{"exp beyond a double", with(`1796080572`, `1e999`), ReasonClaim},
		{"exp beyond time", with(`1796080572`, `1e300`), ReasonClaim},
		{"exp in milliseconds is far off", with(`1796080572`, `1796080572000`), ""},
		{"exp a fraction", with(`1796080572`, `1796073373.5`), ""},
		{"exp now", with(`1796080572`, `1796073373`), ReasonExpired},
		{"exp zero", with(`1796080572`, `0`), ReasonExpired},
		{"exp negative", with(`1796080572`, `-1796080572`), ReasonExpired},
		{"Exp", with(`"exp"`, `"Exp"`), ReasonClaim},

		{"iat at the leeway", with(`1796073372`, `1796073433`), ""},
		{"iat beyond the leeway", with(`1796073372`, `1796073434`), ReasonNotYet},
		{"iat a text", with(`1796073372`, `"1796073372"`), ReasonClaim},
		{"no iat", with(`"iat":1796073372,`, ``), ""},
		{"nbf now", with(`"iat"`, `"nbf":1796073373,"iat"`), ""},
		{"nbf in the future", with(`"iat"`, `"nbf":1796073374,"iat"`), ReasonNotYet},
		{"nbf a text", with(`"iat"`, `"nbf":"0","iat"`), ReasonClaim},

		{"its path", with(`"iat"`, `"path":"/demo/student/:id","iat"`), ""},
		{"among its paths", with(`"iat"`, `"path":["/x","/demo/student/:id"],"iat"`), ""},
		{"another path", with(`"iat"`, `"path":"/demo/student","iat"`), ReasonPath},
		{"no path is good", with(`"iat"`, `"path":[],"iat"`), ReasonPath},
		{"path empty", with(`"iat"`, `"path":"","iat"`), ReasonPath},
		{"path null", with(`"iat"`, `"path":null,"iat"`), ReasonClaim},
		{"path an object", with(`"iat"`, `"path":{"0":"/demo/student/:id"},"iat"`), ReasonClaim},
		{"path of numbers", with(`"iat"`, `"path":["/demo/student/:id",1],"iat"`), ReasonClaim},

		{"no data", with(`"data"`, `"Data"`), ReasonClaim},
		{"data a list", with(`{"userId":"1","authId":-10001,"token":"secret-in-payload"}`, `["1"]`), ReasonClaim},
		{"no user", with(`"userId":"1",`, ``), ReasonClaim},
		{"user null", with(`"userId":"1"`, `"userId":null`), ReasonClaim},
		{"user empty", with(`"userId":"1"`, `"userId":""`), ReasonClaim},
		{"user an object", with(`"userId":"1"`, `"userId":{}`), ReasonClaim},
		{"user true", with(`"userId":"1"`, `"userId":true`), ReasonClaim},
		{"auth true", with(`-10001`, `true`), ReasonClaim},
		{"no auth", with(`"authId":-10001,`, ``), ""},
		{"auth null", with(`-10001`, `null`), ""},
		{"token a number", with(`"secret-in-payload"`, `1`), ReasonClaim},
		{"no token", with(`,"token":"secret-in-payload"`, ``), ""},

		{"kid, jku, x5u", forge(`{"alg":"HS256","kid":"../../dev/null","jku":"http://evil/","x5u":"http://evil/","jwk":{"k":""}}`, goodBody(t)), ""},
		{"other claims", with(`"iat"`, `"aud":"x","sub":1,"jti":null,"iat"`), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			claims, err := newTokens(t, testNow).Verify(tc.token, ClientAccess, testRoute)
			if got := reasonOf(t, err); got != tc.want {
				t.Fatalf("got %q (%v), want %q", got, err, tc.want)
			}
			if (claims == nil) != (err != nil) {
				t.Error("claims beside an error, or neither")
			}
			checkSilent(t, err, tc.token)
		})
	}
}

func manyKeys(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `"k%d":0,`, i)
	}
	return text.String()
}

// checkSilent sees that an error repeats nothing of a token: none of its segments, and no text of its payload.
func checkSilent(t testing.TB, err error, token string) {
	t.Helper()
	if err == nil {
		return
	}
	text := fmt.Sprintf("%v %+v %#v", err, err, err)
	for _, part := range append(strings.Split(token, "."), "secret-in-payload", testKey, "VonaProd") {
		if len(part) > 8 && strings.Contains(text, part) {
			t.Errorf("%q repeats the token", text)
		}
	}
}

func TestNumbersKeepTheirText(t *testing.T) {
	body := goodBody(t, `"userId":"1"`, `"userId":9007199254740993`, `-10001`, `"0012"`)
	claims, err := newTokens(t, testNow).Verify(forge(goodHead, body), ClientAccess, "")
	if err != nil {
		t.Fatal(err)
	}
	if p := claims.Payload; p.UserID.String() != "9007199254740993" || !p.UserID.IsNumber() || p.AuthID != StringID("0012") {
		t.Errorf("got %v", p)
	}
}

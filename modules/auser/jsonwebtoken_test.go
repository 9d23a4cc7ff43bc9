package auser_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/vonago/vonago/passport"
)

// Tokens that an application signs verify with the npm package jsonwebtoken, which Vona uses, and the other way round:
// with the sign-in in the store, what jsonwebtoken signs is accepted here.
func TestJSONWebToken(t *testing.T) {
	v := serve(t, setup{})
	tokens := v.signIn("tom")
	temp := v.post("temp", tokens.AccessToken, "").text()
	for _, tc := range []struct{ name, token string }{ // the refresh ends the others
		{"access", tokens.AccessToken}, {"temporary", temp}, {"refresh", tokens.RefreshToken},
	} {
		t.Run(tc.name, func(t *testing.T) {
			claims, signed := jsonwebtoken(t, tc.token)
			var want map[string]any
			if err := json.Unmarshal([]byte(payloadOf(t, tc.token)), &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(claims, want) {
				t.Errorf("jsonwebtoken reads %v, want %v", claims, want)
			}
			if claims["iss"] != appName {
				t.Errorf("issuer %v", claims["iss"])
			}
			if tc.name == string(passport.ClientRefresh) {
				v.post("refresh", "", signed).tokens(t)
				return
			}
			v.wants("signed by jsonwebtoken", v.get("me", signed), 200, "tom a")
		})
	}
}

func jsonwebtoken(t *testing.T, token string) (claims map[string]any, signed string) {
	t.Helper()
	const install = "run scripts/ensure-tools.sh, which installs what the test needs of Node"
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("no node: %v; %s", err, install)
	}
	dir := filepath.Join("testdata", "jsonwebtoken")
	if found, _ := filepath.Glob(filepath.Join(dir, "node_modules", "jsonwebtoken", "package.json")); len(found) == 0 {
		t.Fatalf("the package jsonwebtoken is not in %s: %s", dir, install)
	}
	in, err := json.Marshal(map[string]any{"secret": appKey, "issuer": appName, "token": token, "now": time.Now().Unix()})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "verify.mjs")
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, bytes.NewReader(in), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("verify.mjs: %v\n%s", err, &stderr)
	}
	var out struct {
		Claims map[string]any `json:"claims"`
		Signed string         `json:"signed"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		t.Fatalf("verify.mjs wrote %q: %v", &stdout, err)
	}
	return out.Claims, out.Signed
}

package passport

import (
	"net/http"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/vonago/vonago/onion"
)

// BenchmarkVerify compares the verification of a valid access token with golang-jwt alone, which does less: it folds
// keys, lets the last of two win, and knows neither client nor path. The whole guard is to cost under three times that.
func BenchmarkVerify(b *testing.B) {
	h := newHarness(b, harnessConfig{routes: []onion.Route{route("private")}})
	token := mustSign(b, h.tokens, ClientAccess, SignOptions{})

	b.Run("golang-jwt", func(b *testing.B) {
		parser := jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithIssuer(testApp), jwt.WithExpirationRequired(),
			jwt.WithTimeFunc(testNow.Now))
		key := []byte(testKey)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := parser.Parse(token, func(*jwt.Token) (any, error) { return key, nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Tokens", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := h.tokens.Verify(token, ClientAccess, testRoute); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("guard", func(b *testing.B) {
		chain, err := h.set.Chain(h.engine.Routes()[0])
		if err != nil {
			b.Fatal(err)
		}
		header := http.Header{"Authorization": {"Bearer " + token}}
		b.ReportAllocs()
		for b.Loop() {
			c := &onion.Call{Header: header, Route: h.engine.Routes()[0]}
			if _, err := chain.Run(b.Context(), c); err != nil {
				b.Fatal(err)
			}
		}
	})
}

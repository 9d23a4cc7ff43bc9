package passport_test

import (
	"fmt"

	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// A key is replaced in two steps: the new one goes in front, and the old one leaves when its last token has expired.
func ExampleTokens() {
	signer := func(keys ...passport.Secret) *passport.Tokens {
		tokens, err := passport.NewTokens("student", keys, passport.DefaultConfig(), onion.SystemClock{})
		if err != nil {
			panic(err)
		}
		return tokens
	}
	token, err := signer("old").Sign(passport.ClientAccess, passport.Payload{UserID: passport.StringID("1")}, passport.SignOptions{})
	fmt.Println(err)

	claims, err := signer("new", "old").Verify(token, passport.ClientAccess, "/demo/student/:id")
	fmt.Println(claims.Payload.UserID, err)

	_, err = signer("new").Verify(token, passport.ClientAccess, "/demo/student/:id")
	fmt.Println(err)
	// Output:
	// <nil>
	// 1 <nil>
	// auth token refused: signature
}

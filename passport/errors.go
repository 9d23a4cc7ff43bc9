package passport

import (
	"errors"
	"net/http"

	"github.com/vonago/vonago/onion"
)

// Reason says why a token was refused.
type Reason string

// The reasons for which a token is refused.
const (
	// ReasonAmbiguous: the request carries two tokens in one place, say two Authorization headers.
	ReasonAmbiguous Reason = "ambiguous"
	// ReasonTooLarge: longer than MaxTokenBytes.
	ReasonTooLarge Reason = "too large"
	// ReasonMalformed: no three segments of base64url with JSON objects in the first two.
	ReasonMalformed Reason = "malformed"
	// ReasonDuplicate: a key stands twice in an object, or in two cases.
	ReasonDuplicate Reason = "duplicate"
	// ReasonAlgorithm: any algorithm but HS256.
	ReasonAlgorithm Reason = "algorithm"
	// ReasonSignature: made with no key of ours.
	ReasonSignature Reason = "signature"
	// ReasonClaim: a claim is missing or of the wrong type.
	ReasonClaim Reason = "claim"
	// ReasonIssuer: of another application.
	ReasonIssuer Reason = "issuer"
	// ReasonExpired: its time is over.
	ReasonExpired Reason = "expired"
	// ReasonNotYet: its time has not come.
	ReasonNotYet Reason = "not yet"
	// ReasonClient: made for another purpose, say a refresh token used as an access token.
	ReasonClient Reason = "client"
	// ReasonPath: made for other routes.
	ReasonPath Reason = "path"
	// ReasonRevoked: signed out, kicked out, or replaced by another sign-in.
	ReasonRevoked Reason = "revoked"
	// ReasonUnknownUser: its user is no more.
	ReasonUnknownUser Reason = "unknown user"
)

// TokenError says that a token is bad. It never holds any part of the token.
type TokenError struct {
	Reason Reason
	// Detail says more, in words that do not come from the token: "exp is missing".
	Detail string
}

// Error names the reason.
func (e *TokenError) Error() string {
	text := "auth token refused: " + string(e.Reason)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

func refuse(reason Reason, detail string) error { return &TokenError{Reason: reason, Detail: detail} }

// messageExpired is the message by which a client knows that it should refresh its token (contract C6).
const messageExpired = "jwt expired"

// Unauthorized is the 401 of contract C6 with the WWW-Authenticate of RFC 6750: "Bearer", and error="invalid_token" when
// the cause is a TokenError. A nil cause says that no token was given.
func Unauthorized(cause error) *onion.Error {
	challenge := "Bearer"
	if tokenError(cause) != nil {
		challenge = `Bearer error="invalid_token"`
	}
	e := onion.NewError(http.StatusUnauthorized, cause)
	e.Header = http.Header{"Www-Authenticate": {challenge}}
	return e
}

// Forbidden is what a caller gets who may not do this: 403, and for an anonymous caller the 401 of Unauthorized
// (contract C6). The executor answers onion.Refuse and any 403 with it. The cause may be nil.
func Forbidden(c *onion.Call, cause error) *onion.Error {
	if !held(c).Authenticated() {
		e := Unauthorized(nil)
		e.Cause = cause
		return e
	}
	return onion.NewError(http.StatusForbidden, cause)
}

// tokenError finds the TokenError in err; nil if there is none.
func tokenError(err error) *TokenError {
	bad, _ := errors.AsType[*TokenError](err)
	return bad
}

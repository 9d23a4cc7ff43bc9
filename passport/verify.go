package passport

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// MaxTokenBytes is the longest token that is looked at. Longer ones are refused before anything is parsed.
	MaxTokenBytes = 8 << 10
	// IssuedLeeway is how far in the future a token may have been issued: hosts of one application disagree on the
	// time by so much at most. The expiry has no leeway, as in Vona.
	IssuedLeeway = time.Minute

	algorithm = "HS256"
)

// Claims are the claims of a token that was verified.
type Claims struct {
	Client  Client
	Payload Payload
	// Paths are the raw route templates at which the token is good; nil means all.
	Paths     []string
	ExpiresAt time.Time
}

// Verify checks a token for a client at a route, given by its raw template ("" outside any route), and gives its
// claims; every error is a *TokenError. The signature comes first: nothing of the payload is parsed before it is known
// to be ours. The header's kid, jku, x5u and their like are not looked at, so that no token chooses its own key.
func (t *Tokens) Verify(token string, client Client, route string) (*Claims, error) {
	if len(token) > MaxTokenBytes {
		return nil, refuse(ReasonTooLarge, "")
	}
	head, body, signature, ok := split(token)
	if !ok {
		return nil, refuse(ReasonMalformed, "want three segments of base64url")
	}
	if err := checkHeader(head); err != nil {
		return nil, err
	}
	if err := t.checkSignature(token[:len(head)+1+len(body)], signature); err != nil {
		return nil, err
	}
	claims, reason := decodeSegment(body)
	if reason != "" {
		return nil, refuse(reason, "payload")
	}
	return t.checkClaims(claims, client, route)
}

// split cuts a token at exactly two dots. Only the signature may be empty: that is how tokens with alg none come. The
// alphabet is checked here because decoders of base64 pass over line ends.
func split(token string) (head, body, signature string, ok bool) {
	dots := 0
	for i := range len(token) {
		switch c := token[i]; {
		case c == '.':
			dots++
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return "", "", "", false
		}
	}
	head, rest, _ := strings.Cut(token, ".")
	body, signature, _ = strings.Cut(rest, ".")
	return head, body, signature, dots == 2 && head != "" && body != ""
}

// strictEncoding refuses bits left over at the end: one token has one spelling.
var strictEncoding = base64.RawURLEncoding.Strict()

func decodeSegment(segment string) (map[string]any, Reason) {
	data, err := strictEncoding.DecodeString(segment)
	if err != nil {
		return nil, ReasonMalformed
	}
	return parseObject(data)
}

func checkHeader(segment string) error {
	if segment == header {
		return nil // the one that Vona and we write
	}
	fields, reason := decodeSegment(segment)
	if reason != "" {
		return refuse(reason, "header")
	}
	if fields["alg"] != algorithm {
		return refuse(ReasonAlgorithm, "")
	}
	// RFC 7515, 4.1.11: who does not understand what crit lists must refuse the token, and we understand none.
	if _, ok := fields["crit"]; ok {
		return refuse(ReasonMalformed, "header asks for extensions")
	}
	return nil
}

func (t *Tokens) checkSignature(text, segment string) error {
	signature, err := strictEncoding.DecodeString(segment)
	if err != nil {
		return refuse(ReasonMalformed, "signature")
	}
	for _, key := range t.keys {
		if jwt.SigningMethodHS256.Verify(text, signature, key) == nil { // compares in constant time
			return nil
		}
	}
	return refuse(ReasonSignature, "")
}

// checkClaims looks claims up by their exact names, and never takes one type for another.
func (t *Tokens) checkClaims(claims map[string]any, client Client, route string) (*Claims, error) {
	if issuer, _ := claims["iss"].(string); issuer != t.issuer {
		return nil, refuse(ReasonIssuer, "")
	}
	expires, err := t.checkTimes(claims)
	if err != nil {
		return nil, err
	}
	if name, _ := claims["client"].(string); name != string(client) {
		return nil, refuse(ReasonClient, "")
	}
	paths, err := pathsOf(claims)
	if err != nil {
		return nil, err
	}
	if paths != nil && !slices.Contains(paths, route) {
		return nil, refuse(ReasonPath, "")
	}
	payload, err := payloadOf(claims)
	if err != nil {
		return nil, err
	}
	return &Claims{Client: client, Payload: payload, Paths: paths, ExpiresAt: time.Unix(expires, 0)}, nil
}

// checkTimes compares whole seconds, as Vona does: a token is expired in the second that its exp names.
func (t *Tokens) checkTimes(claims map[string]any) (expires int64, err error) {
	now := t.clock.Now().Unix()
	exp, given, ok := secondsOf(claims, "exp")
	switch {
	case !given:
		return 0, refuse(ReasonClaim, "exp is missing")
	case !ok:
		return 0, refuse(ReasonClaim, "exp is no time")
	case float64(now) >= exp:
		return 0, refuse(ReasonExpired, "")
	}
	iat, given, ok := secondsOf(claims, "iat")
	switch {
	case given && !ok:
		return 0, refuse(ReasonClaim, "iat is no time")
	case given && iat > float64(now)+IssuedLeeway.Seconds():
		return 0, refuse(ReasonNotYet, "iat is in the future")
	}
	nbf, given, ok := secondsOf(claims, "nbf")
	switch {
	case given && !ok:
		return 0, refuse(ReasonClaim, "nbf is no time")
	case given && nbf > float64(now):
		return 0, refuse(ReasonNotYet, "nbf is in the future")
	}
	return int64(exp), nil
}

// secondsOf reads a time in seconds since 1970: a JSON number that a double holds exactly, fractions included.
func secondsOf(claims map[string]any, name string) (seconds float64, given, ok bool) {
	value, given := claims[name]
	number, isNumber := value.(json.Number)
	if !isNumber {
		return 0, given, false
	}
	seconds, err := number.Float64()
	return seconds, true, err == nil && math.Abs(seconds) <= 1<<53
}

// pathsOf reads the claim path: one or a list (contract P1). An empty list is good nowhere.
func pathsOf(claims map[string]any) ([]string, error) {
	value, given := claims["path"]
	if !given {
		return nil, nil
	}
	items, ok := value.([]any)
	if !ok {
		items = []any{value}
	}
	paths := make([]string, len(items))
	for i, item := range items {
		if paths[i], ok = item.(string); !ok {
			return nil, refuse(ReasonClaim, "path is no text and no list of texts")
		}
	}
	return paths, nil
}

func payloadOf(claims map[string]any) (Payload, error) {
	data, ok := claims["data"].(map[string]any)
	if !ok {
		return Payload{}, refuse(ReasonClaim, "data is no object")
	}
	user, ok := idOf(data["userId"])
	if !ok || user.String() == "" {
		return Payload{}, refuse(ReasonClaim, "data.userId is no id")
	}
	auth, ok := idOf(data["authId"])
	if !ok {
		return Payload{}, refuse(ReasonClaim, "data.authId is no id")
	}
	secret, ok := data["token"].(string)
	if !ok && data["token"] != nil {
		return Payload{}, refuse(ReasonClaim, "data.token is no text")
	}
	return Payload{UserID: user, AuthID: auth, Token: secret}, nil
}

package passport

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/vonago/vonago/onion"
)

// Client is a kind of token: what it may be used for (contract P1).
type Client string

// The clients of Vona.
const (
	ClientAccess  Client = "access"
	ClientRefresh Client = "refresh"
	ClientOAuth   Client = "oauth"
	ClientCode    Client = "code"
)

// Payload is what a token says of its sign-in.
type Payload struct {
	UserID ID `json:"userId"`
	AuthID ID `json:"authId,omitzero"`
	// Token is the opaque random text that the token store keeps (contract P3), not the JWT. It is a secret: Payload
	// prints without it, as JSON too. It may be empty where everything is stateless.
	Token string `json:"-"`
}

// String leaves the secret out.
func (p Payload) String() string { return "user " + p.UserID.String() + ", auth " + p.AuthID.String() }

// Format leaves the secret out, whatever the verb.
func (p Payload) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.String()) }

// LogValue leaves the secret out.
func (p Payload) LogValue() slog.Value { return slog.StringValue(p.String()) }

// Tokens makes and verifies tokens; it is safe for concurrent use. The module a-user provides it as the service *Tokens.
type Tokens struct {
	issuer string
	keys   [][]byte
	lives  map[Client]time.Duration
	temp   time.Duration
	clock  onion.Clock
}

// NewTokens makes a Tokens for the application named issuer, with the keys of contract P1: jwt.base.secret, or else
// server.keys. The error holds every fault by its path.
func NewTokens(issuer string, server Keys, cfg Config, clock onion.Clock) (*Tokens, error) {
	keys, errKeys := cfg.signingKeys(server)
	lives, temp, errLives := cfg.lifetimes()
	var errName error
	if issuer == "" {
		errName = errors.New("app.name: must not be empty: it is the issuer of tokens")
	}
	if err := errors.Join(errName, errKeys, errLives); err != nil {
		return nil, err
	}
	t := &Tokens{issuer: issuer, lives: lives, temp: temp, clock: clock}
	for _, key := range keys {
		t.keys = append(t.keys, []byte(key.Reveal()))
	}
	return t, nil
}

// Format keeps the keys out of what is printed, whatever the verb.
func (t *Tokens) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "tokens of "+t.issuer) }

// Life is how long a client's tokens live if nothing else is said; 0 for an unknown client.
func (t *Tokens) Life(client Client) time.Duration { return t.lives[client] }

// SignOptions changes how one token is made.
type SignOptions struct {
	// Temp gives the token the life of jwt.tempAuthToken, for tokens that stand in URLs.
	Temp bool
	// ExpiresIn is another life than the client's, in whole seconds; 0 leaves it.
	ExpiresIn time.Duration
	// Paths are the raw route templates at which the token is good; none means all.
	Paths []string
}

// wire is the payload as Vona writes it, with the keys in its order.
type wire struct {
	Client    Client   `json:"client"`
	Data      wireData `json:"data"`
	Path      any      `json:"path,omitempty"`
	IssuedAt  int64    `json:"iat"`
	ExpiresAt int64    `json:"exp"`
	Issuer    string   `json:"iss"`
}

type wireData struct {
	Payload

	Token string `json:"token,omitempty"`
}

// header is the first segment of every token made here: {"alg":"HS256","typ":"JWT"}.
var header = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`))

// Sign makes a token, signed with the first key. A payload without a user, an unknown client and a token that would be
// longer than MaxTokenBytes are errors.
func (t *Tokens) Sign(client Client, payload Payload, opts SignOptions) (string, error) {
	life, ok := t.lives[client]
	switch {
	case !ok:
		return "", fmt.Errorf("signing a token: unknown client %q", client)
	case payload.UserID.String() == "":
		return "", fmt.Errorf("signing a token: the payload has no user id")
	case opts.ExpiresIn < 0 || opts.ExpiresIn > maxLife*time.Second || opts.ExpiresIn%time.Second != 0:
		return "", fmt.Errorf("signing a token: a life of %v: want whole seconds, ten years at most", opts.ExpiresIn)
	case opts.ExpiresIn > 0:
		life = opts.ExpiresIn
	case opts.Temp:
		life = t.temp
	}
	now := t.clock.Now().Unix()
	claims := wire{Client: client, Data: wireData{payload, payload.Token}, IssuedAt: now, ExpiresAt: now + int64(life/time.Second), Issuer: t.issuer}
	switch len(opts.Paths) {
	case 0:
	case 1:
		claims.Path = opts.Paths[0]
	default:
		claims.Path = opts.Paths
	}
	return t.sign(claims)
}

func (t *Tokens) sign(claims wire) (string, error) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false) // byte for byte what Vona signs
	if err := enc.Encode(claims); err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	text := header + "." + base64.RawURLEncoding.EncodeToString(bytes.TrimSuffix(body.Bytes(), []byte("\n")))
	signature, err := jwt.SigningMethodHS256.Sign(text, t.keys[0])
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	token := text + "." + base64.RawURLEncoding.EncodeToString(signature)
	if len(token) > MaxTokenBytes {
		return "", fmt.Errorf("signing a token: it is longer than %d bytes", MaxTokenBytes)
	}
	return token, nil
}

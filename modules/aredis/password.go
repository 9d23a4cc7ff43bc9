package aredis

import (
	"fmt"
	"io"
	"log/slog"
)

// Password is a text that prints as "***" (empty prints empty): with every verb of fmt, as JSON and text, and in slog. The
// configuration knows it for a secret by its method Reveal and does not print it either.
type Password string

// Reveal gives the text itself, to be handed to Redis and to nothing that prints.
func (p Password) Reveal() string { return string(p) }

// revealed gives the text of a password that may not have been said.
func revealed(p *Password) string {
	if p == nil {
		return ""
	}
	return p.Reveal()
}

// String gives the mask.
func (p Password) String() string {
	if p == "" {
		return ""
	}
	return "***"
}

// Format writes the mask whatever the verb, so that %d, %x and %#v do not get round String.
func (p Password) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.String()) }

// MarshalText gives the mask, to JSON too.
func (p Password) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// LogValue gives the mask.
func (p Password) LogValue() slog.Value { return slog.StringValue(p.String()) }

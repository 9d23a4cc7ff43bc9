package passport

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a key that prints as "***" with every verb of fmt, in JSON and in slog. Configuration treats it as a
// secret because of its method Reveal.
type Secret string

// Reveal gives the key itself.
func (s Secret) Reveal() string { return string(s) }

// String gives the mask.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// Format writes the mask whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText gives the mask, for JSON and YAML too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue gives the mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Keys are the application's keys, server.keys: the first signs, all verify, so that a key can be replaced without
// signing anyone out. The application provides them as a service, before its modules offer theirs:
//
//	onion.Provide(env, passport.Keys{"new", "old"})
type Keys []Secret

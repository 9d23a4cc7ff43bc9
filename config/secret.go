package config

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"
)

// mask stands for a secret wherever one would be printed.
const mask = "***"

// Secret is a text that prints as "***" (empty prints empty): with every verb of fmt, as JSON, text and YAML, and in slog.
// Only Reveal gives the text. It is no string type, because fmt reads the unexported fields of a struct, and the operand of
// %p, without asking their methods: there it finds an address.
//
// Packages that do not import this one may have a secret type of their own: Decode takes any string type with a method
// Reveal() string for one.
type Secret struct {
	_    [0]func() // two secrets cannot be compared by ==, which would compare addresses
	text *string   // nil if empty
}

// NewSecret wraps a text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Reveal gives the text itself, to be handed to whatever needs it and to nothing that prints.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String gives the mask.
func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return mask
}

// GoString gives the mask.
func (s Secret) GoString() string { return s.String() }

// Format writes the mask whatever the verb, so that %d, %x and %q do not get round String.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText gives the mask.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON gives the mask as a JSON string.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// MarshalYAML gives the mask.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// LogValue gives the mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// maskURL hides the password of a URL's user information; any other text comes back as it is.
func maskURL(s string) string {
	if !strings.Contains(s, "://") || !strings.Contains(s, "@") {
		return s
	}
	scheme, rest, _ := strings.Cut(s, "://")
	u, err := url.Parse(s)
	if err != nil { // better too little than a password
		return scheme + "://" + mask
	}
	if u.User == nil {
		return s
	}
	if _, has := u.User.Password(); !has {
		return s
	}
	return scheme + "://" + u.User.Username() + ":" + mask + rest[strings.LastIndex(rest[:authorityEnd(rest)], "@"):]
}

func authorityEnd(rest string) int {
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		return i
	}
	return len(rest)
}

// sensitivePath is the net beneath the types: values of such names, and lists of them, are never printed even if nobody
// declared a Secret.
func sensitivePath(path []string) bool {
	for _, step := range slices.Backward(path) {
		if _, index := indexStep(step); index {
			continue
		}
		step = strings.ToLower(step)
		for _, word := range []string{"password", "passwd", "secret", "privatekey", "credential"} {
			if strings.Contains(step, word) {
				return true
			}
		}
		return false
	}
	return false
}

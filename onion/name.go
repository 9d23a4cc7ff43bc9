package onion

import (
	"fmt"
	"strings"
)

// Name is an onion's full name, "module:onion", for example
// "a-ratelimit:rateLimit". Names are Vona's.
type Name string

// ParseName checks that s has the form "module:onion": a module name as
// ParseModuleName wants it, one colon, and a non-empty onion name of letters,
// digits, '-' and '_'.
func ParseName(s string) (Name, error) {
	module, local, found := strings.Cut(s, ":")
	if !found {
		return "", fmt.Errorf("onion name %q: want \"module:onion\"", s)
	}
	if err := checkModuleName(module); err != nil {
		return "", fmt.Errorf("onion name %q: %w", s, err)
	}
	if local == "" || strings.IndexFunc(local, notWord) >= 0 {
		return "", fmt.Errorf("onion name %q: the part after the colon must be letters, digits, '-' or '_'", s)
	}
	return Name(s), nil
}

// Module is the part before the colon.
func (n Name) Module() string {
	module, _, _ := strings.Cut(string(n), ":")
	return module
}

// checkModuleName accepts "<provider>-<name>", the form from which a module's
// URL is made (contract D5).
func checkModuleName(s string) error {
	provider, name, found := strings.Cut(s, "-")
	if !found || provider == "" || name == "" || strings.IndexFunc(s, notWord) >= 0 {
		return fmt.Errorf("module name %q: want \"<provider>-<name>\" of letters, digits, '-' and '_'", s)
	}
	return nil
}

// notWord tells characters that may not stand in a name. Dots and colons are
// separators elsewhere (bean names, onion names), slashes would change URLs.
func notWord(r rune) bool {
	return !(r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
}

package instance

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// MaxNameLen is the longest instance name in bytes. A longer one names no
// instance, whatever a store would say.
const MaxNameLen = 255

const (
	// noneName is how a request says that it has no instance (contract D1).
	noneName = "null"
	// defaultFile is the name of the default instance's file, and so no name
	// of an instance (contract D3).
	defaultFile = "default"
)

// CheckName says why no instance can be called name, nil if one can. Names are
// case-sensitive UTF-8 texts of at most MaxNameLen bytes without control
// characters; "" is the default instance (contract D2).
func CheckName(name string) error {
	switch {
	case name == noneName:
		return errors.New(`no instance can be called "null", which means none`)
	case name == defaultFile:
		return errors.New(`no instance can be called "default", the default instance's name is ""`)
	case len(name) > MaxNameLen:
		return fmt.Errorf("an instance name has at most %d bytes, this one has %d", MaxNameLen, len(name))
	case !utf8.ValidString(name):
		return errors.New("an instance name must be UTF-8 text")
	}
	for _, r := range name {
		if unicode.IsControl(r) {
			return errors.New("an instance name has no control characters")
		}
	}
	return nil
}

// label names an instance in messages.
func label(name string) string {
	if name == "" {
		return `the default instance ""`
	}
	const most = 80
	if len(name) > most {
		return fmt.Sprintf("instance %.80q...", name)
	}
	return fmt.Sprintf("instance %q", name)
}

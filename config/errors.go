package config

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// Error is one fault of the configuration: where, in which value, and what is wrong. It never holds a secret's text.
type Error struct {
	At      Position
	Path    []string // the value's path, empty if the fault is of a whole file
	Message string
	Cause   error // what lies beneath, nil mostly
}

// Error gives one line, such as
// "config/config.yaml:12: server.listen.port: must be between 0 and 65535, is 70000".
func (e *Error) Error() string {
	if len(e.Path) == 0 {
		return e.At.String() + ": " + e.Message
	}
	return e.At.String() + ": " + PathString(e.Path...) + ": " + e.Message
}

// Unwrap gives the cause, so that errors.Is(err, fs.ErrNotExist) works.
func (e *Error) Unwrap() error { return e.Cause }

// Fault is what another package found wrong with a section, with its place. The text of err begins with the dotted path of the
// value that it is about, "redis.base.host: must be a name"; otherwise it is about the value at path. There is no fault, nil,
// where that value is missing and may be one that could not be read.
func (t *Tree) Fault(err error, path ...string) *Error {
	text := err.Error()
	if head, rest, ok := strings.Cut(text, ": "); ok && !strings.Contains(head, " ") {
		if own, bad := ParsePath(head); bad == nil && (len(own) > 1 || slices.Equal(own, path)) {
			path, text = own, rest
		}
	}
	if value, _ := lookup(t.merged, path); value == nil && t.lost(path) {
		return nil
	}
	return &Error{At: t.Source(path...), Path: path, Message: text, Cause: err}
}

// Errors is every fault that was found, in a fixed order: low layer to high, top of the file to bottom.
type Errors []error

// Error gives one fault per line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the faults to errors.Is and errors.As.
func (e Errors) Unwrap() []error { return e }

// orNil avoids the non-nil error that an empty list would be.
func (e Errors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// sorted orders the faults and drops repetitions: a fault in a YAML anchor is met once per use.
func (e Errors) sorted() Errors {
	slices.SortStableFunc(e, func(a, b error) int {
		var x, y *Error
		if !errors.As(a, &x) || !errors.As(b, &y) {
			return 0
		}
		return cmp.Or(x.At.compare(y.At), slices.Compare(x.Path, y.Path))
	})
	return slices.CompactFunc(e, func(a, b error) bool { return a.Error() == b.Error() })
}

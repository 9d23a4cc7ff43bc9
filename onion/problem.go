package onion

import (
	"errors"
	"strings"
)

// problem is one thing wrong with options, at a path below the onion.
type problem struct {
	path  []string
	text  string
	cause error
}

// problems is an error of one or more of them.
type problems []problem

func (p problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "; ")
}

func (p problem) Error() string {
	if len(p.path) == 0 {
		return p.text
	}
	return strings.Join(p.path, ".") + ": " + p.text
}

// Unwrap gives the error that the problem was made of, if any.
func (p problem) Unwrap() error { return p.cause }

// OptionError is an error at one option: builds and Validate methods return it
// so that the engine can name the layer that set the option.
type OptionError struct {
	// Path leads to the option below the onion, for example "rateLimit", "name".
	Path []string
	// Message says what is wrong with it.
	Message string
}

// Error names the option and what is wrong.
func (e *OptionError) Error() string { return problem{path: e.Path, text: e.Message}.Error() }

// problemsOf splits any error of a decode, a Validate or a build.
func problemsOf(err error) problems {
	var list problems
	if errors.As(err, &list) {
		return list
	}
	// A list that was wrapped has a text of its own, so only a bare one is split.
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			list = append(list, problemsOf(one)...)
		}
		return list
	}
	if at, ok := errors.AsType[*OptionError](err); ok {
		return problems{{path: at.Path, text: at.Message, cause: err}}
	}
	return problems{{text: err.Error(), cause: err}}
}

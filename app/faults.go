package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/onion"
)

// faults gathers errors and takes apart those that hold several, so that each
// is one line.
type faults struct {
	list onion.Errors
	seen map[string]bool
}

func (f *faults) add(err error) {
	if err == nil {
		return
	}
	if list, ok := err.(interface{ Unwrap() []error }); ok && isPlainList(err, list.Unwrap()) {
		for _, one := range list.Unwrap() {
			f.add(one)
		}
		return
	}
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	if text := err.Error(); !f.seen[text] {
		f.seen[text] = true
		f.list = append(f.list, err)
	}
}

// addAt adds what an error holds, with the place before each.
func (f *faults) addAt(place string, err error) {
	var own faults
	own.add(err)
	for _, one := range own.list {
		f.add(fmt.Errorf("%s: %w", place, one))
	}
}

// addFaults adds what the check of the section at a path found, with the place of
// each value. A value of which something is known to be wrong already is left out:
// modules judge what is left of the server's keys, say, where those are no list.
func (f *faults) addFaults(cfg *config.Config, err error, path ...string) {
	var own faults
	own.add(err)
	known := f.list
	for _, one := range own.list {
		if fault := cfg.Fault(one, path...); fault != nil && !blamed(known, fault.Path) {
			f.add(fault)
		}
	}
}

// blamed reports that one of the errors is of the value at a path, of what it is in
// or of what is in it.
func blamed(list []error, path []string) bool {
	return slices.ContainsFunc(list, func(err error) bool {
		var e *config.Error
		if !errors.As(err, &e) || len(e.Path) == 0 {
			return false
		}
		n := min(len(e.Path), len(path))
		return slices.Equal(e.Path[:n], path[:n])
	})
}

// isPlainList reports that an error says no more than the errors in it.
func isPlainList(err error, list []error) bool {
	lines := make([]string, len(list))
	for i, one := range list {
		lines[i] = one.Error()
	}
	return err.Error() == strings.Join(lines, "\n")
}

// err is all faults, without those that a missing service would cause: with
// other faults around, the service is missing because of one of them.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	causes := slices.DeleteFunc(slices.Clone(f.list), func(err error) bool { return errors.Is(err, onion.ErrNoService) })
	if len(causes) > 0 {
		return causes
	}
	return f.list
}

package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The names of the layers, low to high, and that of an instance's file. [FromMap] adds layers of other names.
const (
	LayerBase        = "base"
	LayerMode        = "mode"
	LayerFlavor      = "flavor"
	LayerLocal       = "local"
	LayerEnvironment = "environment"
	LayerInstance    = "instance"
)

// Position says where a value was set.
type Position struct {
	// Layer is one of the Layer constants or the name given to FromMap; empty if nothing is known.
	Layer string
	// File is the file's path, relative to the working directory where it lies beneath it; empty for other sources.
	File string
	// Line and Column count from 1; 0 if the position is a file as a whole.
	Line, Column int
	// Env is the environment variable that set the value, else empty.
	Env string
}

// String gives "config/config.yaml:12", "config/config.yaml", "environment SERVER_KEYS" or the layer's name.
func (p Position) String() string {
	switch {
	case p.Env != "":
		return "environment " + p.Env
	case p.File != "" && p.Line > 0:
		return p.File + ":" + strconv.Itoa(p.Line)
	case p.File != "":
		return p.File
	case p.Layer != "":
		return p.Layer
	}
	return "configuration"
}

// compare orders positions from the lowest layer to the highest, then down the file.
func (p Position) compare(q Position) int {
	return cmp.Or(
		cmp.Compare(rank(p.Layer), rank(q.Layer)),
		cmp.Compare(p.File, q.File),
		cmp.Compare(p.Line, q.Line),
		cmp.Compare(p.Column, q.Column),
		cmp.Compare(p.Env, q.Env),
	)
}

func rank(layer string) int {
	for i, name := range []string{LayerBase, LayerMode, LayerFlavor, LayerLocal, LayerEnvironment, LayerInstance} {
		if name == layer {
			return i
		}
	}
	return -1
}

// PathString writes a path for people: keys joined by dots, list indexes in brackets, and a key that would be misread
// (empty, or with a dot, a space, a quote or a bracket) in quotes: instance.instances."acme.eu".id, server.keys[0].
func PathString(path ...string) string {
	var b strings.Builder
	for _, step := range path {
		if _, ok := indexStep(step); ok {
			b.WriteString(step)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		if step == "" || strings.ContainsAny(step, ". \t\"'[]") {
			step = strconv.Quote(step)
		}
		b.WriteString(step)
	}
	return b.String()
}

// ParsePath reads what PathString writes.
func ParsePath(text string) ([]string, error) {
	var path []string
	for rest := text; rest != ""; {
		step := ""
		switch {
		case rest[0] == '"':
			quoted, err := strconv.QuotedPrefix(rest)
			if err == nil {
				step, err = strconv.Unquote(quoted)
			}
			if err != nil {
				return nil, fmt.Errorf("the path %s has a quote without its end", text)
			}
			rest = rest[len(quoted):]
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			step = rest[:end+1]
			if _, ok := indexStep(step); !ok {
				return nil, fmt.Errorf("the path %s: %s is no list index", text, rest)
			}
			rest = rest[end+1:]
		default:
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			step, rest = rest[:end], rest[end:]
			if step == "" {
				return nil, fmt.Errorf("the path %s has an empty step", text)
			}
		}
		path = append(path, step)
		after, dot := strings.CutPrefix(rest, ".")
		if dot && after == "" || !dot && rest != "" && rest[0] != '[' {
			return nil, fmt.Errorf("the path %s: want a dot and a key at %q", text, rest)
		}
		rest = after
	}
	return path, nil
}

// A list index is a step of its own shape, "[0]", so that a path can be printed without the values it leads through.
func stepOf(index int) string { return "[" + strconv.Itoa(index) + "]" }

func indexStep(step string) (int, bool) {
	if len(step) < 3 || step[0] != '[' || step[len(step)-1] != ']' {
		return 0, false
	}
	n, err := strconv.Atoi(step[1 : len(step)-1])
	return n, err == nil && n >= 0
}

// displayPath shortens a path to one relative to the working directory if it lies beneath it; otherwise it stays as the
// operator wrote it.
func displayPath(path string) string {
	path = filepath.Clean(path)
	if !filepath.IsAbs(path) {
		return filepath.ToSlash(path)
	}
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(path)
}

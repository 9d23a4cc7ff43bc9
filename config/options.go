package config

import (
	"os"
	"regexp"
	"slices"
	"strconv"
)

// The modes.
const (
	ModeDev  = "dev"
	ModeTest = "test"
	ModeProd = "prod"
)

// DefaultFlavor is the flavor if neither the options nor META_FLAVOR name one.
const DefaultFlavor = "normal"

const (
	envMode   = "META_MODE"
	envFlavor = "META_FLAVOR"
)

// Options says what to load.
type Options struct {
	// Dir is the directory of config.yaml and instances/. Empty means "config".
	Dir string
	// Mode is dev, test or prod. Empty means what META_MODE says, else dev.
	Mode string
	// Flavor is a word of letters, digits, "_" and "-" that is neither a mode nor "local". Empty means what META_FLAVOR
	// says, else "normal".
	Flavor string
	// Environ is the environment as NAME=value. Nil means the process's own, read at each load.
	Environ []string
}

func (o Options) dir() string {
	if o.Dir == "" {
		return "config"
	}
	return o.Dir
}

// choice is what the options and the environment come to.
type choice struct {
	dir, mode, flavor string
	env               map[string]string
}

var flavorName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// resolve settles directory, mode and flavor. A bad mode or flavor is left empty, so that its file is not looked for and
// the faults of the other files are found too.
func (o Options) resolve() (choice, Errors) {
	environ := o.Environ
	if environ == nil {
		environ = os.Environ()
	}
	c := choice{dir: o.dir(), env: environment(environ)}
	modes := []string{ModeDev, ModeTest, ModeProd}
	var errs Errors
	pick := func(option, given, variable, fallback, rule string, good func(string) bool) string {
		at := Position{Layer: "option " + option}
		if given == "" {
			given, at = c.env[variable], Position{Layer: LayerEnvironment, Env: variable}
		}
		if given == "" {
			return fallback
		}
		if !good(given) {
			errs = append(errs, &Error{At: at, Message: rule + ", is " + strconv.Quote(given)})
			return ""
		}
		return given
	}
	c.mode = pick("Mode", o.Mode, envMode, ModeDev, "must be one of dev, test, prod",
		func(s string) bool { return slices.Contains(modes, s) })
	c.flavor = pick("Flavor", o.Flavor, envFlavor, DefaultFlavor,
		`must be a word of letters, digits, "_" and "-", neither a mode nor "local"`,
		func(s string) bool { return flavorName.MatchString(s) && s != "local" && !slices.Contains(modes, s) })
	return c, errs
}

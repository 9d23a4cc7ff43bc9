package instance

import (
	"strings"

	"github.com/vonago/vonago/config"
)

// DefaultField is the query and header field of the instance name unless
// configured otherwise (contract D1).
const DefaultField = "x-vona-instance-name"

// sectionName is the section of the application's configuration that this
// package reads.
const sectionName = "instance"

// Section is the section "instance" of the application's configuration, without
// the static instances, which Statics reads.
type Section struct {
	// QueryField is the query field of the instance name; empty turns it off.
	QueryField string `koanf:"queryField"`
	// HeaderField is the header field of the instance name; empty turns it off.
	HeaderField string `koanf:"headerField"`
}

// ReadSection reads the section "instance" strictly; a config.Errors names every
// fault with file and line.
func ReadSection(app *config.Tree) (Section, error) {
	full := struct {
		Section
		Instances any `koanf:"instances"`
	}{Section: Section{QueryField: DefaultField, HeaderField: DefaultField}}
	if err := app.Decode(&full, sectionName); err != nil {
		return Section{}, err
	}
	if strings.ContainsFunc(full.HeaderField, notToken) {
		path := []string{sectionName, "headerField"}
		return Section{}, config.Errors{&config.Error{At: app.Source(path...), Path: path, Message: "is no name of a header field"}}
	}
	return full.Section, nil
}

// notToken tells characters that no header field name has (RFC 9110, 5.6.2).
func notToken(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	return !letter && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

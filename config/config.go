package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// Config is the configuration of an application as it was when Load read it. Its methods besides those here are the
// Tree's; like the Tree it does not change.
type Config struct {
	*Tree
	options   Options
	choice    choice
	files     []string
	instances []InstanceFile
	sum       fingerprint
	faults    Errors
}

// InstanceFile is one file of the directory instances: a Tree of what it says, with title, id, isolate, disabled and
// config (contract D3), which the instance package decodes.
type InstanceFile struct {
	*Tree
	Name string // "" for default.yaml
	File string // for messages, relative to the working directory where possible
}

// Load reads the configuration. The error is nil or an Errors that names every fault of every file and variable at once.
//
// With an error the Config is nil if the base file is missing or no YAML: nothing that could be said of the rest would be
// true. Otherwise it is what could be read. That is for checking only, so that one run names all that is wrong, and never
// to run on: Err still gives the error. Decode does not complain of a value that is missing where it could not be read.
func Load(o Options) (*Config, error) {
	return readFiles(o).build(o)
}

// Again loads the configuration anew, with the options that it was loaded with.
func (c *Config) Again() (*Config, error) { return Load(c.options) }

// Err is the error of Load: nil if all was read, and this is a configuration to run on.
func (c *Config) Err() error { return c.faults.orNil() }

// Mode is dev, test or prod.
func (c *Config) Mode() string { return c.choice.mode }

// Flavor is the flavor, "normal" if none was chosen.
func (c *Config) Flavor() string { return c.choice.flavor }

// Dir is the directory that was read, as given in the options.
func (c *Config) Dir() string { return c.choice.dir }

// Files lists the application's files that were found, low layer to high, without those of instances.
func (c *Config) Files() []string { return slices.Clone(c.files) }

// Instances lists the files of instances by name. An instance may also be stated in the value instance.instances.
func (c *Config) Instances() []InstanceFile { return slices.Clone(c.instances) }

// build parses and merges what was read.
func (s *snapshot) build(o Options) (*Config, error) {
	errs := slices.Clone(s.errs)
	c := &Config{options: o, choice: s.choice, sum: s.sum()}
	var layers []layer
	based := false
	for _, f := range s.files {
		l, faults := parseYAML(f.at, f.data)
		l.lost = faults
		layers, errs = append(layers, l), append(errs, faults...)
		c.files = append(c.files, f.at.File)
		based = based || f.at.Layer == LayerBase && l.parsed
	}
	env, faults := environmentLayer(s.choice.env)
	env.lost = slices.Concat(faults, s.unread())
	layers, errs = append(layers, env), append(errs, faults...)
	for _, f := range s.instances {
		l, faults := parseYAML(f.at, f.data)
		l.lost = faults
		errs = append(errs, faults...)
		c.instances = append(c.instances, InstanceFile{Name: instanceName(filepath.Base(f.at.File)), File: f.at.File, Tree: newTree([]layer{l})})
	}
	if !based {
		return nil, errs.orNil() // there is one: the base file is required
	}
	c.Tree, c.faults = newTree(layers), errs
	slices.SortFunc(c.instances, func(a, b InstanceFile) int { return strings.Compare(a.Name, b.Name) })
	return c, c.Err()
}

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
// If only variables and files of instances are at fault, there is a configuration of the rest beside the error: for going
// on with a check, so that one run names all faults, and never to run on.
func Load(o Options) (*Config, error) {
	return readFiles(o).build(o)
}

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
	whole := len(errs) == 0 // the application's own files say all they should
	var layers []layer
	for _, f := range s.files {
		l, faults := parseYAML(f.at, f.data)
		layers, errs = append(layers, l), append(errs, faults...)
		whole = whole && len(faults) == 0
		c.files = append(c.files, f.at.File)
	}
	env, faults := environmentLayer(s.choice.env)
	layers, errs = append(layers, env), append(errs, faults...)
	for _, f := range s.instances {
		l, faults := parseYAML(f.at, f.data)
		errs = append(errs, faults...)
		c.instances = append(c.instances, InstanceFile{Name: instanceName(filepath.Base(f.at.File)), File: f.at.File, Tree: newTree([]layer{l})})
	}
	if !whole {
		return nil, errs
	}
	c.Tree = newTree(layers)
	slices.SortFunc(c.instances, func(a, b InstanceFile) int { return strings.Compare(a.Name, b.Name) })
	if len(errs) > 0 {
		return c, errs
	}
	return c, nil
}

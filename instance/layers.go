package instance

import (
	"fmt"
	"sync"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/onion"
)

// options is what an instance's effective configuration comes to.
type options struct {
	set    *onion.Set
	config func() *config.Tree
}

// optionsOf makes the options of an instance of its layers: application, static
// (nil if the configuration does not state the instance), stored (empty if there
// is none). All is checked; the error names file, line and path.
func (c *Config) optionsOf(name string, static *Static, stored []byte) (options, error) {
	var over []*config.Tree
	var settings []onion.Settings
	if static != nil {
		over = append(over, static.Config)
		if s, ok := settingsOf(static.Config, onion.LayerInstance, label(name)); ok {
			settings = append(settings, s)
		}
	}
	top, err := c.storedLayer(name, stored)
	if err != nil {
		return options{}, err
	}
	if top != nil {
		over = append(over, top)
		if s, ok := settingsOf(top, onion.LayerStored, "stored config of "+label(name)); ok {
			settings = append(settings, s)
		}
	}
	set, err := c.NewSet(name, false, settings...)
	if err != nil {
		return options{}, err
	}
	// Few instances are ever asked for their configuration, and a merged one
	// is as large as the application's.
	merged := sync.OnceValue(func() *config.Tree { return c.App.Overlay(over...) })
	return options{set: set, config: merged}, nil
}

// settingsOf is what a layer says of onions; false if it says nothing.
func settingsOf(layer *config.Tree, kind onion.LayerKind, label string) (onion.Settings, bool) {
	onions, ok := layer.Get(onionsKey)
	if !ok {
		return onion.Settings{}, false
	}
	source := func(path ...string) string {
		return layer.Source(append([]string{onionsKey}, path...)...).String()
	}
	return onion.Settings{Kind: kind, Label: label, Onions: onions, Source: source}, true
}

// storedLayer reads the config of a record; nil if there is none.
func (c *Config) storedLayer(name string, stored []byte) (*config.Tree, error) {
	where := "stored config of " + label(name)
	values, err := decodeStored(stored)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	if len(values) == 0 {
		return nil, nil //nolint:nilnil // no layer is no fault
	}
	tree := config.FromMap(where, values)
	if err := tree.Unclaimed(append([]string{onionsKey}, c.Sections...)...); err != nil {
		return nil, err
	}
	return tree, nil
}

package instance

import (
	"context"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/onion"
)

// Instance is a tenant as one request sees it: what was in force when the
// request came in. It does not change; a reload makes another one.
type Instance struct {
	// Name is "" for the default instance.
	Name string
	// ID is the number of the instance's record; 0 while a disabled instance
	// has none.
	ID int64
	// Title is for people.
	Title string
	// Disabled instances answer 423 (contract C8).
	Disabled bool
	// Isolate asks for data of its own.
	Isolate bool
	// Set is the option set of the instance's effective configuration.
	Set *onion.Set

	config func() *config.Tree
	fault  error
	slot   *slot   // nil if the instance has no record
	rec    *Record // what slot held when this was made
	life   *lifecycle
}

// Config is the effective configuration: application, static instance, stored
// record, low to high (contract D3). Each value knows its source. The tree is
// merged on first use and shared by all callers.
func (i *Instance) Config() *config.Tree {
	if i.config == nil { // made by hand, in a test
		return config.FromMap("no configuration", nil)
	}
	return i.config()
}

// Fault says why the stored config of the instance's record is not in force, nil
// if it is. The last good one is in force then, or none.
func (i *Instance) Fault() error { return i.fault }

// current reports whether the record is still the one that this was made of.
func (i *Instance) current() bool {
	return i.slot == nil || i.slot.rec.Load() == i.rec
}

type callKey struct{}

// Attach gives a call its instance.
func Attach(c *onion.Call, inst *Instance) {
	c.Instance = inst.Name
	c.Set(callKey{}, inst)
}

// Of is the instance of a call; nil if it has none: the name is "null" or
// unknown.
func Of(c *onion.Call) *Instance {
	inst, _ := c.Value(callKey{}).(*Instance)
	return inst
}

// Current is the instance of the call that ctx belongs to; nil if there is no
// call or it has no instance.
func Current(ctx context.Context) *Instance {
	c := onion.CallFrom(ctx)
	if c == nil {
		return nil
	}
	return Of(c)
}

package instance

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"
)

// Record is what a Store holds of an instance (contract D3).
type Record struct {
	// ID is the instance's number, 1 to 2^53-1, the same in all processes and
	// for good: keys of other stores hold it (contract P3). In a record to
	// register, 0 asks the store for one.
	ID int64
	// Name is unique, case-sensitive, "" for the default instance.
	Name string
	// Title is for people.
	Title string
	// Disabled locks the instance: 423.
	Disabled bool
	// Isolate asks for data of its own.
	Isolate bool
	// Config is the stored config, a JSON object that overrides application
	// config and static instance; empty if there is none.
	Config []byte
	// CreatedAt and UpdatedAt are exact to the millisecond at least.
	CreatedAt, UpdatedAt time.Time
}

// clone makes a record that shares nothing with r.
func (r *Record) clone() *Record {
	copied := *r
	copied.Config = slices.Clone(r.Config)
	return &copied
}

// sameAs compares what is in force, not when it was written.
func (r *Record) sameAs(o *Record) bool {
	return r.ID == o.ID && r.Name == o.Name && r.Title == o.Title && r.Disabled == o.Disabled &&
		r.Isolate == o.Isolate && bytes.Equal(r.Config, o.Config)
}

// ErrNotFound is a Store's answer for a name without a record.
var ErrNotFound = errors.New("no instance record")

// ErrIDTaken is a Store's answer for a record whose id belongs to another name.
var ErrIDTaken = errors.New("the instance id belongs to another record")

// Store holds the records of instances. Implementations are safe for concurrent
// use, return when ctx is done, and pass the suite of package storetest. Records
// that they return belong to the caller.
type Store interface {
	// Find gives the record of an instance, ErrNotFound (perhaps wrapped) if
	// there is none. Any other error says that the store failed.
	Find(ctx context.Context, name string) (*Record, error)
	// Register adds the record unless there is one of its name, and returns
	// the one that is stored then. Of any number of processes that register a
	// name at once, one adds its record and all get that one. It keeps an id
	// that is given (ErrIDTaken if another name has it) and finds a free one
	// for 0.
	Register(ctx context.Context, rec Record) (*Record, error)
}

// Editor is a Store whose records can be listed and changed.
type Editor interface {
	Store
	// List gives all records, sorted by the bytes of their names.
	List(ctx context.Context) ([]*Record, error)
	// Update changes the record of a name at one stroke, so that changes of
	// different fields do not undo each other, and returns it as it is stored
	// then, with at as its UpdatedAt. ErrNotFound if there is none.
	Update(ctx context.Context, name string, p Patch, at time.Time) (*Record, error)
}

// Patch is a change of a record. What is nil stays as it is.
type Patch struct {
	Title    *string
	Disabled *bool
	Isolate  *bool
	// Config replaces the stored config; an empty one removes it.
	Config *[]byte
}

// apply makes the change.
func (p Patch) apply(rec *Record) {
	if p.Title != nil {
		rec.Title = *p.Title
	}
	if p.Disabled != nil {
		rec.Disabled = *p.Disabled
	}
	if p.Isolate != nil {
		rec.Isolate = *p.Isolate
	}
	if p.Config != nil {
		rec.Config = slices.Clone(*p.Config)
	}
}

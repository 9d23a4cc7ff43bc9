package executor

import "unsafe"

// This file holds what the executor knows of memory layout. Inputs are filled in
// through pointers to their fields, so that no request pays for reflection: the
// offsets and types are found by reflection once, when a route is assembled, and
// a value is only ever stored through a pointer to its own kind.

// anyLayout is how the runtime lays out an any: its type, then a pointer to its
// value. A value that is itself a pointer stands in the second word.
type anyLayout struct {
	typ  unsafe.Pointer
	data unsafe.Pointer
}

// addressOf gives the pointer that in holds; in must hold a pointer.
func addressOf(in any) unsafe.Pointer {
	return (*anyLayout)(unsafe.Pointer(&in)).data
}

// fieldOf gives a pointer to the field at offset of the struct at base.
func fieldOf(base unsafe.Pointer, offset uintptr) unsafe.Pointer {
	return unsafe.Add(base, offset)
}

// pointerTo gives p as a pointer of the type of example, which is a nil pointer
// in an any: with example (*T)(nil) the result is a *T. p must point to a T.
func pointerTo(example any, p unsafe.Pointer) any {
	(*anyLayout)(unsafe.Pointer(&example)).data = p
	return example
}

// store writes v where p points; p must point to a T or to a type that T
// underlies.
func store[T any](p unsafe.Pointer, v T) { *(*T)(p) = v }

// load reads what p points to.
func load[T any](p unsafe.Pointer) T { return *(*T)(p) }

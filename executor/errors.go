package executor

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"runtime/debug"

	"github.com/vonago/vonago/onion"
)

// PanicError is the cause of a 500 that a panic became (contract C9).
type PanicError struct {
	// Value is what was panicked with.
	Value any
	stack []byte
}

// Error gives the value; the stack is apart.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Stack is the stack of the goroutine where it panicked.
func (e *PanicError) Stack() []byte { return e.stack }

// Unwrap gives the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// recovered makes an error of what recover gave, nil for none. The panic by
// which net/http aborts a response goes on.
func recovered(value any) error {
	if value == nil {
		return nil
	}
	if err, ok := value.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(value)
	}
	return onion.NewError(http.StatusInternalServerError, &PanicError{Value: value, stack: debug.Stack()})
}

// realError is err, or nil for an error that holds a nil pointer, list, map or
// function, which is no error (contract C9).
func realError(err error) error {
	if err == nil {
		return nil
	}
	switch v := reflect.ValueOf(err); v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Func:
		if v.IsNil() {
			return nil
		}
	}
	return err
}

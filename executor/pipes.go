package executor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"unsafe"

	"github.com/vonago/vonago/onion"
)

// argumentPipes are the pipes of one argument: those of the route, then those
// that its tag names. name is "" for a pipe of the route.
type argumentPipes struct {
	pipes []onion.PipeFunc
	names []string
	read  func(p unsafe.Pointer) any
	write func(p unsafe.Pointer, v any) bool
}

// newArgumentPipes finds the pipes of every argument; nil if none has any.
func newArgumentPipes(b *binder, steps *onion.Steps) ([]argumentPipes, error) {
	list := make([]argumentPipes, len(b.fields))
	some := false
	var errs []error
	for i := range b.fields {
		f := &b.fields[i]
		a := argumentPipes{pipes: slices.Clone(steps.Pipes), names: make([]string, len(steps.Pipes))}
		for _, name := range f.pipeNames {
			if steps.Pipe == nil {
				errs = append(errs, fmt.Errorf("field %s: pipe %q: there are no pipes", f.arg.Field, name))
				continue
			}
			pipe, err := steps.Pipe(name)
			if err != nil {
				errs = append(errs, fmt.Errorf("field %s: %w", f.arg.Field, err))
				continue
			}
			a.pipes, a.names = append(a.pipes, pipe), append(a.names, name)
		}
		if len(a.pipes) > 0 {
			a.read, a.write = accessorsOf(f.typ)
			some = true
		}
		list[i] = a
	}
	if !some || len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return list, nil
}

// run passes the argument at p through its pipes and stores what comes out. An
// error that lists bad fields is given back as that list.
func (a *argumentPipes) run(ctx context.Context, c *onion.Call, f *field, p unsafe.Pointer) ([]onion.FieldError, error) {
	if len(a.pipes) == 0 {
		return nil, nil
	}
	value := a.read(p)
	for i, pipe := range a.pipes {
		next, err := pipe(ctx, c, f.arg, value)
		if err = realError(err); err != nil {
			return validationErrors(err)
		}
		if !a.write(p, next) {
			name := a.names[i]
			if name == "" {
				name = fmt.Sprintf("%d of the route", i+1)
			}
			return nil, onion.NewError(http.StatusInternalServerError,
				fmt.Errorf("pipe %s gave field %s a %T, want %v", name, f.arg.Field, next, f.typ))
		}
		value = next
	}
	return nil, nil
}

// validationErrors takes the list out of a 422; any other error stays one.
func validationErrors(err error) ([]onion.FieldError, error) {
	var e *onion.Error
	if errors.As(err, &e) && e != nil && e.Status == http.StatusUnprocessableEntity && len(e.Errors) > 0 {
		return e.Errors, nil
	}
	return nil, err
}

// accessorsOf reads and writes a field as an any, which pipes of arguments work
// on. Other types than the common ones need reflection for it, as only the
// running program knows them.
func accessorsOf(t reflect.Type) (read func(unsafe.Pointer) any, write func(unsafe.Pointer, any) bool) {
	switch t {
	case reflect.TypeFor[string]():
		return accessors[string]()
	case reflect.TypeFor[int]():
		return accessors[int]()
	case reflect.TypeFor[int64]():
		return accessors[int64]()
	case reflect.TypeFor[float64]():
		return accessors[float64]()
	case reflect.TypeFor[bool]():
		return accessors[bool]()
	case reflect.TypeFor[[]string]():
		return accessors[[]string]()
	}
	read = func(p unsafe.Pointer) any { return reflect.NewAt(t, p).Elem().Interface() }
	write = func(p unsafe.Pointer, v any) bool {
		value := reflect.ValueOf(v)
		switch {
		case !value.IsValid():
			value = reflect.Zero(t)
			if t.Kind() != reflect.Interface {
				return false
			}
		case !value.Type().AssignableTo(t):
			return false
		}
		reflect.NewAt(t, p).Elem().Set(value)
		return true
	}
	return read, write
}

func accessors[T any]() (read func(unsafe.Pointer) any, write func(unsafe.Pointer, any) bool) {
	return func(p unsafe.Pointer) any { return load[T](p) },
		func(p unsafe.Pointer, v any) bool {
			typed, ok := v.(T)
			if ok {
				store(p, typed)
			}
			return ok
		}
}

package onion

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"runtime"
	"strconv"
	"strings"
)

// Controller is the model of a controller: what code and policy tags both end
// in (contract D5, D8, D9).
type Controller struct {
	// Name is the controller's name; its bean is "<module>.controller.<name>".
	Name string
	// Path is the controller's path, see contract D5.
	Path string
	// Prefix replaces the application's API prefix; nil keeps it, "" is none.
	Prefix *string
	// Simplify lets a path that begins with the module's name stand for it
	// (contract D5). Unsaid means true.
	Simplify Toggle
	// Uses are the controller's onions and option overrides.
	Uses []Use
	// Routes are the controller's actions.
	Routes []Route
	// Where says in which source this was declared.
	Where string
}

// Route is one action of a controller.
type Route struct {
	// Action is the action's name.
	Action string
	// Method is GET, POST, PUT, PATCH or DELETE. HEAD is served for GET.
	Method string
	// Path is the action's path, see contract D5.
	Path string
	// Prefix and Simplify override the controller's.
	Prefix   *string
	Simplify Toggle
	// Uses are the action's onions and option overrides.
	Uses []Use
	// Handler is the action itself.
	Handler Handler
	// Where says in which source this was declared.
	Where string
}

// Action is the type of an action: the input is filled in from the request, the
// output becomes the response's data.
type Action[In, Out any] func(ctx context.Context, in *In) (Out, error)

// Handler is an Action without its types.
type Handler struct {
	// In is the input's type, a struct. Out is the output's.
	In, Out reflect.Type
	// New makes an input, a *In.
	New func() any
	// Invoke runs the action on what New made.
	Invoke func(ctx context.Context, in any) (any, error)
}

// Handle erases the types of an action. A nil action gives a Handler without
// Invoke, which Build refuses by name.
func Handle[In, Out any](action Action[In, Out]) Handler {
	h := Handler{In: reflect.TypeFor[In](), Out: reflect.TypeFor[Out]()}
	h.New = func() any { return new(In) }
	if action == nil {
		return h
	}
	h.Invoke = func(ctx context.Context, in any) (any, error) {
		typed, ok := in.(*In)
		if !ok {
			return nil, fmt.Errorf("the action takes a %v, got %T", h.In, in)
		}
		// The value goes along with an error: an error that holds a nil pointer
		// is none (contract C9), which the executor tells.
		return action(ctx, typed)
	}
	return h
}

// Get declares an action for GET and HEAD. The first argument names the action,
// the second is its path.
func Get[In, Out any](action, path string, h Action[In, Out], uses ...Use) Route {
	return route(http.MethodGet, action, path, Handle(h), uses)
}

// Post declares an action for POST.
func Post[In, Out any](action, path string, h Action[In, Out], uses ...Use) Route {
	return route(http.MethodPost, action, path, Handle(h), uses)
}

// Put declares an action for PUT.
func Put[In, Out any](action, path string, h Action[In, Out], uses ...Use) Route {
	return route(http.MethodPut, action, path, Handle(h), uses)
}

// Patch declares an action for PATCH.
func Patch[In, Out any](action, path string, h Action[In, Out], uses ...Use) Route {
	return route(http.MethodPatch, action, path, Handle(h), uses)
}

// Delete declares an action for DELETE.
func Delete[In, Out any](action, path string, h Action[In, Out], uses ...Use) Route {
	return route(http.MethodDelete, action, path, Handle(h), uses)
}

func route(method, action, path string, h Handler, uses []Use) Route {
	return Route{Action: action, Method: method, Path: path, Uses: uses, Handler: h, Where: caller(3)}
}

// Declaration is a controller as its author wrote it.
type Declaration struct {
	code  func() Controller
	tags  any
	where string
}

// Declared is a controller declared by code.
type Declared interface {
	Controller() Controller
}

// Code declares a controller by code.
func Code(c Declared) Declaration {
	return Declaration{code: c.Controller, where: caller(2)}
}

// Tags declares a controller by policy tags: c is a pointer to a struct that
// embeds ControllerTag (contract D9).
func Tags(c any) Declaration {
	return Declaration{tags: c, where: caller(2)}
}

// RouteInfo is a route of a built application.
type RouteInfo struct {
	// Index counts the application's routes from 0.
	Index int
	// Module, Controller and Action name it; Bean is the controller's full
	// name, "<module>.controller.<name>".
	Module, Controller, Action, Bean string
	// Method is the HTTP method, upper case.
	Method string
	// Raw is the raw route template, "/demo/student/:id": no API prefix. It is
	// what match, ignore and the counter key see (contract D5).
	Raw string
	// Path is the template that requests are matched against.
	Path string
	// Handler is the action.
	Handler Handler
	// Where says in which source it was declared.
	Where string

	controllerUses, actionUses []Use
}

// String is "GET /api/demo/student/:id".
func (r *RouteInfo) String() string { return r.Method + " " + r.Path }

// caller is "dir/file.go:12" of the frame skip levels up: enough to find the
// place, and no path of the machine it was built on.
func caller(skip int) string {
	_, file, line, ok := runtime.Caller(skip)
	if !ok {
		return "unknown source"
	}
	parts := strings.Split(file, "/")
	if len(parts) > 2 {
		parts = parts[len(parts)-2:]
	}
	return strings.Join(parts, "/") + ":" + strconv.Itoa(line)
}

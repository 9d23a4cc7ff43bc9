package onion

import "context"

// Next runs what lies further in. The value it returns is the action's (or a
// *Reply); the error goes through the filters.
type Next func(context.Context, *Call) (any, error)

// Wrap is a middleware, system middleware or interceptor: it makes a step
// around next. It is called once, when a chain is compiled.
type Wrap func(next Next) Next

// CheckFunc is a guard: it looks at a call and says whether it may go on.
type CheckFunc func(context.Context, *Call) (Verdict, error)

// PipeFunc transforms or checks one argument and returns its new value.
type PipeFunc func(ctx context.Context, c *Call, arg Arg, value any) (any, error)

// FilterFunc sees an error on the way out. It answers with a reply, or passes
// an error on to the next filter: the same one, or a better one.
type FilterFunc func(ctx context.Context, c *Call, err error) (*Reply, error)

// Verdict is what a guard says of a call it raises no error about.
type Verdict int

// Verdicts of a guard.
const (
	// Pass lets the call go on to the next guard.
	Pass Verdict = iota
	// Enough lets the call pass all the guards that would follow.
	Enough
	// Refuse answers 403, or 401 for an anonymous caller (contract C6).
	Refuse
)

// Source says where an argument's value comes from.
type Source string

// Sources of arguments; each is also the struct tag that names it.
const (
	SourceParam   Source = "param"
	SourceQuery   Source = "query"
	SourceHeader  Source = "header"
	SourceBody    Source = "body"
	SourceField   Source = "field"
	SourceIP      Source = "ip"
	SourceUser    Source = "user"
	SourceRequest Source = "request"
	// SourceInput is the whole input of an action, after its arguments were
	// filled in. Pipes made with OnInput see it, as a pointer to the struct.
	SourceInput Source = "input"
)

// Arg describes one argument of an action to a pipe.
type Arg struct {
	// Field is the Go name of the input's field; empty for the whole input.
	Field string
	// Name is the argument's name in its source, as a client knows it.
	Name string
	// Source says where the value came from.
	Source Source
}

// step is a built onion: the one function of its scene is set.
type step struct {
	wrap   Wrap
	guard  CheckFunc
	pipe   PipeFunc
	filter FilterFunc
}

func (s step) empty() bool {
	return s.wrap == nil && s.guard == nil && s.pipe == nil && s.filter == nil
}

package aratelimit

import (
	"errors"

	"github.com/vonago/vonago/onion"
)

// Mode says what a control does with a request over its limit.
type Mode string

// The modes (contract A8, A10, B5).
const (
	// Observe counts and logs, and never refuses a request.
	Observe Mode = "observe"
	// Enforce refuses requests over the limit, and all while Redis fails.
	Enforce Mode = "enforce"
)

// KeyKind says what makes two requests the same caller's (contract A5).
type KeyKind string

// The kinds of keys.
const (
	// KeyIdentity counts an address and a subject together: the default.
	KeyIdentity KeyKind = "identity"
	// KeyIP counts the client address alone.
	KeyIP KeyKind = "ip"
	// KeySubject counts the subject alone, whatever address it comes from.
	KeySubject KeyKind = "subject"
)

// Policy is the quota of RateLimit at a route. Zero values say nothing: what
// code, tags and configuration leave out is inherited (contract A3, A4).
type Policy struct {
	// Mode is Observe or Enforce; the default is Enforce.
	Mode Mode `json:"mode" oneof:"observe|enforce"`
	// Limit is how many requests of one caller a window admits, 1..2^53-1; the
	// default is 120.
	Limit int64 `json:"limit" range:"1..9007199254740991"`
	// WindowMs is the length of a window in milliseconds, 1000..86400000; the
	// default is 60000. Windows begin at whole multiples of it since 1970.
	WindowMs int64 `json:"windowMs" range:"1000..86400000"`
	// Key says who counts as one caller; the default is KeyIdentity.
	Key KeyKind `json:"key" oneof:"identity|ip|subject"`
	// Headers sends the RateLimit-* fields in mode Enforce; the default is On.
	Headers onion.Toggle `json:"headers"`
	// Name stands for the action in the counter key, the events and the metrics.
	// Without one it is "<controller bean full name>:<action>".
	Name string `json:"name" nullable:"true" nonempty:"true"`
	// Shared lets all routes whose shared policy has the same Name draw from one
	// bucket (contract A12); the default is Off.
	Shared onion.Toggle `json:"shared"`
}

// Options are the options of RateLimit, below the outer ones of every onion.
type Options struct {
	RateLimit Policy `json:"rateLimit"`
}

// defaultOptions are those of contract A2.
func defaultOptions() Options {
	return Options{RateLimit: Policy{Mode: Enforce, Limit: 120, WindowMs: 60_000, Key: KeyIdentity, Headers: onion.On}}
}

// Validate checks what only the merged options can break: an option that a layer
// replaced by null and nobody gave again, and a bucket to share without a name.
func (o Options) Validate() error {
	p := o.RateLimit
	var errs []error
	errs = needed(errs, p.Mode != "", "mode")
	errs = needed(errs, p.Limit != 0, "limit")
	errs = needed(errs, p.WindowMs != 0, "windowMs")
	errs = needed(errs, p.Key != "", "key")
	errs = needed(errs, p.Headers != onion.Inherit, "headers")
	if p.Shared.True() && p.Name == "" {
		errs = append(errs, &onion.OptionError{Path: []string{"rateLimit", "name"}, Message: "must be given where shared is true"})
	}
	return errors.Join(errs...)
}

// AggregatePolicy is the quota of Aggregate. There are no defaults: enabled,
// both must be given (contract B1).
type AggregatePolicy struct {
	// Mode is Observe or Enforce.
	Mode Mode `json:"mode" oneof:"observe|enforce"`
	// Limit is how many requests a second the whole application admits,
	// 1..2^53-1.
	Limit int64 `json:"limit" range:"1..9007199254740991"`
}

// AggregateOptions are the options of Aggregate, below the outer ones of every
// onion.
type AggregateOptions struct {
	RateLimit AggregatePolicy `json:"rateLimit"`
}

func noAggregateOptions() AggregateOptions { return AggregateOptions{} }

// Validate refuses an enabled control that does not say what it shall do
// (contract B1).
func (o AggregateOptions) Validate() error {
	var errs []error
	errs = needed(errs, o.RateLimit.Mode != "", "mode")
	errs = needed(errs, o.RateLimit.Limit != 0, "limit")
	return errors.Join(errs...)
}

func needed(errs []error, given bool, option string) []error {
	if given {
		return errs
	}
	return append(errs, &onion.OptionError{Path: []string{"rateLimit", option}, Message: "must be given"})
}

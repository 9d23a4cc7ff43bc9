package acore

import (
	"context"
	"net/http"
	"slices"

	"github.com/vonago/vonago/onion"
)

// GateOptions are the options of a-core:gate.
type GateOptions struct {
	Gate GateRule `json:"gate"`
}

// GateRule says where a route is open, as meta says where an onion is active
// (contract D6): each condition that is given must hold, and holds if the actual
// value is in its list. A list that is given and empty never holds.
type GateRule struct {
	// Mode lists modes: dev, test, prod.
	Mode []onion.Mode `json:"mode"`
	// Flavor lists flavors.
	Flavor []string `json:"flavor"`
	// InstanceName lists instances; "" is the default one. The name "null" is in
	// no list.
	InstanceName []string `json:"instanceName"`
	// Host lists hosts as sent, with their port.
	Host []string `json:"host"`
}

// gate closes routes outside the environments they are meant for: 403 before
// anything is asked of the caller. Without conditions it lets everything pass.
var gate = onion.Middleware("a-core:gate", func() GateOptions { return GateOptions{} }, buildGate,
	onion.Global(), onion.Tag("gate"))

func buildGate(o GateOptions, env onion.Env) (onion.Wrap, error) {
	rule := o.Gate
	open := listed(rule.Mode, env.Mode) && listed(rule.Flavor, env.Flavor)
	if open && rule.InstanceName == nil && rule.Host == nil {
		return func(next onion.Next) onion.Next { return next }, nil
	}
	return func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			if !open || !listed(rule.Host, c.Host) || !rule.instance(c) {
				return nil, onion.NewError(http.StatusForbidden, nil)
			}
			return next(ctx, c)
		}
	}, nil
}

func listed[T comparable](wanted []T, actual T) bool {
	return wanted == nil || slices.Contains(wanted, actual)
}

func (r GateRule) instance(c *onion.Call) bool {
	if c.NoInstance {
		return r.InstanceName == nil
	}
	return listed(r.InstanceName, c.Instance)
}

package testapp

import (
	"context"
	"strings"

	"github.com/vonago/vonago/onion"
)

// pathInput takes the parameters of any shape.
type pathInput struct {
	Call *onion.Call `request:""`
}

// answer names the action and what its path held.
func (pathInput) answer(name string) onion.Action[pathInput, string] {
	return func(_ context.Context, in *pathInput) (string, error) {
		parts := []string{name}
		for _, p := range in.Call.Params {
			parts = append(parts, p.Name+"="+p.Value)
		}
		return strings.Join(parts, " "), nil
	}
}

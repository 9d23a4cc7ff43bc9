package testapp

import (
	"context"

	"github.com/vonago/vonago/onion"
)

// pathInput takes the parameters of any shape.
type pathInput struct {
	Call *onion.Call `request:""`
}

// answer names the action and what its path held.
func (pathInput) answer(name string) onion.Action[pathInput, string] {
	return func(_ context.Context, in *pathInput) (string, error) {
		text := name
		for _, p := range in.Call.Params {
			text += " " + p.Name + "=" + p.Value
		}
		return text, nil
	}
}

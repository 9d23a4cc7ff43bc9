package acore

import (
	"github.com/vonago/vonago/onion"
)

// ModuleName is the module's name. Its onions carry the names of the Vona modules
// that they come from.
const ModuleName = "a-core"

// Module is the module of the built-in onions; every application lists it.
func Module() onion.Module {
	return module{Basic: onion.Basic{ModuleName: ModuleName, ModuleOnions: []onion.Onion{
		httpLog, health, notFound, overrideMethod, cors, securities,
		gate, bodyReq, bodyRes, valid, errorFilter,
	}}}
}

type module struct{ onion.Basic }

var _ onion.Provider = module{}

// Provide gives the application its validator, to which other modules may add
// rules.
func (module) Provide(env onion.Env) error {
	return onion.Provide(env, newValidator())
}

package acore

import (
	"github.com/vonago/vonago/modules/aratelimit"
	"github.com/vonago/vonago/onion"
)

// The decorators below write options for global onions at a controller or an
// action and move nothing (contract D8). What they leave out is inherited;
// onion.Enable(false) turns the onion off there.

// RateLimit writes a policy for a-ratelimit:rateLimit, as Vona's Core.rateLimit
// does.
func RateLimit(policy aratelimit.Policy, outer ...onion.Outer) onion.Use {
	return aratelimit.RateLimit.UseAt(1, aratelimit.Options{RateLimit: policy}, outer...)
}

// Gate opens a route only where the rule holds, as Vona's Core.gate does; it is
// 403 elsewhere, or 401, for the gate stands before anyone has asked who is
// calling (contract C6).
func Gate(rule GateRule, outer ...onion.Outer) onion.Use {
	return gate.UseAt(1, GateOptions{Gate: rule}, outer...)
}

// Error writes options for a-error:error, as Vona's Core.error does.
func Error(o ErrorOptions, outer ...onion.Outer) onion.Use {
	return errorFilter.UseAt(1, o, outer...)
}

// BodyReq writes options for a-body:bodyReq: other limits, or with
// onion.Enable(false) a body that the action reads itself.
func BodyReq(parser BodyParser, outer ...onion.Outer) onion.Use {
	return bodyReq.UseAt(1, BodyReqOptions{Parser: parser}, outer...)
}

// BodyRes speaks of a-body:bodyRes: with onion.Enable(false) an action answers
// its bare value.
func BodyRes(outer ...onion.Outer) onion.Use {
	return bodyRes.UseAt(1, onion.NoOptions{}, outer...)
}

// Valid speaks of a-web:valid: with onion.Enable(false) an action checks its
// input itself.
func Valid(outer ...onion.Outer) onion.Use {
	return valid.UseAt(1, onion.NoOptions{}, outer...)
}

// Package executor takes a request from the wire to an action and its outcome
// back: it makes the Call, finds the instance, runs the system chain, routes,
// extracts and converts the action's arguments, and is the only place that
// writes a response (contract C, D4, D5, F1).
//
// What is where: executor.go and exchange.go are the HTTP entry, router.go and
// template.go find a route, assemble.go makes a route's chain, bind*.go fill in
// an action's input, writer.go and render.go answer, perform.go is
// PerformAction. Whatever can be decided when the application is built is
// decided there; a request only runs closures.
package executor

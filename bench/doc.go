// Package bench measures vonago against its peers: routers and frameworks on the
// way from the request to the action and back, rate limiters and Redis clients on
// the way to a verdict. `make bench` prints the table and writes RESULTS.md; the
// package is a module of its own, so that no peer enters the product's go.mod.
//
// Every peer does the same job (job.go), and TestSameJob checks that it does: same
// route, same typed input and checks, same wrapper, same headers.
package bench

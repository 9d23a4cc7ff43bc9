// Command soak runs applications under mixed traffic for a given time while Redis is killed, stopped and cut off at random, and
// checks all the while what must always hold:
//
//   - of every budget at most the limit is admitted in its window; more only where a kill has lost the counts, and then at most
//     the limit once more for each kill
//   - every response is one that the contract knows, and those of the limiter are well-formed
//   - a control that observes refuses nothing
//   - every decision that Redis failed is told in exactly one event
//   - nothing panics, and goroutines and heap stay where they were
//
// It uses loopback only, and one redis-server of its own. At the end it prints a summary; the exit code is 1 if anything did not
// hold.
//
//	go run ./internal/soak -duration 5m -kill-every 20s
package main

// Package faults holds the limiter against everything that can go wrong with Redis: its tests inject faults into a real
// redis-server, or into a proxy before it, while a whole application serves requests over HTTP, and compare what comes of
// every single request with what is promised in docs/reliability.md (contract A11, B5).
//
// Without flags the tests look at verdicts, events, counts and leaks, and never at the time something took. With -matrix they
// measure too, print the table of docs/reliability.md and fail where a promise about time is not kept: `make test-faults`.
package faults

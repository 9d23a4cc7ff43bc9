// Package app makes an application of modules and configuration: it collects
// what they declare, checks all of it, compiles the chains, and runs the result.
//
// New builds an App and reports every start-up error at once. Serve runs it until
// its context ends and then shuts down in the order of contract C10. Main is the
// command line that every application binary has: serve, check,
// inspect. While it serves, it reloads when the files of its configuration change.
package app

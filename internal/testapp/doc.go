// Package testapp is the application that the end-to-end tests drive: a real
// listener on loopback, a real redis-server, and controllers declared both by
// code and by policy tags.
package testapp

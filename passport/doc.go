// Package passport says who is calling: the user, the sign-in and the roles of a request. It reads and makes Vona's
// tokens (contract P1, P2) and holds the guards a-user:passport, a-user:userName and a-user:roleName (contract C6, P4).
//
// A guard that nobody configured closes: without passport.Public() an action answers 401 to an anonymous caller.
// No token, payload secret or key is ever in an error, a log line or the text of a value of this package.
package passport

// Package acore holds the onions that every application has, one a file, under
// Vona's names: a-logger:httpLog, a-core:health, a-core:notfound,
// a-core:overrideMethod, a-security:cors, a-security:securities, a-core:gate,
// a-body:bodyReq, a-body:bodyRes, a-web:valid and a-error:error; and the
// decorators by which controllers speak of them.
//
// Each is an ordinary onion: configuration, an instance or a route changes its
// options or turns it off.
package acore

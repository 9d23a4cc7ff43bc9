package onion

import "net/http"

// Reply is an answer that goes out as it is: no wrapper, no filter (contract C1).
// Any step may return one as its value.
type Reply struct {
	// Status is the HTTP status; 0 means 200.
	Status int
	// Header is added to the headers set so far; a field here replaces one there.
	Header http.Header
	// ContentType sets Content-Type; empty leaves it to Header, or to net/http.
	ContentType string
	// Body may be empty.
	Body []byte
}

// Empty is the input of an action that takes nothing, and the output of one
// that answers with no value ("data": null, contract C1).
type Empty struct{}

// Unhandled is returned by the innermost step for a request that no route or
// mounted handler matches. a-core:notfound turns it into a 404.
var Unhandled any = unhandled{}

type unhandled struct{}

package acore

import (
	"net/http"

	"github.com/vonago/vonago/onion"
)

const (
	contentHTML = "text/html; charset=utf-8"
	contentJSON = "application/json; charset=utf-8"

	headerNosniff      = "X-Content-Type-Options"
	headerCacheControl = "Cache-Control"
	headerVary         = "Vary"
	headerOrigin       = "Origin"
)

// responseHeader is the call's response header, made if there is none yet.
func responseHeader(c *onion.Call) http.Header {
	if c.Response.Header == nil {
		c.Response.Header = http.Header{}
	}
	return c.Response.Header
}

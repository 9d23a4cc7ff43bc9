package executor

import (
	"encoding"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/vonago/vonago/onion"
)

// Content types of what the executor writes.
const (
	typeJSON = "application/json; charset=utf-8"
	typeHTML = "text/html; charset=utf-8"
)

// writeValue answers with an action's value (contract C1, C4a). It returns an
// error, and has written nothing, if the value cannot be answered with.
func (x *exchange) writeValue(c *onion.Call, value any) error {
	switch v := value.(type) {
	case *onion.Reply:
		if v != nil {
			return x.writeReply(c, v)
		}
		value = nil
	case onion.Reply:
		return x.writeReply(c, &v)
	case onion.Empty, *onion.Empty:
		value = nil
	case string:
		if !c.WantsJSON {
			return x.send(c, or(c.Response.Status, http.StatusOK), typeHTML, []byte(v))
		}
	default:
		if text, ok := namedString(c, value); ok {
			return x.send(c, or(c.Response.Status, http.StatusOK), typeHTML, []byte(text))
		}
	}
	wrap := c.WantsJSON && c.Response.Envelope
	b := getBuffer()
	defer putBuffer(b)
	if wrap {
		b.WriteString(envelopeHead)
	}
	none, err := b.encode(value)
	switch {
	case err != nil:
		return err
	case wrap:
		b.WriteString(envelopeTail)
	case none:
		return x.send(c, or(c.Response.Status, http.StatusNoContent), "", nil)
	}
	return x.send(c, or(c.Response.Status, http.StatusOK), typeJSON, b.Bytes())
}

// namedString gives the text of a value whose type is a string by another name,
// where HTML is wanted (contract C4a). A type that has a JSON form of its own is
// no text.
func namedString(c *onion.Call, value any) (string, bool) {
	if c.WantsJSON || c.Route == nil || c.Route.Handler.Out.Kind() != reflect.String {
		return "", false
	}
	switch value.(type) {
	case json.Marshaler, encoding.TextMarshaler:
		return "", false
	}
	return reflect.ValueOf(value).String(), true
}

func or(status, otherwise int) int {
	if status != 0 {
		return status
	}
	return otherwise
}

// writeReply answers with a reply as it is. Bad statuses are errors, as in
// writeValue.
func (x *exchange) writeReply(c *onion.Call, r *onion.Reply) error {
	status := or(r.Status, http.StatusOK)
	if err := checkStatus(status); err != nil {
		return err
	}
	c.Response.Header.Del("Content-Type")
	setAll(c.Response.Header, r.Header)
	if r.ContentType != "" {
		c.Response.Header.Set("Content-Type", r.ContentType)
	}
	return x.send(c, status, "", r.Body)
}

// setAll adds header fields; one that is there is replaced.
func setAll(into, from http.Header) {
	for key, values := range from {
		into[http.CanonicalHeaderKey(key)] = slices.Clone(values)
	}
}

// checkStatus refuses what net/http would panic about, and statuses that end no
// response.
func checkStatus(status int) error {
	if status < http.StatusOK || status > 599 {
		return fmt.Errorf("status %d: want 200 to 599", status)
	}
	return nil
}

// send is where responses leave. A HEAD gets the header of the body it is not
// sent. An empty contentType leaves what the header says.
func (x *exchange) send(c *onion.Call, status int, contentType string, body []byte) error {
	if err := checkStatus(status); err != nil {
		return err
	}
	h := c.Response.Header
	switch {
	case contentType == typeJSON && c.WantsJSON && c.Response.Envelope, contentType != "" && h["Content-Type"] == nil:
		h["Content-Type"] = typeValues(contentType)
	}
	if status >= http.StatusBadRequest {
		markError(h, status)
	}
	if status == http.StatusNoContent || status == http.StatusNotModified {
		h.Del("Content-Length")
		if status == http.StatusNoContent {
			h.Del("Content-Type")
		}
		body = nil
	} else {
		h["Content-Length"] = lengthValues(len(body))
	}
	x.complete = true
	w := c.Response.Writer
	w.WriteHeader(status)
	if len(body) > 0 && c.Method != http.MethodHead {
		// Whoever went away while we wrote is not interested in the error.
		_, _ = w.Write(body)
	}
	return nil
}

// Header values that are shared by all responses: to add to one of them makes a
// list of its own.
var (
	valuesJSON = []string{typeJSON}
	valuesHTML = []string{typeHTML}
	// valuesLength are the lengths that most answers have.
	valuesLength = numbers(1024)
)

func numbers(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = strconv.Itoa(i)
	}
	return list
}

func lengthValues(n int) []string {
	if n < len(valuesLength) {
		return valuesLength[n : n+1 : n+1]
	}
	return []string{strconv.Itoa(n)}
}

func typeValues(contentType string) []string {
	switch contentType {
	case typeJSON:
		return valuesJSON
	case typeHTML:
		return valuesHTML
	}
	return []string{contentType}
}

// markError sets what every error carries (contract C3, A9).
func markError(h http.Header, status int) {
	if h["X-Content-Type-Options"] == nil {
		h["X-Content-Type-Options"] = []string{"nosniff"}
	}
	if (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) && h["Cache-Control"] == nil {
		h["Cache-Control"] = []string{"no-store"}
	}
}

package executor

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"strconv"
	"strings"

	"github.com/vonago/vonago/onion"
)

// statusClientGone is what the log says of a request whose client went away
// before it was answered, as in other servers. No client ever sees it.
const statusClientGone = 499

// writeError answers with an error: the first filter that has a reply wins;
// without one the executor's own form of contract C2 and C3 is used.
func (x *exchange) writeError(ctx context.Context, c *onion.Call, err error) {
	if clientGone(c, err) {
		x.complete = true
		c.Response.Writer.WriteHeader(statusClientGone)
		return
	}
	err = withStatus(err)
	clearBodyHeader(c.Response.Header)
	c.Response.Status = 0
	reply, err := x.filter(ctx, c, err)
	if c.Response.Written.Status != 0 {
		x.logger().WarnContext(ctx, "an error filter wrote the response itself", "error", err, "status", c.Response.Written.Status)
		return // not written twice (contract C9)
	}
	err = withStatus(err)
	e := onion.AsError(err)
	setAll(c.Response.Header, e.Header)
	if reply != nil {
		failed := x.writeReply(c, reply)
		if failed == nil {
			return
		}
		x.logger().ErrorContext(ctx, "a filter's reply cannot be sent", "error", failed)
	}
	if failed := x.writeReply(c, render(c, e, x.runtime.env.Production())); failed != nil {
		x.logger().ErrorContext(ctx, "an error cannot be answered", "error", failed)
	}
}

// withStatus makes an error whose status is none of an error a 500, before any
// filter could answer with it.
func withStatus(err error) error {
	e := onion.AsError(err)
	if e.Status >= http.StatusBadRequest && checkStatus(e.Status) == nil {
		return err
	}
	fixed := *e
	fixed.Status, fixed.Cause = http.StatusInternalServerError, err
	return &fixed
}

// clientGone reports an error that only says that the client is gone.
func clientGone(c *onion.Call, err error) bool {
	return errors.Is(err, context.Canceled) && c.Request != nil && errors.Is(c.Request.Context().Err(), context.Canceled)
}

// clearBodyHeader removes what spoke of a body that is not sent.
func clearBodyHeader(h http.Header) {
	for _, key := range []string{"Content-Type", "Content-Length", "Content-Encoding", "Content-Disposition", "Etag", "Last-Modified"} {
		h.Del(key)
	}
	if !strings.Contains(h.Get("Cache-Control"), "no-store") {
		h.Del("Cache-Control")
		h.Del("Expires")
	}
}

// filter passes an error through the filters. One that panics is passed over.
func (x *exchange) filter(ctx context.Context, c *onion.Call, err error) (*onion.Reply, error) {
	for _, f := range x.filtersOf(c) {
		reply, next, panicked := runFilter(ctx, c, f, err)
		if panicked != nil {
			x.logger().ErrorContext(ctx, "an error filter panicked", "error", panicked, "while", err)
			if x.aborted = c.Response.Written.Status != 0; x.aborted {
				return nil, err
			}
			continue
		}
		if next = realError(next); next != nil {
			err = next
		}
		if reply != nil || c.Response.Written.Status != 0 {
			return reply, err
		}
	}
	return nil, err
}

func runFilter(ctx context.Context, c *onion.Call, f onion.FilterFunc, err error) (reply *onion.Reply, next, panicked error) {
	defer func() {
		if p := recovered(recover()); p != nil {
			reply, next, panicked = nil, nil, p
		}
	}()
	reply, next = f(ctx, c, err)
	return reply, next, nil
}

// errorBody is an error as JSON (contract C2).
type errorBody struct {
	Code    json.RawMessage    `json:"code"`
	Message string             `json:"message"`
	Errors  []onion.FieldError `json:"errors,omitempty"`
}

// render is the form of an error where no filter gives one.
func render(c *onion.Call, e *onion.Error, production bool) *onion.Reply {
	status := e.Status
	if c.WantsJSON {
		return renderJSON(e, production)
	}
	body := "<h2>" + strconv.Itoa(status) + " " + html.EscapeString(http.StatusText(status)) + "</h2>"
	if !production {
		body += "\n<pre>" + html.EscapeString(e.Error()) + "</pre>"
	}
	return &onion.Reply{Status: status, ContentType: typeHTML, Body: []byte(body)}
}

func renderJSON(e *onion.Error, production bool) *onion.Reply {
	code, message, fields := e.Public(production)
	b := getBuffer()
	defer putBuffer(b)
	if _, err := b.encode(errorBody{Code: code, Message: message, Errors: fields}); err != nil {
		// A path that holds what JSON cannot: the list is in the message.
		_, _ = b.encode(errorBody{Code: code, Message: message})
	}
	return &onion.Reply{Status: e.Status, ContentType: typeJSON, Body: append([]byte(nil), b.Bytes()...)}
}

// notFound is the answer to what nothing handled (contract C5).
func notFound(c *onion.Call) *onion.Reply {
	if c.WantsJSON {
		return renderJSON(onion.NewError(http.StatusNotFound, nil), true)
	}
	return &onion.Reply{Status: http.StatusNotFound, ContentType: typeHTML, Body: []byte("<h1>404 Not Found</h1>")}
}

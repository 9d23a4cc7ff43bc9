package acore

import (
	"bytes"
	_ "embed" // the page of development
	"errors"
	"fmt"
	"html/template"
	"net/http"

	"github.com/vonago/vonago/onion"
)

//go:embed error.html
var errorPageText string

var errorPageTemplate = template.Must(template.New("error").Parse(errorPageText))

// errorPage is an error for people (contract C3). In production it says no more
// than the status does.
func errorPage(c *onion.Call, e *onion.Error, err error, production bool) ([]byte, error) {
	reason := http.StatusText(e.Status)
	if production {
		return fmt.Appendf(nil, "<h2>%d %s</h2>", e.Status, reason), nil
	}
	var text bytes.Buffer
	view := errorView{
		Status: e.Status, Reason: reason, Message: e.Text(), Fields: e.Errors, Causes: causes(err),
		Method: c.Method, Path: c.Path, Instance: instanceName(c), Stack: stackOf(err),
	}
	if c.Route != nil {
		view.Route, view.Action, view.Where = c.Route.Raw, c.Route.Bean+":"+c.Route.Action, c.Route.Where
	}
	if err := errorPageTemplate.Execute(&text, view); err != nil {
		return nil, fmt.Errorf("the error page: %w", err)
	}
	return text.Bytes(), nil
}

// errorView is what the page shows. The query and the header fields are not in
// it: they hold tokens and cookies.
type errorView struct {
	Status                 int
	Reason, Message        string
	Fields                 []onion.FieldError
	Causes                 []cause
	Method, Path, Instance string
	Route, Action, Where   string
	Stack                  string
}

type cause struct{ Type, Text string }

// causes lists an error and those below it, as far as they form a line.
func causes(err error) []cause {
	var list []cause
	for ; err != nil; err = errors.Unwrap(err) {
		list = append(list, cause{Type: fmt.Sprintf("%T", err), Text: err.Error()})
	}
	return list
}

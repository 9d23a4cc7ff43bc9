package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"unsafe"

	"github.com/vonago/vonago/onion"
)

// members are the members of a body by name: of a JSON object, or of a form.
type members struct {
	json map[string]json.RawMessage
	form url.Values
}

// bind fills in the input at base. bad lists every conversion error, and what
// pipes of arguments found; err ends the request.
func (b *binder) bind(ctx context.Context, c *onion.Call, base unsafe.Pointer, pipes []argumentPipes) (bad []onion.FieldError, err error) {
	if b.query && c.RawQuery != "" {
		if _, _, err := c.QueryField(""); err != nil {
			return nil, onion.NewError(http.StatusBadRequest, err)
		}
	}
	var body members
	if b.body {
		var ok bool
		if body, ok = membersOf(&c.Body); !ok && !b.whole {
			bad = append(bad, onion.FieldError{Code: codeType, Path: []any{}, Message: "expected object, received array"})
		}
	}
	for i := range b.fields {
		f := &b.fields[i]
		p := fieldOf(base, f.offset)
		faults := f.fill(ctx, c, p, &body)
		if faults != nil {
			bad = append(bad, fieldErrors(f.arg, faults)...)
			continue
		}
		if pipes == nil {
			continue
		}
		list, err := pipes[i].run(ctx, c, f, p)
		if err != nil {
			return nil, err
		}
		bad = append(bad, list...)
	}
	return bad, nil
}

// membersOf takes a body apart; not an array, which has no members.
func membersOf(body *onion.Body) (m members, ok bool) {
	m = members{form: body.Form}
	if len(body.JSON) > 0 && json.Unmarshal(body.JSON, &m.json) != nil {
		return members{}, false
	}
	return m, true
}

// fill stores the field's value, or its default if it is absent.
func (f *field) fill(ctx context.Context, c *onion.Call, p unsafe.Pointer, body *members) []fault {
	switch f.from {
	case fromParam:
		if text, ok := c.Params.Get(f.arg.Name); ok {
			return f.text.one(p, text)
		}
	case fromQuery:
		if first, count, _ := c.QueryField(f.arg.Name); count > 0 { // bind saw the error
			if f.text.many == nil {
				return f.text.one(p, first)
			}
			query, _ := c.Query()
			return f.text.many(p, query[f.arg.Name])
		}
	case fromHeader:
		if texts := c.Header[f.key]; len(texts) > 0 {
			return f.text.set(p, texts)
		}
		if f.key == "Host" && c.Host != "" {
			return f.text.one(p, c.Host)
		}
	case fromField:
		if raw, ok := body.json[f.arg.Name]; ok && !isNull(raw) {
			return f.json(p, raw)
		}
		if texts := body.form[f.arg.Name]; len(texts) > 0 {
			return f.text.set(p, texts)
		}
	case fromBody:
		switch {
		case len(c.Body.JSON) > 0:
			return f.json(p, c.Body.JSON)
		case c.Body.Form != nil:
			return f.form(p, c.Body.Form)
		}
	case fromCall:
		f.own(ctx, c, p)
	}
	if f.hasPreset {
		return f.text.one(p, f.preset)
	}
	return nil
}

func isNull(raw []byte) bool { return bytes.Equal(raw, []byte("null")) }

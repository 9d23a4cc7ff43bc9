package acore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vonago/vonago/onion"
)

// BodyReqOptions are the options of a-body:bodyReq, named as in Vona.
type BodyReqOptions struct {
	Parser BodyParser `json:"parser"`
}

// BodyParser bounds bodies. A limit is a number of bytes with or without a unit
// (b, kb, mb, gb; a kb is 1024 bytes), "20mb", and counts the body after
// decompression.
type BodyParser struct {
	JSONLimit string `json:"jsonLimit" nonempty:"true"`
	FormLimit string `json:"formLimit" nonempty:"true"`
}

// Validate wants sizes.
func (o BodyReqOptions) Validate() error {
	_, errJSON := parseSize(o.Parser.JSONLimit)
	_, errForm := parseSize(o.Parser.FormLimit)
	var found []error
	if errJSON != nil {
		found = append(found, optionError(errJSON.Error(), "parser", "jsonLimit"))
	}
	if errForm != nil {
		found = append(found, optionError(errForm.Error(), "parser", "formLimit"))
	}
	return errors.Join(found...)
}

// bodyReq parses the body of POST, PUT and PATCH (contract C7) into Call.Body.
// JSON (application/json and +json) must be valid UTF-8 JSON, an object or a list;
// a form is application/x-www-form-urlencoded. An empty body is none. Other types,
// and a body without a type, are left unread for the action; a type that is no
// type is 400, a charset other than UTF-8 is 415. A body that was parsed before,
// or came with a PerformAction, is left as it is.
var bodyReq = onion.Interceptor("a-body:bodyReq", bodyReqDefaults, buildBodyReq,
	onion.Global(), onion.Tag("bodyReq"))

func bodyReqDefaults() BodyReqOptions {
	return BodyReqOptions{Parser: BodyParser{JSONLimit: "20mb", FormLimit: "20mb"}}
}

func buildBodyReq(o BodyReqOptions, _ onion.Env) (onion.Wrap, error) {
	jsonLimit, err := parseSize(o.Parser.JSONLimit)
	if err != nil {
		return nil, err
	}
	formLimit, err := parseSize(o.Parser.FormLimit)
	if err != nil {
		return nil, err
	}
	limits := bodyLimits{bodyJSON: jsonLimit, bodyForm: formLimit}
	return func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			if c.Body.Parsed {
				return next(ctx, c)
			}
			c.Body.Parsed = true
			if err := parseBody(c, &limits); err != nil {
				return nil, err
			}
			return next(ctx, c)
		}
	}, nil
}

type bodyKind int

const (
	bodyOther bodyKind = iota
	bodyJSON
	bodyForm
	bodyKinds // the number of kinds
)

// bodyLimits are the bytes that a body of each kind may have.
type bodyLimits [bodyKinds]int64

const (
	textMalformedJSON = "Problems parsing JSON"
	textScalarJSON    = "a JSON body must be an object or an array"
	textMalformedForm = "Problems parsing form"
)

func parseBody(c *onion.Call, limits *bodyLimits) error {
	if c.Request == nil || c.Request.Body == nil || c.Request.Body == http.NoBody {
		return nil
	}
	switch c.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
	default:
		return nil
	}
	kind, err := kindOfBody(c.Header)
	if err != nil || kind == bodyOther {
		return err
	}
	raw, err := readBody(c, limits[kind])
	if err != nil || len(raw) == 0 {
		return err
	}
	if kind == bodyForm {
		c.Body.Form, err = url.ParseQuery(string(raw))
		if err != nil {
			return bodyError(http.StatusBadRequest, textMalformedForm, err)
		}
		return nil
	}
	if err := checkJSON(raw); err != nil {
		return err
	}
	c.Body.JSON = raw
	return nil
}

// kindOfBody reads Content-Type.
func kindOfBody(header http.Header) (bodyKind, error) {
	values := header["Content-Type"]
	if len(values) == 0 || values[0] == "" {
		return bodyOther, nil
	}
	text := values[0]
	if text == "application/json" { // nearly always
		return bodyJSON, nil
	}
	media, params, err := mime.ParseMediaType(text)
	if err != nil {
		return bodyOther, bodyError(http.StatusBadRequest, "malformed Content-Type", err)
	}
	kind := bodyOther
	switch {
	case media == "application/json", strings.HasSuffix(media, "+json"):
		kind = bodyJSON
	case media == "application/x-www-form-urlencoded":
		kind = bodyForm
	}
	if charset, ok := params["charset"]; ok && kind != bodyOther {
		switch strings.ToLower(charset) {
		case "utf-8", "utf8", "us-ascii":
		default:
			return kind, bodyError(http.StatusUnsupportedMediaType, fmt.Sprintf("unsupported charset %q", charset), nil)
		}
	}
	return kind, nil
}

// checkJSON wants valid JSON, an object or an array. Bytes that are no UTF-8 are
// refused and not replaced.
func checkJSON(raw []byte) error {
	if !json.Valid(raw) || !utf8.Valid(raw) {
		return bodyError(http.StatusBadRequest, textMalformedJSON, nil)
	}
	first := raw[0]
	for i := 1; first == ' ' || first == '\t' || first == '\r' || first == '\n'; i++ {
		first = raw[i] // valid JSON is not all blank
	}
	if first == '{' || first == '[' {
		return nil
	}
	return bodyError(http.StatusBadRequest, textScalarJSON, nil)
}

func bodyError(status int, message string, cause error) *onion.Error {
	return &onion.Error{Status: status, Message: message, Cause: cause}
}

var sizeUnits = []struct {
	suffix string
	bytes  int64
}{{"gb", 1 << 30}, {"mb", 1 << 20}, {"kb", 1 << 10}, {"b", 1}, {"", 1}}

// parseSize reads "20mb", "512kb" or "1000", at least 1 byte.
func parseSize(text string) (int64, error) {
	lower := strings.ToLower(strings.TrimSpace(text))
	for _, unit := range sizeUnits {
		digits, ok := strings.CutSuffix(lower, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 1 || n > (math.MaxInt64>>1)/unit.bytes {
			break
		}
		return n * unit.bytes, nil
	}
	return 0, fmt.Errorf("want a size like 20mb, got %q", text)
}

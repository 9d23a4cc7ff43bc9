package passport

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/vonago/vonago/onion"
)

// extractor finds the token of a call (contract P2).
type extractor struct {
	query, header string // an empty name is off; the header's is canonical
}

func newExtractor(cfg FieldConfig) (extractor, error) {
	for _, r := range cfg.Header {
		if r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) {
			return extractor{}, fmt.Errorf("jwt.field.header: %q is no name of a header field", cfg.Header)
		}
	}
	return extractor{query: cfg.Query, header: http.CanonicalHeaderKey(cfg.Header)}, nil
}

// token is the first that is there of Call.AuthToken, the query field, Authorization: Bearer and the configured header;
// "" if there is none. Empty values count as not given. A place that holds two tokens is an error: they could be of two
// users, and what stands in front of us may have judged the other one.
func (e extractor) token(c *onion.Call) (string, error) {
	if c.AuthToken != "" {
		return c.AuthToken, nil
	}
	if e.query != "" && c.RawQuery != "" {
		// What is malformed elsewhere in the query is for others to judge.
		token, count, _ := c.QueryField(e.query)
		if count > 1 {
			return "", errAmbiguous()
		}
		if token != "" {
			return token, nil
		}
	}
	line, err := single(c.Header["Authorization"])
	if err != nil {
		return "", err
	}
	if token := bearer(line); token != "" {
		return token, nil
	}
	if e.header == "" {
		return "", nil
	}
	token, err := single(c.Header[e.header])
	return strings.Trim(token, " \t"), err
}

// single is the only value of a field; "" for none.
func single(values []string) (string, error) {
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	default:
		return "", errAmbiguous()
	}
}

func errAmbiguous() error { return refuse(ReasonAmbiguous, "given more than once") }

// bearer is the token of an Authorization line of that scheme, in any case and with any blanks around (RFC 9110, 11.4);
// "" for other schemes.
func bearer(line string) string {
	line = strings.Trim(line, " \t")
	end := strings.IndexAny(line, " \t")
	if end < 0 || !strings.EqualFold(line[:end], "Bearer") {
		return ""
	}
	return strings.TrimLeft(line[end:], " \t")
}

package passport

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vonago/vonago/onion"
)

// Where a call's token is looked for (contract P2), with a header field X-Token configured.
func TestExtract(t *testing.T) {
	auth := func(lines ...string) http.Header { return http.Header{"Authorization": lines} }
	for _, tc := range []struct {
		name   string
		query  string
		header http.Header
		inner  string // Call.AuthToken
		want   string
		bad    bool
	}{
		{name: "nothing"},
		{name: "bearer", header: auth("Bearer a.b.c"), want: "a.b.c"},
		{name: "scheme in lower case", header: auth("bearer a.b.c"), want: "a.b.c"},
		{name: "scheme in upper case", header: auth("BEARER a.b.c"), want: "a.b.c"},
		{name: "blanks around", header: auth(" \tBearer \t a.b.c \t"), want: "a.b.c"},
		{name: "tab between", header: auth("Bearer\ta.b.c"), want: "a.b.c"},
		{name: "no blank between", header: auth("Bearera.b.c")},
		{name: "no scheme", header: auth("a.b.c")},
		{name: "scheme alone", header: auth("Bearer ")},
		{name: "another scheme", header: auth("Basic YTpi")},
		{name: "empty line", header: auth("")},
		{name: "two in one line are one bad token", header: auth("Bearer a.b.c, Bearer d.e.f"), want: "a.b.c, Bearer d.e.f"},
		{name: "two lines", header: auth("Bearer a.b.c", "Bearer d.e.f"), bad: true},
		{name: "two equal lines", header: auth("Bearer a.b.c", "Bearer a.b.c"), bad: true},
		{name: "two lines of two schemes", header: auth("Basic YTpi", "Bearer a.b.c"), bad: true},

		{name: "query", query: "auth_token=a.b.c", want: "a.b.c"},
		{name: "query among others", query: "x=1&auth_token=a.b.c&y=2", want: "a.b.c"},
		{name: "query with an escaped name", query: "auth%5Ftoken=a.b.c", want: "a.b.c"},
		{name: "query in another case", query: "Auth_Token=a.b.c"},
		{name: "query before header", query: "auth_token=q.q.q", header: auth("Bearer a.b.c"), want: "q.q.q"},
		{name: "empty query, then header", query: "auth_token=", header: auth("Bearer a.b.c"), want: "a.b.c"},
		{name: "query twice", query: "auth_token=a.b.c&auth_token=d.e.f", bad: true},
		{name: "query twice, one empty", query: "auth_token=&auth_token=d.e.f", bad: true},
		{name: "query malformed elsewhere", query: "x=%zz&auth_token=a.b.c", want: "a.b.c"},
		{name: "query malformed here", query: "auth_token=%zz"},

		{name: "configured header", header: http.Header{"X-Token": {" a.b.c "}}, want: "a.b.c"},
		{name: "configured header after Authorization", header: http.Header{"X-Token": {"x.x.x"}, "Authorization": {"Bearer a.b.c"}}, want: "a.b.c"},
		{name: "configured header beside another scheme", header: http.Header{"X-Token": {"x.x.x"}, "Authorization": {"Basic YTpi"}}, want: "x.x.x"},
		{name: "configured header twice", header: http.Header{"X-Token": {"x.x.x", "y.y.y"}}, bad: true},

		{name: "inner", inner: "i.i.i", want: "i.i.i"},
		{name: "inner before all", inner: "i.i.i", query: "auth_token=q.q.q", header: auth("Bearer a.b.c", "Bearer d.e.f"), want: "i.i.i"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := newExtractor(FieldConfig{Query: "auth_token", Header: "x-token"})
			if err != nil {
				t.Fatal(err)
			}
			token, err := e.token(&onion.Call{RawQuery: tc.query, Header: tc.header, AuthToken: tc.inner})
			if (reasonOf(t, err) == ReasonAmbiguous) != tc.bad || (err != nil) != tc.bad {
				t.Fatalf("got error %v, want one: %v", err, tc.bad)
			}
			if err == nil && token != tc.want {
				t.Errorf("got %q, want %q", token, tc.want)
			}
		})
	}
}

func TestExtractTurnedOff(t *testing.T) {
	e, err := newExtractor(FieldConfig{})
	if err != nil {
		t.Fatal(err)
	}
	c := &onion.Call{RawQuery: "auth_token=a.b.c&=d.e.f", Header: http.Header{"X-Token": {"x.x.x"}, "": {"y.y.y"}}}
	if token, err := e.token(c); token != "" || err != nil {
		t.Errorf("got %q, %v", token, err)
	}
	c.Header.Set("Authorization", "Bearer a.b.c")
	if token, _ := e.token(c); token != "a.b.c" {
		t.Errorf("Authorization is off too: got %q", token)
	}
}

func TestHeaderNames(t *testing.T) {
	for _, name := range []string{"x token", "x:token", "x-token\n", "ütoken", `"x"`} {
		if _, err := newExtractor(FieldConfig{Header: name}); err == nil || !strings.Contains(err.Error(), "jwt.field.header") {
			t.Errorf("%q: got %v", name, err)
		}
	}
}

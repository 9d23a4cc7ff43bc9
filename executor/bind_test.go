package executor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

type age int8

type colour struct{ name string }

func (c *colour) UnmarshalText(text []byte) error {
	if string(text) != "red" && string(text) != "blue" {
		return errors.New("want red or blue")
	}
	c.name = string(text)
	return nil
}

type paging struct {
	Page int `query:"page" default:"1"`
}

// bindCall fills in a T of a call on /x/:id.
func bindCall[T any](t *testing.T, c *onion.Call) (*T, error) {
	t.Helper()
	route := &onion.RouteInfo{Path: "/x/:id", Handler: onion.Handle(func(context.Context, *T) (string, error) { return "", nil })}
	steps := &onion.Steps{}
	b, err := newBinder(route)
	if err != nil {
		t.Fatal(err)
	}
	a := arguments{binder: b, make: route.Handler.New, whole: steps.InputPipes}
	in, err := a.collect(onion.WithCall(t.Context(), c), c)
	if err != nil {
		return nil, err
	}
	return in.(*T), nil
}

func TestBindEverySource(t *testing.T) {
	type in struct {
		paging
		ID      int64              `param:"id"`
		Text    string             `query:""`
		Flag    bool               `query:"flag"`
		Small   int8               `query:"small"`
		Age     age                `query:"age"`
		Big     uint64             `query:"big"`
		Part    float64            `query:"part"`
		At      time.Time          `query:"at"`
		Colour  colour             `query:"colour"`
		Maybe   *int               `query:"maybe"`
		Absent  *int               `query:"absent"`
		Name    *named             `query:"name"`
		When    *time.Time         `query:"when"`
		Shade   *colour            `query:"shade"`
		Tags    []string           `query:"tag"`
		Ages    []age              `query:"ages"`
		Shades  []colour           `query:"shades"`
		Object  map[string]int     `query:"object"`
		Agent   string             `header:"user-agent"`
		Lines   []int              `header:"x-lines"`
		Host    string             `header:"host"`
		Size    int                `query:"size" default:"20"`
		Default []string           `query:"preset" default:"[\"a\",\"b\"]"`
		IP      string             `ip:""`
		Addr    netip.Addr         `ip:""`
		User    *passport.Passport `user:""`
		Plain   passport.User      `user:""`
		Field   []int              `field:"field"`
		Null    *int               `field:"null" default:"3"`
		Deep    struct{ X string } `field:"deep"`
		Body    map[string]any     `body:""`
	}
	p := &passport.Passport{User: passport.User{ID: passport.NumberID(7)}}
	c := &onion.Call{
		Params: onion.Params{{Name: "id", Value: "9007199254740993"}},
		RawQuery: "text=%C3%BC&flag=true&small=-128&age=127&big=18446744073709551615&part=-1.5e3&at=2026-06-01T00:00:00%2B02:00&colour=red&maybe=0&name=n&shade=blue" +
			"&when=2026-06-01T00:00:00Z&tag=a&tag=b&ages=[1,2]&shades=red&shades=blue&object={\"a\":1}&small=9",
		Header:  http.Header{"User-Agent": {"go"}, "X-Lines": {"1", "2"}},
		Host:    "h.test:80",
		Addr:    netip.MustParseAddr("1.2.3.4"),
		Request: &http.Request{},
		Body:    onion.Body{Parsed: true, JSON: []byte(`{"field":[1,2],"null":null,"deep":{"X":"y","unknown":1},"extra":true}`)},
	}
	passport.Set(c, p)
	got, err := bindCall[in](t, c)
	if err != nil {
		t.Fatal(err)
	}
	at, _ := time.Parse(time.RFC3339, "2026-06-01T00:00:00+02:00")
	if !got.At.Equal(at) || got.When == nil || got.When.Year() != 2026 {
		t.Errorf("times: %+v", got)
	}
	got.At, got.When = time.Time{}, nil
	zero, name, three := 0, named("n"), 3
	want := &in{
		paging: paging{Page: 1}, ID: 9007199254740993, Text: "ü", Flag: true, Small: -128, Age: 127, Big: 1<<64 - 1, Part: -1500, Colour: colour{"red"},
		Maybe: &zero, Name: &name, Shade: &colour{"blue"}, Tags: []string{"a", "b"}, Ages: []age{1, 2}, Shades: []colour{{"red"}, {"blue"}},
		Object: map[string]int{"a": 1}, Agent: "go", Lines: []int{1, 2}, Host: "h.test:80", Size: 20, Default: []string{"a", "b"},
		IP: "1.2.3.4", Addr: c.Addr, User: p, Plain: p.User, Field: []int{1, 2}, Null: &three, Deep: struct{ X string }{"y"},
		Body: map[string]any{"field": []any{1.0, 2.0}, "null": nil, "deep": map[string]any{"X": "y", "unknown": 1.0}, "extra": true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}

	type raw struct {
		Call    *onion.Call   `request:""`
		Request *http.Request `request:""`
	}
	if r, err := bindCall[raw](t, c); err != nil || r.Call != c || onion.CallFrom(r.Request.Context()) != c {
		t.Errorf("call and request: got %+v, %v", r, err)
	}

	absent, err := bindCall[in](t, &onion.Call{})
	if err != nil {
		t.Fatal(err)
	}
	if absent.Page != 1 || absent.Size != 20 || absent.Maybe != nil || absent.Tags != nil || absent.IP != "" || absent.Body != nil || absent.User == nil || absent.User.Authenticated() {
		t.Errorf("nothing given: %+v", absent)
	}
}

// TestFieldsOfAnArray: a body that has no members is not taken for one that leaves them all out.
func TestFieldsOfAnArray(t *testing.T) {
	type in struct {
		Name string `field:"name" default:"nobody"`
	}
	_, err := bindCall[in](t, &onion.Call{Body: onion.Body{JSON: []byte(`[{"name":"a"}]`)}})
	wantFields(t, err, `[]invalid_type`)
	if got, err := bindCall[in](t, &onion.Call{Body: onion.Body{JSON: []byte(`{}`)}}); err != nil || got.Name != "nobody" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// wantFields compares the list of a 422, each as "[path]code".
func wantFields(t *testing.T, err error, want ...string) {
	t.Helper()
	var e *onion.Error
	if !errors.As(err, &e) || e.Status != http.StatusUnprocessableEntity {
		t.Fatalf("got %v, want a 422", err)
	}
	got := make([]string, len(e.Errors))
	for i, f := range e.Errors {
		got[i] = fmt.Sprint(f.Path) + f.Code
		if f.Message == "" {
			t.Errorf("%s has no message", got[i])
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestConversionErrors: each bad field is in one list (contract C2).
func TestConversionErrors(t *testing.T) {
	type item struct {
		N int8      `json:"n"`
		A time.Time `json:"a"`
	}
	type person struct {
		Name  string           `json:"name"`
		Age   uint8            `json:"age"`
		Items []item           `json:"items"`
		Map   map[string]int   `json:"map"`
		Next  *person          `json:"next"`
		Shade colour           `json:"shade"`
		Text  int              `json:"text,string"`
		Deep  struct{ X bool } `json:"deep"`
	}
	type in struct {
		ID     int             `param:"id"`
		Small  int8            `query:"small"`
		Flag   bool            `query:"flag"`
		Part   float32         `query:"part"`
		At     time.Time       `query:"at"`
		Colour colour          `query:"colour"`
		Ages   []age           `query:"ages"`
		Object struct{ N int } `query:"object"`
		Neg    uint            `header:"x-neg"`
		Body   person          `body:""`
	}
	c := &onion.Call{
		Params:   onion.Params{{Name: "id", Value: "1x"}},
		RawQuery: "small=128&flag=yes&part=NaN&at=yesterday&colour=green&ages=1&ages=x&ages=300&object={\"N\":\"x\"}",
		Header:   http.Header{"X-Neg": {"-1"}},
		Body: onion.Body{JSON: []byte(`{"name":5,"age":300,"items":[{"n":1},{"n":"x","a":"never"},7],"map":{"a":1,"b":"x"},
			"next":{"name":"fine","age":-1,"items":"none"},"shade":"green","text":"x","deep":{"X":1}}`)},
	}
	_, err := bindCall[in](t, c)
	wantFields(t, err,
		"[id]invalid_type", "[small]out_of_range", "[flag]invalid_type", "[part]invalid_type", "[at]invalid_format", "[colour]invalid_format",
		"[ages 1]invalid_type", "[ages 2]out_of_range", "[object N]invalid_type", "[x-neg]invalid_type",
		"[age]out_of_range", "[deep X]invalid_type", "[items 1 a]invalid_format", "[items 1 n]invalid_type", "[items 2]invalid_type", "[map b]invalid_type",
		"[name]invalid_type", "[next age]out_of_range", "[next items]invalid_type", "[shade]invalid_format", "[text]invalid_format")

	for body, want := range map[string]string{`[1]`: "[]invalid_type", `"x"`: "[]invalid_type", `{"age":1.5}`: "[age]invalid_type", `{"name":`: "[]invalid_json"} {
		type in struct {
			Body person `body:""`
		}
		_, err := bindCall[in](t, &onion.Call{Body: onion.Body{JSON: []byte(body)}})
		wantFields(t, err, want)
	}
}

func TestConversionErrorsAreBounded(t *testing.T) {
	type tree struct {
		Next *tree `json:"next"`
		N    int   `json:"n"`
	}
	type in struct {
		Body []int `body:""`
		Tree *tree `field:"tree"`
	}
	many := strings.Repeat(`"x",`, 5000) + `"x"`
	_, err := bindCall[in](t, &onion.Call{Body: onion.Body{JSON: []byte("[" + many + "]")}})
	var e *onion.Error
	if !errors.As(err, &e) || len(e.Errors) != maxFaults+1 {
		t.Fatalf("got %d errors, want %d and one that says that there are more", len(e.Errors), maxFaults)
	}
	if before, last := e.Errors[maxFaults-1], e.Errors[maxFaults]; before.Code != codeType || last.Code != codeMany || len(last.Path) != 0 {
		t.Errorf("the list ends with %v and %v", before, last)
	}
	_, err = bindCall[in](t, &onion.Call{Body: onion.Body{JSON: []byte("[" + strings.Repeat(`"x",`, maxFaults-1) + `"x"]`)}})
	if !errors.As(err, &e) || len(e.Errors) != maxFaults || e.Errors[maxFaults-1].Code != codeType {
		t.Errorf("a list that is just full ends with %v", e.Errors[len(e.Errors)-1])
	}
	type list struct {
		Ages []int `query:"ages"`
		B    bool  `query:"b"`
	}
	_, err = bindCall[list](t, &onion.Call{RawQuery: "b=x" + strings.Repeat("&ages=x", maxFaults+1)})
	if !errors.As(err, &e) || len(e.Errors) != maxFaults+2 || fmt.Sprint(e.Errors[maxFaults].Path) != "[ages]" || e.Errors[maxFaults].Code != codeMany {
		t.Errorf("a repeated query field: got %v", err)
	}
	type deep struct {
		Body *tree `body:""`
	}
	body := strings.Repeat(`{"next":`, 500) + `{"n":"x"}` + strings.Repeat("}", 500)
	if _, err = bindCall[deep](t, &onion.Call{Body: onion.Body{JSON: []byte(body)}}); !errors.As(err, &e) || len(e.Errors) != 1 {
		t.Errorf("got %v", err)
	}
}

// collectAs makes a T of a call and passes it through pipes of whole inputs.
func collectAs[T any](t *testing.T, c *onion.Call, pipes ...onion.PipeFunc) error {
	t.Helper()
	h := onion.Handle(func(context.Context, *T) (string, error) { return "", nil })
	b, err := newBinder(&onion.RouteInfo{Path: "/", Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	a := arguments{binder: b, make: h.New, whole: pipes}
	_, err = a.collect(t.Context(), c)
	return err
}

// TestValidationJoinsConversion: one list, and nothing said twice of a value.
func TestValidationJoinsConversion(t *testing.T) {
	type in struct {
		Q    int                `query:"q"`
		Body struct{ A, B int } `body:""`
	}
	finds := func(paths ...[]any) onion.PipeFunc {
		return func(context.Context, *onion.Call, onion.Arg, any) (any, error) {
			var list []onion.FieldError
			for _, p := range paths {
				list = append(list, onion.FieldError{Code: "rule", Path: p, Message: "broken"})
			}
			return nil, onion.ValidationError(list)
		}
	}
	collect := func(c *onion.Call, pipes ...onion.PipeFunc) error { return collectAs[in](t, c, pipes...) }
	bad := &onion.Call{RawQuery: "q=x", Body: onion.Body{JSON: []byte(`{"A":"x","B":1}`)}}
	wantFields(t, collect(bad, finds([]any{"q"}, []any{"A"}, []any{"B"}), finds([]any{"C", 0})),
		"[q]invalid_type", "[A]invalid_type", "[B]rule", "[C 0]rule")
	type keyed struct {
		Body map[string]int `body:""`
	}
	wantFields(t, collectAs[keyed](t, &onion.Call{Body: onion.Body{JSON: []byte(`{"1":"x","2":0}`)}}, finds([]any{1}, []any{2})),
		"[1]invalid_type", "[2]rule") // a validator knows no key from an index
	type long struct {
		Q    int   `query:"q"`
		Body []int `body:""`
	}
	cut := &onion.Call{Body: onion.Body{JSON: []byte("[" + strings.Repeat(`"x",`, maxFaults+1) + `1]`)}}
	var e *onion.Error
	if err := collectAs[long](t, cut, finds([]any{maxFaults + 1}, []any{"q"})); !errors.As(err, &e) || len(e.Errors) != maxFaults+2 {
		t.Errorf("what comes after the bound: got %v", err)
	}
	wrong := &onion.Call{Body: onion.Body{JSON: []byte(`[]`)}}
	wantFields(t, collect(wrong, finds([]any{"q"}, []any{"A"})), "[]invalid_type", "[q]rule")

	err := collect(bad, func(context.Context, *onion.Call, onion.Arg, any) (any, error) { return nil, onion.NewError(409, nil) })
	if onion.AsError(err).Status != 409 {
		t.Errorf("another error of a pipe: got %v", err)
	}
	err = collect(&onion.Call{}, func(context.Context, *onion.Call, onion.Arg, any) (any, error) { return 5, nil })
	if onion.AsError(err).Status != 500 {
		t.Errorf("a pipe that gives another input: got %v", err)
	}
	if _, err := bindCall[in](t, &onion.Call{RawQuery: "q=%zz"}); onion.AsError(err).Status != 400 {
		t.Errorf("a malformed query: got %v", err)
	}
}

func TestInputErrors(t *testing.T) {
	bad := map[string]struct {
		handler onion.Handler
		want    string
	}{
		"no source": {onion.Handle(func(context.Context, *struct{ A string }) (int, error) { return 0, nil }), "field A: has no source"},
		"two sources": {onion.Handle(func(context.Context, *struct {
			A string `query:"" header:""`
		}) (int, error) {
			return 0, nil
		}), "field A: has several sources"},
		"not exported": {onion.Handle(func(context.Context, *struct {
			a string `query:""`
		}) (int, error) {
			return 0, nil
		}), "field a: has a source but is not exported"},
		"no such param": {onion.Handle(func(context.Context, *struct {
			A string `param:"nr"`
		}) (int, error) {
			return 0, nil
		}), `field A: the path has no parameter "nr"`},
		"type": {onion.Handle(func(context.Context, *struct {
			A chan int `query:""`
		}) (int, error) {
			return 0, nil
		}), "field A: text cannot be converted to chan int"},
		"bytes": {onion.Handle(func(context.Context, *struct {
			A []byte `header:""`
		}) (int, error) {
			return 0, nil
		}), "field A: bytes"},
		"named body": {onion.Handle(func(context.Context, *struct {
			A string `body:"x"`
		}) (int, error) {
			return 0, nil
		}), "field A: tag body takes no name"},
		"two bodies": {onion.Handle(func(context.Context, *struct {
			A, B string `body:""`
		}) (int, error) {
			return 0, nil
		}), "2 fields take the whole body"},
		"ip": {onion.Handle(func(context.Context, *struct {
			A int `ip:""`
		}) (int, error) {
			return 0, nil
		}), "field A: tag ip: want the type string or netip.Addr"},
		"user": {onion.Handle(func(context.Context, *struct {
			A string `user:""`
		}) (int, error) {
			return 0, nil
		}), "field A: tag user"},
		"request": {onion.Handle(func(context.Context, *struct {
			A string `request:""`
		}) (int, error) {
			return 0, nil
		}), "field A: tag request"},
		"default": {onion.Handle(func(context.Context, *struct {
			A int8 `query:"" default:"300"`
		}) (int, error) {
			return 0, nil
		}), `field A: default "300": out of range`},
		"default of body": {onion.Handle(func(context.Context, *struct {
			A int8 `body:"" default:"3"`
		}) (int, error) {
			return 0, nil
		}), "field A: tag body has no default"},
		"no struct": {onion.Handle(func(context.Context, *int) (int, error) { return 0, nil }), "the input int is no struct"},
	}
	for name, tt := range bad {
		_, err := Assemble(&onion.RouteInfo{Path: "/:id", Handler: tt.handler}, &onion.Steps{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
	type several struct {
		A string
		B int `ip:""`
	}
	_, err := newBinder(&onion.RouteInfo{Path: "/", Handler: onion.Handle(func(context.Context, *several) (int, error) { return 0, nil })})
	if err == nil || !strings.Contains(err.Error(), "several: field A") || !strings.Contains(err.Error(), "several: field B") {
		t.Errorf("got %v, want type and both fields", err)
	}
}

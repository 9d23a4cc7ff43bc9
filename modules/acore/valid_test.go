package acore

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/go-playground/validator/v10"

	"github.com/vonago/vonago/onion"
)

type paging struct {
	Size int `query:"size" validate:"max=100"`
}

type base struct {
	Tenant string `json:"tenant" validate:"required"`
}

type item struct {
	Count int    `json:"count" validate:"min=1"`
	Odd   string `json:"odd.na[me]" validate:"omitempty,email"`
}

type student struct {
	base

	Name     string            `json:"name,omitempty" validate:"required,min=3"`
	Plain    string            `validate:"max=3"`
	Items    []item            `json:"items" validate:"max=2,dive"`
	Tags     []string          `json:"tags" validate:"unique,dive,oneof=a b"`
	Labels   map[string]string `json:"labels" validate:"dive,keys,max=5,endkeys,required"`
	Address  *address          `json:"address" validate:"omitempty"`
	Password string            `json:"password" validate:"omitempty,min=8"`
	Again    string            `json:"again" validate:"eqfield=Password"`
}

type address struct {
	City string `json:"city" validate:"required"`
}

type input[T any] struct {
	paging

	ID    int64  `param:"id" validate:"gt=0"`
	Sort  string `query:"sort" validate:"omitempty,oneof=name age"`
	Trace string `header:"x-trace-id" validate:"omitempty,uuid"`
	Email string `field:"email" validate:"omitempty,email"`
	Body  T      `body:""`
}

func validate(t *testing.T, a *testApp, in any) []onion.FieldError {
	t.Helper()
	a.routes = []onion.Route{noop()}
	a.mustBuild()
	if len(a.steps.InputPipes) != 1 {
		t.Fatalf("%d input pipes, want 1", len(a.steps.InputPipes))
	}
	value, err := a.steps.InputPipes[0](t.Context(), newCall(http.MethodPost, "/"), onion.Arg{Source: onion.SourceInput}, in)
	if err == nil {
		if value != in {
			t.Errorf("the input was replaced by %v", value)
		}
		return nil
	}
	return wantError(t, err, http.StatusUnprocessableEntity, "").Errors
}

func goodStudent() student {
	return student{base: base{Tenant: "t"}, Name: "Tom"}
}

func TestValid(t *testing.T) {
	body := func(change func(*student)) any {
		s := goodStudent()
		change(&s)
		return &input[student]{ID: 1, Body: s}
	}
	tests := []struct {
		name string
		in   any
		want string // JSON of the list
	}{
		{"good", body(func(*student) {}), `null`},
		{"nothing", &onion.Empty{}, `null`},
		{"param", &input[student]{Body: goodStudent()}, `[{"code":"gt","path":["id"],"message":"must be more than 0"}]`},
		{
			"all sources", &input[student]{ID: 1, paging: paging{Size: 101}, Sort: "x", Trace: "t", Email: "e", Body: goodStudent()},
			`[{"code":"max","path":["size"],"message":"must be at most 100"},` +
				`{"code":"oneof","path":["sort"],"message":"must be one of name age"},` +
				`{"code":"uuid","path":["x-trace-id"],"message":"must be a UUID"},` +
				`{"code":"email","path":["email"],"message":"must be an email address"}]`,
		},
		{"body", body(func(s *student) { s.Name = "" }), `[{"code":"required","path":["name"],"message":"is required"}]`},
		{"length", body(func(s *student) { s.Name = "ab" }), `[{"code":"min","path":["name"],"message":"must be at least 3 characters"}]`},
		{"embedded", body(func(s *student) { s.Tenant = "" }), `[{"code":"required","path":["tenant"],"message":"is required"}]`},
		{"no json tag", body(func(s *student) { s.Plain = "long" }), `[{"code":"max","path":["Plain"],"message":"must be at most 3 characters"}]`},
		{"list", body(func(s *student) { s.Items = make([]item, 3) }), `[{"code":"max","path":["items"],"message":"must be at most 2 items"}]`},
		{
			"in a list", body(func(s *student) { s.Items = []item{{Count: 1}, {Odd: "x"}} }),
			`[{"code":"min","path":["items",1,"count"],"message":"must be at least 1"},` +
				`{"code":"email","path":["items",1,"odd.na[me]"],"message":"must be an email address"}]`,
		},
		{
			"list of texts", body(func(s *student) { s.Tags = []string{"a", "c"} }),
			`[{"code":"oneof","path":["tags",1],"message":"must be one of a b"}]`,
		},
		{
			"repeated", body(func(s *student) { s.Tags = []string{"a", "a"} }),
			`[{"code":"unique","path":["tags"],"message":"must not repeat"}]`,
		},
		{
			"map", body(func(s *student) { s.Labels = map[string]string{"x.y": ""} }),
			`[{"code":"required","path":["labels","x.y"],"message":"is required"}]`,
		},
		{
			"map with brackets", body(func(s *student) { s.Labels = map[string]string{"x]y": ""} }),
			`[{"code":"required","path":["labels","x]y"],"message":"is required"}]`,
		},
		{
			"key of a map", body(func(s *student) { s.Labels = map[string]string{"too long": "v"} }),
			`[{"code":"max","path":["labels","too long"],"message":"must be at most 5 characters"}]`,
		},
		{"pointer", body(func(s *student) { s.Address = &address{} }), `[{"code":"required","path":["address","city"],"message":"is required"}]`},
		{
			"secret", body(func(s *student) { s.Password, s.Again = "hunter2", "hunter2" }),
			`[{"code":"min","path":["password"],"message":"must be at least 8 characters"}]`,
		},
		{"two fields", body(func(s *student) { s.Again = "x" }), `[{"code":"eqfield","path":["again"],"message":"must equal Password"}]`},
		{"a body that is a list", &struct {
			Body []item `body:"" validate:"dive"`
		}{[]item{{Count: 1}, {}}}, `[{"code":"min","path":[1,"count"],"message":"must be at least 1"}]`},
		{"a type without a name", &struct {
			Body address `body:""`
		}{}, `[{"code":"required","path":["city"],"message":"is required"}]`},
		{"a name from the field", &struct {
			PageNo int `query:"" validate:"lt=0"`
		}{}, `[{"code":"lt","path":["pageNo"],"message":"must be less than 0"}]`},
		{"a rule without words", &struct {
			A string `query:"a" validate:"startswith=x"`
		}{}, `[{"code":"startswith","path":["a"],"message":"must satisfy startswith=x"}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(validate(t, newApp(t), tt.in))
			if err != nil {
				t.Fatal(err)
			}
			var compact strings.Builder
			enc := json.NewEncoder(&compact)
			_ = enc.Encode(json.RawMessage(tt.want))
			if string(got) != strings.TrimSpace(compact.String()) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestValidOwnRule: a module listed later adds a rule to the application's
// validator, and to no other's.
func TestValidOwnRule(t *testing.T) {
	type own struct {
		A string `query:"a" validate:"shout"`
	}
	a := newApp(t).mustBuild()
	v, err := onion.Service[*validator.Validate](a.env)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.RegisterValidation("shout", func(fl validator.FieldLevel) bool {
		return fl.Field().String() == strings.ToUpper(fl.Field().String())
	}); err != nil {
		t.Fatal(err)
	}
	pipe, err := buildValid(onion.NoOptions{}, a.env)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = pipe(t.Context(), nil, onion.Arg{}, &own{"LOUD"}); err != nil {
		t.Error(err)
	}
	_, err = pipe(t.Context(), nil, onion.Arg{}, &own{"low"})
	if e := wantError(t, err, 422, ""); e.Errors[0].Code != "shout" {
		t.Errorf("fields %v", e.Errors)
	}
	defer func() {
		if recover() == nil {
			t.Error("another application knows the rule")
		}
	}()
	validate(t, newApp(t), &own{"x"})
}

func TestValidWithoutAStruct(t *testing.T) {
	pipe, err := buildValid(onion.NoOptions{}, newApp(t).mustBuild().env)
	if err != nil {
		t.Fatal(err)
	}
	text := "x"
	_, err = pipe(context.Background(), nil, onion.Arg{}, &text)
	wantError(t, err, 500, "")
}

type misspelt struct {
	Inner []struct {
		Name string `json:"name" validate:"requird"`
	} `field:"inner" validate:"dive"`
}

// A rule that nobody knows is a fault of the program, so it is found at start.
func TestValidRefusesUnknownRulesAtStart(t *testing.T) {
	a := newApp(t)
	a.routes = []onion.Route{onion.Post("bad", "bad", func(context.Context, *misspelt) (string, error) { return "", nil })}
	err := a.build()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"a-web:valid", "POST /", "valid_test.go", "'requird'", "Name"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

// watched is a struct as a server's own argument: whoever validates it trips.
type watched struct {
	Name string `json:"name" validate:"trip"`
}

type ownInput struct {
	ownBase

	Call *watched `request:""`
	Name string   `field:"name" validate:"required"`
}

type ownBase struct {
	User *watched `user:""`
}

// What no client filled in is not walked through: it is in use elsewhere.
func TestValidLeavesTheServersOwnAlone(t *testing.T) {
	a := newApp(t)
	a.routes = []onion.Route{noop()}
	a.mustBuild()
	v, err := onion.Service[*validator.Validate](a.env)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.RegisterValidation("trip", func(validator.FieldLevel) bool { t.Error("walked into"); return true }); err != nil {
		t.Fatal(err)
	}
	in := &ownInput{ownBase: ownBase{User: &watched{Name: "u"}}, Call: &watched{Name: "c"}}
	for range 2 {
		_, err = a.steps.InputPipes[0](t.Context(), &onion.Call{}, onion.Arg{}, in)
		if e := onion.AsError(err); err == nil || len(e.Errors) != 1 || e.Errors[0].Code != "required" {
			t.Errorf("got %v", err)
		}
	}
}

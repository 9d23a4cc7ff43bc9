package executor

import (
	"net/url"
	"reflect"
	"testing"

	"github.com/vonago/vonago/onion"
)

func TestBindForm(t *testing.T) {
	type person struct {
		Name   string   `json:"name"`
		Age    int      `json:"age,omitempty"`
		Tags   []string `json:"tags"`
		Secret string   `json:"-"`
		Fold   bool
	}
	type in struct {
		Body   *person           `body:""`
		Age    int               `field:"age"`
		Tags   []string          `field:"tags"`
		Nested struct{ A []any } `field:"nested"`
		Chan   any               `field:"chan"`
	}
	form := url.Values{"name": {"n"}, "age": {"5"}, "tags": {"a", "b"}, "Secret": {"x"}, "FOLD": {"1"}, "nested": {`{"A":[1]}`}}
	got, err := bindCall[in](t, &onion.Call{Body: onion.Body{Form: form}})
	if err != nil {
		t.Fatal(err)
	}
	want := &in{Body: &person{Name: "n", Age: 5, Tags: []string{"a", "b"}, Fold: true}, Age: 5, Tags: []string{"a", "b"}, Nested: struct{ A []any }{[]any{1.0}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v %+v", got, got.Body)
	}
	_, err = bindCall[in](t, &onion.Call{Body: onion.Body{Form: url.Values{"age": {"x"}, "chan": {"1"}}}})
	wantFields(t, err, `[age]invalid_type`, `[age]invalid_type`, `[chan]invalid_type`)

	type loose struct {
		Body map[string]any `body:""`
	}
	any1, err := bindCall[loose](t, &onion.Call{Body: onion.Body{Form: form}})
	if err != nil || any1.Body["name"] != "n" || len(any1.Body["tags"].([]any)) != 2 {
		t.Errorf("got %v, %v", any1, err)
	}
	type lists struct {
		Body url.Values `body:""`
	}
	values, err := bindCall[lists](t, &onion.Call{Body: onion.Body{Form: form}})
	if err != nil || !reflect.DeepEqual(values.Body, form) {
		t.Errorf("got %v, %v", values, err)
	}
}

// TestFormMembersDoNotVanish: what a form gives is in the body or in the list of
// errors, as for an argument of the same type.
func TestFormMembersDoNotVanish(t *testing.T) {
	type body struct {
		*Base
		*hiddenBase
		C int         `json:"c"`
		D []byte      `json:"d"`
		M map[int]int `json:"m"`
		P *Base       `json:"p"`
		R [2]int      `json:"r"`
	}
	type whole struct {
		Body body `body:""`
	}
	type member struct {
		D []byte      `field:"d"`
		M map[int]int `field:"m"`
		P *Base       `field:"p"`
		R [2]int      `field:"r"`
	}
	call := func(form string) *onion.Call {
		values, err := url.ParseQuery(form)
		if err != nil {
			t.Fatal(err)
		}
		return &onion.Call{Body: onion.Body{Form: values}}
	}
	got, err := bindCall[whole](t, call(`a=1&B=2&c=3&m={"4":5}&nobody=6`))
	if want := (body{Base: &Base{A: 1, B: 2}, C: 3, M: map[int]int{4: 5}}); err != nil || !reflect.DeepEqual(got.Body, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := bindCall[whole](t, call("c=3")); err != nil || got.Body.Base != nil {
		t.Errorf("nothing of the embedded struct is given: got %+v, %v", got, err)
	}
	_, err = bindCall[whole](t, call("a=zz&b=&c=3&z=4"))
	wantFields(t, err, "[a]invalid_type", "[b]invalid_type", "[z]invalid_type")

	type hiding struct {
		Body shadows `body:""`
	}
	hid, err := bindCall[hiding](t, call("a=x&b=1&B=2&N=1&M=1"))
	if want := (shadows{A: "x", Base: &Base{B: 1}, Other: Other{B: 2, M: true}}); err != nil || !reflect.DeepEqual(hid.Body, want) {
		t.Errorf("fields that hide others: got %+v, %v", hid, err)
	}

	const unfit = `d=QUJD&m={"x":1}&p={}&r=[1]`
	want := []string{"[d]invalid_type", "[m x]invalid_type", "[p]invalid_type", "[r]invalid_type"}
	_, err = bindCall[whole](t, call(unfit))
	wantFields(t, err, want...)
	_, err = bindCall[member](t, call(unfit))
	wantFields(t, err, want...)
}

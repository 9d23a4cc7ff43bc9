package passport

import (
	"encoding/json"
	"testing"
)

func TestIDKeepsItsForm(t *testing.T) {
	for _, tc := range []struct {
		in, text     string
		zero, number bool
	}{
		{`"77"`, "77", false, false},
		{`77`, "77", false, true},
		{`0`, "0", false, true},
		{`-10001`, "-10001", false, true},
		{`""`, "", false, false},
		{`null`, "", true, false},
		{`1.50`, "1.50", false, true},
		{`1e3`, "1e3", false, true},
		{`9007199254740993`, "9007199254740993", false, true},
		{`"租户\n"`, "租户\n", false, false},
	} {
		t.Run(tc.in, func(t *testing.T) {
			var id ID
			if err := json.Unmarshal([]byte(tc.in), &id); err != nil {
				t.Fatal(err)
			}
			if id.String() != tc.text || id.IsZero() != tc.zero || id.IsNumber() != tc.number {
				t.Errorf("got text %q, zero %v, number %v", id, id.IsZero(), id.IsNumber())
			}
			if out, err := json.Marshal(id); err != nil || string(out) != tc.in {
				t.Errorf("written as %s (%v)", out, err)
			}
		})
	}
}

func TestIDRefusesOtherTypes(t *testing.T) {
	for _, in := range []string{`true`, `{}`, `["1"]`, `{"id":1}`} {
		id := StringID("before")
		if err := json.Unmarshal([]byte(in), &id); err == nil {
			t.Errorf("%s became the id %q", in, id)
		}
	}
}

func TestIDsCompareByForm(t *testing.T) {
	if StringID("1") == NumberID(1) {
		t.Error(`"1" and 1 are one id`)
	}
	if (ID{}) == StringID("") || NumberID(7) != (ID{text: "7", form: idNumber}) {
		t.Error("none and the empty id are one, or 7 differs from 7")
	}
}

package onion

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

// FuzzDecode reads any options: what is accepted has known keys only, is in range, and says the same when it is said again;
// and no layer is refused on its own that is accepted whole (contract A3).
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"rateLimit":null}`, `{"rateLimit":{}}`, `{"rateLimit":{"mode":"enforce","limit":5,"headers":true,"name":"x","list":["a","b"]}}`,
		`{"rateLimit":{"limit":60000.0}}`, `{"rateLimit":{"limit":1.5}}`, `{"rateLimit":{"limit":9007199254740992}}`, `{"rateLimit":{"limit":1e3}}`, `{"rateLimit":{"limit":-0}}`,
		`{"rateLimit":{"Limit":5}}`, `{"ratelimit":{}}`, `{"rateLimit":{"limit":5,"limit":6}}`, `{"rateLimit":{"name":null,"list":[null]}}`, `{"rateLimit":{"mode":"ENFORCE"}}`,
		`{"rateLimit":{"limit":1e400}}`, `{"rateLimit":{"limit":"5"}}`, `{"rateLimit":{"headers":1}}`, `{"rateLimit":[1]}`, `{"rateLimit":{"list":"a"}}`,
	} {
		f.Add([]byte(seed))
	}
	s, err := schemaOf(reflect.TypeFor[policyOptions]())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, exact := range []bool{false, true} {
			var raw map[string]any
			d := json.NewDecoder(bytes.NewReader(text))
			if exact { // numbers as they are written
				d.UseNumber()
			}
			if d.Decode(&raw) != nil {
				return
			}
			var o policyOptions
			if s.decode(raw, reflect.ValueOf(&o).Elem()) != nil {
				continue
			}
			checkDecoded(t, s, raw, o)
		}
	})
}

func checkDecoded(t *testing.T, s *schema, raw map[string]any, o policyOptions) {
	t.Helper()
	var layer policyOptions
	if err := s.decodePartial(raw, reflect.ValueOf(&layer).Elem()); err != nil || !reflect.DeepEqual(layer, o) {
		t.Errorf("%v whole is %+v, as a layer %+v, %v", raw, o, layer, err)
	}
	for key := range raw {
		if key != "rateLimit" {
			t.Errorf("the key %q was accepted", key)
		}
	}
	said, _ := raw["rateLimit"].(map[string]any)
	for key := range said {
		if !slices.Contains([]string{"mode", "limit", "headers", "name", "list"}, key) {
			t.Errorf("the key %q was accepted", key)
		}
	}
	p := o.RateLimit
	if _, given := said["limit"]; given && (p.Limit < 1 || p.Limit > 1<<53-1) || p.Mode != "" && p.Mode != "observe" && p.Mode != "enforce" {
		t.Errorf("%v was accepted as %+v", raw, p)
	}
	patch, err := s.encode(reflect.ValueOf(o))
	if err != nil {
		t.Fatalf("%+v cannot be said again: %v", o, err)
	}
	var again policyOptions
	if err := s.decode(patch, reflect.ValueOf(&again).Elem()); err != nil {
		t.Fatalf("%+v said again as %v: %v", o, patch, err)
	}
	if len(o.RateLimit.List) == 0 {
		o.RateLimit.List, again.RateLimit.List = nil, nil // an empty list says nothing in code
	}
	if !reflect.DeepEqual(o, again) {
		t.Errorf("%+v said again is %+v", o, again)
	}
}

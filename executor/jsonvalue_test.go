package executor

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

// A body may hold millions of bad items and of members that nobody wants; what
// is looked at ends with the list of faults.
func TestRepairEndsAtTheBound(t *testing.T) {
	type target struct {
		List []int `json:"list"`
	}
	var b bytes.Buffer
	b.WriteString(`{"list":["x"`)
	b.WriteString(strings.Repeat(`,"x"`, 200_000))
	b.WriteString(`]`)
	for range 1000 {
		b.WriteString(`,"unwanted":1`)
	}
	b.WriteString(`}`)
	set := jsonSetterFor(reflect.TypeFor[target]())
	var in target
	faults := set(unsafe.Pointer(&in), b.Bytes())
	const most = maxFaults + 1 // the one more tells that there are more
	if len(faults) != most || len(in.List) != most {
		t.Fatalf("%d faults, %d items, want %d of both", len(faults), len(in.List), most)
	}
	if last := faults[maxFaults].path; !reflect.DeepEqual(last, []any{"list", maxFaults}) {
		t.Errorf("the last path is %v", last)
	}
}

// Good items around bad ones are kept, at their indexes.
func TestRepairKeepsGoodItems(t *testing.T) {
	type inner struct {
		N int `json:"n"`
	}
	var list []inner
	set := jsonSetterFor(reflect.TypeFor[[]inner]())
	faults := set(unsafe.Pointer(&list), []byte(`[ {"n":1} , {"n":"x"},7 ,{"n":4,"other":[1]} ]`))
	if want := []inner{{1}, {}, {}, {4}}; !reflect.DeepEqual(list, want) {
		t.Errorf("got %v, want %v", list, want)
	}
	var paths [][]any
	for _, f := range faults {
		paths = append(paths, f.path)
	}
	if want := [][]any{{1, "n"}, {2}}; !reflect.DeepEqual(paths, want) {
		got, _ := json.Marshal(paths) //nolint:errchkjson // texts and numbers
		t.Errorf("faults at %s", got)
	}
}

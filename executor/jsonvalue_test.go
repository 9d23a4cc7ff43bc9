package executor

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// Base is embedded by pointer, which encoding/json allocates if it is exported.
type Base struct {
	A int `json:"a"`
	B int `json:"b"`
}

type hiddenBase struct {
	Z int `json:"z"`
}

type embedding struct {
	*Base
	*hiddenBase
	C int `json:"c"`
}

// Loop embeds itself, which encoding/json takes once.
type Loop struct {
	*Loop
	N int
	M int
}

// Other has fields of the names of Base and Loop, at the same depth.
type Other struct {
	A int `json:"a"`
	N bool
	M bool `json:"M"`
	B int  `json:"B"`
}

// shadows has its own a, the M that a tag names, no N, as nothing tells which of
// the two, and both b and B.
type shadows struct {
	*Base
	Other
	Loop
	A string `json:"a"`
}

// TestRepairNamesEveryField: at whatever place encoding/json finds them.
func TestRepairNamesEveryField(t *testing.T) {
	type containers struct {
		M map[int]int     `json:"m"`
		U map[uint8][]int `json:"u"`
		T map[colour]bool `json:"t"`
		R [2]int          `json:"r"`
		E *[1]embedding   `json:"e"`
	}
	tests := []struct {
		name     string
		in, want any
		json     string
		faults   string
	}{
		{"embedded pointer", &embedding{}, &embedding{Base: &Base{}}, `{"a":"x","b":"y","c":"z"}`, `[a]invalid_type [b]invalid_type [c]invalid_type`},
		{"all of it embedded", &embedding{}, &embedding{Base: &Base{B: 2}, C: 3}, `{"A":"x","b":2,"c":3}`, `[A]invalid_type`},
		{"pointer to an unexported struct", &embedding{}, &embedding{C: 3}, `{"c":3,"z":1}`, `[z]invalid_format`},
		{"hidden fields", &shadows{}, &shadows{Base: &Base{B: 1}, Other: Other{B: 2}}, `{"a":1,"b":1,"B":2,"N":"x","M":3}`, `[M]invalid_type [a]invalid_type`},
		{"keys that are integers", &containers{}, &containers{M: map[int]int{1: 0, -2: 0, 3: 3}},
			`{"m":{"1":"x","-2":"y","3":3,"z":4}}`, `[m -2]invalid_type [m 1]invalid_type [m z]invalid_type`},
		{"keys out of range", &containers{}, &containers{U: map[uint8][]int{1: {0, 5}}}, `{"u":{"1":["x",5],"256":[]}}`, `[u 1 0]invalid_type [u 256]out_of_range`},
		{"keys that read text", &containers{}, &containers{T: map[colour]bool{{"red"}: false}}, `{"t":{"red":1,"green":true}}`, `[t green]invalid_format [t red]invalid_type`},
		{"array", &containers{}, &containers{}, `{"r":["a","b","beyond"]}`, `[r 0]invalid_type [r 1]invalid_type`},
		{"good items of an array", &containers{R: [2]int{8, 9}}, &containers{R: [2]int{1, 0}}, `{"r":[1,"b"],"e":[{"b":"x"},"beyond"]}`, `[e 0 b]invalid_type [r 1]invalid_type`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := reflect.ValueOf(tt.in)
			var got []string
			for _, f := range jsonSetterFor(v.Type().Elem())(v.UnsafePointer(), []byte(tt.json)) {
				got = append(got, fmt.Sprint(f.path)+f.code)
			}
			if strings.Join(got, " ") != tt.faults {
				t.Errorf("got  %s\nwant %s", strings.Join(got, " "), tt.faults)
			}
			if c, ok := tt.in.(*containers); ok {
				c.E = nil
			}
			if !reflect.DeepEqual(tt.in, tt.want) {
				t.Errorf("got %+v, want %+v", tt.in, tt.want)
			}
		})
	}
}

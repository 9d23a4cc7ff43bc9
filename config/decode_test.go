package config

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

type listen struct {
	Hostname string `koanf:"hostname"`
	Port     int    `koanf:"port" validate:"min=0,max=65535"`
}

type pool struct {
	Size uint8 `koanf:"size"`
}

type sample struct {
	pool
	Text    string            `koanf:"text"`
	Flag    bool              `koanf:"flag"`
	Int     int               `koanf:"int"`
	Int64   int64             `koanf:"int64"`
	Small   int8              `koanf:"small"`
	Uint    uint64            `koanf:"uint"`
	Float   float64           `koanf:"float"`
	Float32 float32           `koanf:"float32"`
	Wait    time.Duration     `koanf:"wait"`
	Net     netip.Prefix      `koanf:"net"`
	Keys    []Secret          `koanf:"keys"`
	Pass    Secret            `koanf:"pass"`
	Ptr     *int              `koanf:"ptr"`
	PtrTo   *listen           `koanf:"ptrTo"`
	Any     any               `koanf:"any"`
	Raw     map[string]any    `koanf:"raw"`
	Named   map[string]listen `koanf:"named"`
	Listen  listen            `koanf:"listen"`
	List    []listen          `koanf:"list"`
	Skip    chan int          `koanf:"-"`
	hidden  int
}

func TestDecode(t *testing.T) {
	c := base(t, `
size: 200
text: hello
flag: true
int: 60000.0
int64: 9007199254740991
small: -128
uint: 18446744073709551615
float: 2
float32: 1.5
wait: 1m30s
net: 10.0.0.0/8
keys: [one, two]
pass: hunter2
ptr: 5
ptrTo: {port: 1}
any: {x: [1, null]}
raw: {a.b: {c: null}}
named: {acme.eu: {hostname: eu, port: 2}}
listen: {port: 3}
list: [{port: 4}, {}]
`)
	got := sample{Listen: listen{Hostname: "kept"}, hidden: 7}
	if err := c.Decode(&got); err != nil {
		t.Fatal(err)
	}
	five := 5
	want := sample{
		pool: pool{Size: 200}, Text: "hello", Flag: true, Int: 60000, Int64: 1<<53 - 1, Small: -128, Uint: 1<<64 - 1, Float: 2, Float32: 1.5,
		Wait: 90 * time.Second, Net: netip.MustParsePrefix("10.0.0.0/8"), Keys: secrets("one", "two"), Pass: NewSecret("hunter2"),
		Ptr: &five, PtrTo: &listen{Port: 1}, Any: map[string]any{"x": []any{1, nil}}, Raw: map[string]any{"a.b": map[string]any{"c": nil}},
		Named: map[string]listen{"acme.eu": {"eu", 2}}, Listen: listen{"kept", 3}, List: []listen{{Port: 4}, {}}, hidden: 7,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	cases := []struct{ yaml, want string }{
		{"text: 5", "text: must be text, is 5"},
		{"text: true", "text: must be text, is true"},
		{"text: null", "text: must be text, is null"},
		{"text:", "text: must be text, is null"},
		{"text: [a]", "text: must be text, is a list"},
		{"flag: yes", `flag: must be true or false, is "yes"`},
		{"flag: 1", "flag: must be true or false, is 1"},
		{"flag: null", "flag: must be true or false, is null"},
		{"int: '5'", `int: must be a whole number, is "5"`},
		{"int: 1.5", "int: must be a whole number, is 1.5"},
		{"int: true", "int: must be a whole number, is true"},
		{"int: null", "int: must be a whole number, is null"},
		{"int: {}", "int: must be a whole number, is an object"},
		{"int64: 9223372036854775808", "int64: must be a whole number from -9223372036854775808 to 9223372036854775807, is 9223372036854775808"},
		{"int64: 1e19", "int64: must be a whole number from -9223372036854775808 to 9223372036854775807, is 1e+19"},
		{"small: 128", "small: must be a whole number from -128 to 127, is 128"},
		{"uint: -1", "uint: must be a whole number from 0 to 18446744073709551615, is -1"},
		{"uint: -1.0", "uint: must be a whole number from 0 to 18446744073709551615, is -1"},
		{"size: 256", "size: must be a whole number from 0 to 255, is 256"},
		{"float: '1'", `float: must be a number, is "1"`},
		{"float: null", "float: must be a number, is null"},
		{"float32: 1e300", "float32: is too large: 1e+300"},
		{"wait: 5", `wait: must be a duration such as "100ms" or "5s", is 5`},
		{"wait: soon", `wait: must be a duration such as "100ms" or "5s", is "soon"`},
		{"wait: null", `wait: must be a duration such as "100ms" or "5s", is null`},
		{"net: 10.0.0.0", `net: is no valid prefix: "10.0.0.0"`},
		{"net: 10", "net: must be text, is 10"},
		{"keys: one", "keys: must be a list, is text"},
		{"keys: [one, 12345]", "keys[1]: must be text, is a number"},
		{"keys: [null]", "keys[0]: must be text, is null"},
		{"keys: null", "keys: must be a list, is null"},
		{"pass: 12345", "pass: must be text, is a number"},
		{"pass: {a: b}", "pass: must be text, is an object"},
		{"ptr: x", `ptr: must be a whole number, is "x"`},
		{"raw: null", "raw: must be an object, is null"},
		{"raw: []", "raw: must be an object, is a list"},
		{"listen: 7102", "listen: must be an object, is 7102"},
		{"listen: null", "listen: must be an object, is null"},
		{"listen: {Port: 1}", "listen.Port: unknown key, it is written port"},
		{"listen: {prot: 1}", "listen.prot: unknown key, known here: hostname, port"},
		{"listen.port: 1", `"listen.port": unknown key, known here: any, flag, float, float32, int, int64, keys, list, listen, named, net, pass, ptr, ptrTo, raw, size, small, text, uint, wait`},
		{"named: {acme.eu: {port: x}}", `named."acme.eu".port: must be a whole number, is "x"`},
		{"named: {a: null}", "named.a: must be an object, is null"},
		{"list: [{}, {port: 1.5}]", "list[1].port: must be a whole number, is 1.5"},
		{"list: {port: 1}", "list: must be a list, is an object"},
		{"text: {password: hunter2}", "text: must be text, is an object"},
		{"int: redis://user:hunter2@host/1", `int: must be a whole number, is "redis://user:***@host/1"`},
	}
	for _, tc := range cases {
		t.Run(tc.yaml, func(t *testing.T) {
			into := sample{Text: "default"}
			err := base(t, "\n"+tc.yaml).Decode(&into)
			wantLines(t, err, "config/config.yaml:2: "+tc.want)
			if !reflect.DeepEqual(into, sample{Text: "default"}) {
				t.Errorf("the struct changed: %+v", into)
			}
		})
	}
}

func TestDecodeReportsEveryFaultInOrder(t *testing.T) {
	c := mustLoad(t, map[string]string{
		"config.yaml":       "text: 1\nzzz: 2\naaa: 3\nlisten:\n  port: 70000\n  hostname: 5\n",
		"config.local.yaml": "flag: x\n",
	})
	var into sample
	err := c.Decode(&into)
	lines := strings.Split(err.Error(), "\n")
	for i, want := range []string{
		"config/config.yaml:1: text: must", "config/config.yaml:2: zzz: unknown", "config/config.yaml:3: aaa: unknown",
		"config/config.yaml:5: listen.port: must be between 0 and 65535, is 70000", "config/config.yaml:6: listen.hostname: must be text",
		"config/config.local.yaml:1: flag: must",
	} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Fatalf("fault %d is not %q in\n%v", i, want, err)
		}
	}
}

func TestDecodeAtPath(t *testing.T) {
	c := mustLoad(t, map[string]string{"config.yaml": "server:\n  listen: {port: 1}\nlist: [{port: 2}]\nbroken: 5\nnothing: null"})
	var l listen
	if err := c.Decode(&l, "server", "listen"); err != nil || l.Port != 1 {
		t.Errorf("%v %+v", err, l)
	}
	if err := c.Decode(&l, "list", "[0]"); err != nil || l.Port != 2 {
		t.Errorf("%v %+v", err, l)
	}
	l = listen{"kept", 9}
	if err := c.Decode(&l, "no", "such", "path"); err != nil || l != (listen{"kept", 9}) {
		t.Errorf("an absent path must keep the defaults: %v %+v", err, l)
	}
	wantLines(t, c.Decode(&l, "broken"), "config/config.yaml:4: broken: must be an object, is 5")
	wantLines(t, c.Decode(&l, "broken", "listen"), "config/config.yaml:4: broken: must be an object, is a number")
	wantLines(t, c.Decode(&l, "nothing", "listen", "x"), "config/config.yaml:5: nothing: must be an object, is null")
	var m map[string]listen
	if err := c.Decode(&m, "server"); err != nil || m["listen"].Port != 1 {
		t.Errorf("into a map: %v %v", err, m)
	}
	var n int
	if err := c.Decode(&n, "server", "listen", "port"); err != nil || n != 1 {
		t.Errorf("into a number: %v %v", err, n)
	}
}

func TestDecodeKeepsAndAdds(t *testing.T) {
	shared := map[string]listen{"a": {"a", 1}, "b": {"b", 2}}
	ptr := &listen{"p", 1}
	keys := secrets("x", "y")
	raw := map[string]any{"old": 1}
	into := sample{Named: shared, PtrTo: ptr, Keys: keys, Raw: raw, Int: 3, Wait: time.Second}
	c := base(t, "named: {b: {port: 5}, c: {port: 6}}\nptrTo: {port: 7}\nkeys: [z]\nraw: {new: 2}\n")
	if err := c.Decode(&into); err != nil {
		t.Fatal(err)
	}
	want := sample{
		Named: map[string]listen{"a": {"a", 1}, "b": {"b", 5}, "c": {"", 6}}, PtrTo: &listen{"p", 7}, Keys: secrets("z"),
		Raw: map[string]any{"old": 1, "new": 2}, Int: 3, Wait: time.Second,
	}
	if !reflect.DeepEqual(into, want) {
		t.Errorf("got  %+v\nwant %+v", into, want)
	}
	if !reflect.DeepEqual(shared, map[string]listen{"a": {"a", 1}, "b": {"b", 2}}) || *ptr != (listen{"p", 1}) || keys[0].Reveal() != "x" || len(raw) != 1 {
		t.Errorf("the defaults were written to: %v %v %v %v", shared, ptr, keys, raw)
	}
	if err := base(t, "ptrTo: null\nany: null").Decode(&into); err != nil || into.PtrTo != nil || into.Any != nil {
		t.Errorf("null for a pointer and an any: %v %+v", err, into)
	}
}

func TestDecodeMisuse(t *testing.T) {
	c := base(t, "a: 1\nb: {c: 1}")
	cases := []struct {
		name string
		into any
		want string
	}{
		{"no pointer", struct{}{}, "config: Decode needs a pointer to fill, got struct {}"},
		{"nil", (*listen)(nil), "config: Decode needs a pointer to fill, got *config.listen"},
		{"no tag", &struct{ A int }{}, "config: the field A of struct { A int } has no koanf tag"},
		{"one key twice", &struct {
			A int `koanf:"a"`
			B int `koanf:"a"`
		}{}, "config: struct { A int \"koanf:\\\"a\\\"\"; B int \"koanf:\\\"a\\\"\" } has two fields for the key \"a\""},
		{"channel", &struct {
			A chan int `koanf:"a"`
		}{}, "config: a: a field of type chan int cannot be decoded"},
		{"map of numbers", &struct {
			A int         `koanf:"a"`
			B map[int]int `koanf:"b"`
		}{}, "config: b: the keys of map[int]int are no text"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) { wantLines(t, c.Decode(tc.into), tc.want) })
	}
}

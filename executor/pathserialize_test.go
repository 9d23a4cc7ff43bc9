package executor

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"
)

// orderedPairs decodes a JSON object in the order of its members.
type orderedPairs []Pair

func (o *orderedPairs) UnmarshalJSON(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return err
		}
		*o = append(*o, Pair{key.(string), value})
	}
	return nil
}

// TestPathSerializeVectors is contract F1, vectors/pathserialize.json.
func TestPathSerializeVectors(t *testing.T) {
	raw, err := os.ReadFile("../testdata/vectors/pathserialize.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Path    string `json:"path"`
			Options struct {
				Params map[string]any `json:"params"`
				Query  orderedPairs   `json:"query"`
			} `json:"options"`
			Want string `json:"want"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 18 {
		t.Fatalf("%d cases", len(file.Cases))
	}
	for _, c := range file.Cases {
		if got, err := SerializePath(c.Path, c.Options.Params, c.Options.Query); err != nil || got != c.Want {
			t.Errorf("%s: got %q, %v, want %q", c.Path, got, err, c.Want)
		}
	}
}

func TestSerializePath(t *testing.T) {
	at := time.Date(2026, 6, 1, 2, 3, 4, 0, time.UTC)
	var nothing *int
	got, err := SerializePath("/a/:at/:id?", map[string]any{"at": at, "id": int64(1) << 53}, []Pair{
		{"o", map[string]any{"b": 1, "a": "<&>"}}, {"s", "x"}, {"n", nil}, {"p", nothing}, {"raw", json.RawMessage(`[1, 2]`)}, {"f", 1.5}, {"t", true}, {"e", ""},
	})
	const want = "/a/2026-06-01T02%3A03%3A04Z/9007199254740992?s=x&f=1.5&t=true&e=&o=%7B%22a%22%3A%22%3C%26%3E%22%2C%22b%22%3A1%7D&raw=%5B1%2C2%5D"
	if err != nil || got != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	if _, err := SerializePath("/a/:f", map[string]any{"f": func() {}}, nil); err == nil {
		t.Error("a function as parameter: want an error")
	}
	if _, err := SerializePath("/a", nil, []Pair{{"f", make(chan int)}}); err == nil {
		t.Error("a channel in the query: want an error")
	}
}

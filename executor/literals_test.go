package executor

import (
	"fmt"
	"strings"
	"testing"
)

// TestLiterals holds the table against a map of the language, with texts that
// have much in common, of every length around the eight bytes that are read at a
// time.
func TestLiterals(t *testing.T) {
	var texts []string
	for i := range 1000 {
		texts = append(texts, fmt.Sprint(i), fmt.Sprintf("item%04d-detail", i), fmt.Sprintf("a-rather-long-name-%d-of-a-resource", i))
	}
	for n := range 40 {
		for at := range n {
			texts = append(texts, strings.Repeat("x", at)+"y"+strings.Repeat("x", n-at-1))
		}
	}
	var table literals
	want := map[string]*node{}
	for i, text := range texts {
		if table.find(text) != nil {
			t.Fatalf("%q is there before it was added", text)
		}
		if i%2 == 0 {
			want[text] = &node{}
			table.add(text, want[text])
		}
	}
	for _, text := range append(texts, "", "absent", "xxxxxxxx", "xxxxxxxxx") {
		if got := table.find(text); got != want[text] {
			t.Errorf("%q: found %p, want %p", text, got, want[text])
		}
	}
	run, longest := 0, 0
	for _, slot := range table.slots {
		if run++; slot.node == nil {
			run = 0
		}
		longest = max(longest, run)
	}
	if longest > 40 {
		t.Errorf("%d slots in a row are taken: the hash does not spread", longest)
	}
}

package executor

import "math/bits"

// literals are the nodes behind the literal segments that may follow a node: a
// hash table with open addressing, at most half full. It is faster than a map of
// the language, whose promises (changes, iteration, keys from anywhere) nobody
// needs here, and as fast with a thousand entries as with ten.
type literals struct {
	slots []literal // 1<<(64-shift) of them, or none
	shift uint8
	count int
}

// literal is a segment that a path must have as it is.
type literal struct {
	text string
	node *node // nil: the slot is free
}

// find gives the node behind a segment, nil if there is none.
func (l *literals) find(text string) *node {
	if l.count == 0 {
		return nil
	}
	mask := len(l.slots) - 1
	for i := int(hashOf(text) >> l.shift); l.slots[i].node != nil; i = (i + 1) & mask { //nolint:gosec // the shift leaves an index
		if l.slots[i].text == text {
			return l.slots[i].node
		}
	}
	return nil
}

// add takes a segment that is not there yet.
func (l *literals) add(text string, n *node) {
	l.count++
	if old := l.slots; 2*l.count > len(old) {
		l.slots = make([]literal, max(4, 2*len(old)))
		l.shift = uint8(65 - bits.Len(uint(len(l.slots)))) //nolint:gosec // between 1 and 62
		for _, one := range old {
			if one.node != nil {
				l.put(one)
			}
		}
	}
	l.put(literal{text, n})
}

func (l *literals) put(one literal) {
	mask := len(l.slots) - 1
	i := int(hashOf(one.text) >> l.shift) //nolint:gosec // below len(l.slots)
	for l.slots[i].node != nil {
		i = (i + 1) & mask
	}
	l.slots[i] = one
}

// hashOf reads a segment eight bytes at a time; its upper bits are the mixed ones. Which segments are in a table is
// the author's doing, so nobody can make it slow from outside.
func hashOf(text string) uint64 {
	const factor = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	h := uint64(len(text)) * factor
	switch n := len(text); {
	case n >= 8:
		end := text[n-8:]
		for ; len(text) > 8; text = text[8:] {
			h = (h ^ word(text)) * factor
			h ^= h >> 32
		}
		h ^= word(end)
	case n >= 4:
		h ^= half(text) | half(text[n-4:])<<32
	case n > 0:
		h ^= uint64(text[0]) | uint64(text[n/2])<<8 | uint64(text[n-1])<<16
	}
	return h * factor
}

// word and half are the first bytes of a text; the compiler makes one load of each.
func word(s string) uint64 {
	_ = s[7]
	return half(s) | half(s[4:])<<32
}

func half(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

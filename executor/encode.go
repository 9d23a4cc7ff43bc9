package executor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
)

// The wrapper of a success (contract C1).
const (
	envelopeHead = `{"code":0,"message":"Success","data":`
	envelopeTail = `}`
)

// maxKeptBuffer bounds what one large answer leaves in memory.
const maxKeptBuffer = 64 << 10

// jsonBuffer is a buffer with an encoder into it.
type jsonBuffer struct {
	bytes.Buffer
	encoder *json.Encoder
}

// buffers holds used buffers. It is no state: any of them may vanish.
var buffers = sync.Pool{New: func() any {
	b := &jsonBuffer{}
	b.encoder = json.NewEncoder(&b.Buffer)
	// As in Vona; answers say that they are JSON, and nosniff keeps it so.
	b.encoder.SetEscapeHTML(false)
	return b
}}

func getBuffer() *jsonBuffer {
	b, _ := buffers.Get().(*jsonBuffer)
	b.Reset()
	return b
}

// putBuffer gives a buffer back. What it held is wiped: who kept part of it would
// find zeros there, and never another caller's answer.
func putBuffer(b *jsonBuffer) {
	if b.Cap() > maxKeptBuffer {
		return
	}
	clear(b.Bytes())
	buffers.Put(b)
}

// encode appends a value as JSON. A nil slice is an empty list, a nil map an
// empty object (contract C1); none reports that there is no value, which is
// null.
func (b *jsonBuffer) encode(value any) (none bool, err error) {
	start := b.Len()
	if err := b.encoder.Encode(value); err != nil {
		b.Truncate(start)
		return false, fmt.Errorf("encode a %T as JSON: %w", value, err)
	}
	b.Truncate(b.Len() - 1) // the encoder ends its line
	if !isNull(b.Bytes()[start:]) {
		return false, nil
	}
	empty := emptyJSON(value)
	if empty == "" {
		return true, nil
	}
	b.Truncate(start)
	b.WriteString(empty)
	return false, nil
}

// emptyJSON is what a value stands for that encoded as null; "" for null.
func emptyJSON(value any) string {
	if _, own := value.(json.Marshaler); own || value == nil {
		return ""
	}
	switch t := reflect.TypeOf(value); t.Kind() {
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return `""`
		}
		return "[]"
	case reflect.Map:
		return "{}"
	}
	return ""
}

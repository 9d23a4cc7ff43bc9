package passport

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// ID is the id of a user or of a sign-in: a JSON string or number that keeps its own text and its form (contract A5).
// The zero ID is none, which JSON calls null. IDs are compared with ==; "1" and 1 are different ids.
type ID struct {
	text string
	form idForm
}

type idForm uint8

const (
	idNone idForm = iota
	idString
	idNumber
)

// StringID is an id that is a JSON string, the empty one included.
func StringID(text string) ID { return ID{text: text, form: idString} }

// NumberID is an id that is a JSON number.
func NumberID(n int64) ID { return ID{text: strconv.FormatInt(n, 10), form: idNumber} }

// IsZero reports that there is no id. 0 and "" are ids.
func (id ID) IsZero() bool { return id.form == idNone }

// IsNumber reports that the id is a JSON number.
func (id ID) IsNumber() bool { return id.form == idNumber }

// String is the id's own text: "77" for both "77" and 77, "" for none.
func (id ID) String() string { return id.text }

// MarshalJSON gives the id in the form it came in.
func (id ID) MarshalJSON() ([]byte, error) {
	switch id.form {
	case idString:
		return json.Marshal(id.text)
	case idNumber:
		return []byte(id.text), nil
	default:
		return []byte("null"), nil
	}
}

// UnmarshalJSON accepts a string, a number or null; anything else is an error.
func (id *ID) UnmarshalJSON(data []byte) error {
	var value any
	if len(data) > 0 && (data[0] == '-' || data[0] >= '0' && data[0] <= '9') {
		value = json.Number(data)
	} else if err := json.Unmarshal(data, &value); err != nil {
		return fmt.Errorf("reading an id: %w", err)
	}
	read, ok := idOf(value)
	if !ok {
		return fmt.Errorf("reading an id: want a string or a number, got %T", value)
	}
	*id = read
	return nil
}

// idOf takes an id from a decoded JSON value whose numbers are json.Number.
func idOf(value any) (ID, bool) {
	switch v := value.(type) {
	case nil:
		return ID{}, true
	case string:
		return StringID(v), true
	case json.Number:
		return ID{text: v.String(), form: idNumber}, true
	default:
		return ID{}, false
	}
}

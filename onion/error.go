package onion

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
)

// Error is an error with an HTTP face (contract C2). Status and Message may be
// shown to clients; the cause is for logs and for errors.Is.
type Error struct {
	// Status is the HTTP status, 400..599.
	Status int
	// Code is the code in the body: a number as text for internal codes
	// ("404"), or "<module>:<number>" for business errors. Empty means Status.
	Code string
	// Message is the text in the body; empty means the status' reason phrase.
	Message string
	// Header is added to the response.
	Header http.Header
	// Errors is the list of bad fields of a 422 (contract C2).
	Errors []FieldError
	// Cause is what went wrong underneath; it is never shown in production.
	Cause error
}

// FieldError names one bad field of a request (contract C2). Path holds keys
// (string) and list indexes (int).
type FieldError struct {
	Code    string `json:"code"`
	Path    []any  `json:"path"`
	Message string `json:"message"`
}

// NewError is an internal error: the code is the status, the message its reason
// phrase. The cause may be nil.
func NewError(status int, cause error) *Error {
	return &Error{Status: status, Cause: cause}
}

// BusinessError is an error of module with its own number, answered with status;
// a status of 0 means 500 (contract C2).
func BusinessError(module string, number, status int, message string) *Error {
	if status == 0 {
		status = http.StatusInternalServerError
	}
	return &Error{Status: status, Code: module + ":" + strconv.Itoa(number), Message: message}
}

// ValidationError is a 422 whose message is the JSON text of the list of bad
// fields (contract C2).
func ValidationError(fields []FieldError) *Error {
	text, err := json.Marshal(fields)
	if err != nil {
		// FieldError holds strings and ints only; a foreign type in a path is
		// a bug of the caller's, and must not hide the fields.
		text = []byte("invalid input")
	}
	return &Error{Status: http.StatusUnprocessableEntity, Message: string(text), Errors: fields}
}

// Error gives the public text and the cause.
func (e *Error) Error() string {
	text := strconv.Itoa(e.Status) + " " + e.Text()
	if e.Cause != nil {
		return text + ": " + e.Cause.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Text is the public message: Message, or the status' reason phrase.
func (e *Error) Text() string {
	if e.Message != "" {
		return e.Message
	}
	return statusText(e.Status)
}

// statusText is the reason phrase; a status without one is named by its number.
func statusText(status int) string {
	if text := http.StatusText(status); text != "" {
		return text
	}
	return "Status " + strconv.Itoa(status)
}

// Public is e as a client may see it: in production a 5xx shows its reason
// phrase only, whatever its message and its fields say (contract C3).
func (e *Error) Public(production bool) (code json.RawMessage, message string, fields []FieldError) {
	message, fields = e.Text(), e.Errors
	if production && e.Status >= http.StatusInternalServerError {
		message, fields = statusText(e.Status), nil
	}
	return e.publicCode(), message, fields
}

// publicCode is the code as a number if it is one, else as a text.
func (e *Error) publicCode() json.RawMessage {
	if e.Code != "" {
		if n, err := strconv.Atoi(e.Code); err == nil && strconv.Itoa(n) == e.Code {
			return json.RawMessage(e.Code)
		}
		if text, err := json.Marshal(e.Code); err == nil {
			return text
		}
	}
	return strconv.AppendInt(nil, int64(e.Status), 10)
}

// AsError finds the Error in err. Any other error is a 500 that has err as its
// cause.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) && e != nil {
		return e
	}
	return NewError(http.StatusInternalServerError, err)
}

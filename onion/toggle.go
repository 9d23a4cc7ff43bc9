package onion

// Toggle is a boolean option that can also be left unsaid, so that a layer above
// does not overwrite one below by accident. Its zero value is Inherit. In
// configuration and tags it is an ordinary true or false.
type Toggle uint8

// The states of a Toggle.
const (
	Inherit Toggle = iota
	On
	Off
)

// ToggleOf is On for true and Off for false.
func ToggleOf(b bool) Toggle {
	if b {
		return On
	}
	return Off
}

// True reports whether the toggle is On; an unsaid one is not.
func (t Toggle) True() bool { return t == On }

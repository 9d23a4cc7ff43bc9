package onion

// LayerKind tells the sources of options apart, low to high (contract A4).
type LayerKind int

// The layers, low to high. Defaults to Stored are S of contract A4, Controller
// and Action are C.
const (
	LayerDefaults LayerKind = iota
	LayerApp
	LayerInstance
	LayerStored
	LayerController
	LayerAction
	LayerDynamic
)

var layerNames = [...]string{"defaults", "application config", "instance config", "stored instance config", "controller", "action", "dynamic"}

// String names the layer as errors and explanations do.
func (k LayerKind) String() string {
	if k < 0 || int(k) >= len(layerNames) {
		return "unknown layer"
	}
	return layerNames[k]
}

// MarshalText writes the layer's name.
func (k LayerKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Settings are what one configuration says of onions: the section
// "onions: {<scene>: {"<module:onion>": {...}}}" of an application or instance.
type Settings struct {
	// Kind is LayerApp, LayerInstance or LayerStored.
	Kind LayerKind
	// Label names it in errors: "application config", "instance acme".
	Label string
	// Onions is the section, untyped, as the configuration gives it; nil says
	// nothing.
	Onions any
	// Source tells where a value stands ("config/config.yaml:12"), by the path
	// below the section. It may be nil, or give "".
	Source func(path ...string) string
}

// source is Source with its absence handled.
func (s Settings) source(path ...string) string {
	if s.Source == nil {
		return ""
	}
	return s.Source(path...)
}

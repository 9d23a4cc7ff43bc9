package onion

// Use is one mention of an onion at a controller or an action. A use of a local
// onion adds it to the local chain; a use of a global one only writes options
// for it and moves nothing (contract D8).
type Use struct {
	// Patch is what this use says of the options, as configuration would.
	Patch map[string]any
	// Where says in which source it stands.
	Where string

	spec *spec
	err  error
}

// source is the place of all that the use says.
func (u Use) source(...string) string { return u.Where }

// Onion is the name of the onion that is used.
func (u Use) Onion() Name { return u.spec.name }

// Outer sets one of the options that every onion has, in a use or a definition.
type Outer func(patch map[string]any)

// Enable turns the onion on or off.
func Enable(on bool) Outer {
	return func(p map[string]any) { p[optEnable] = on }
}

// Match narrows the onion to the paths listed: exact texts, or
// "regexp:///source/flags" (contract D6).
func Match(paths ...string) Outer {
	return func(p map[string]any) { p[optMatch] = anyList(paths) }
}

// Ignore keeps the onion off the paths listed, in the forms of Match.
func Ignore(paths ...string) Outer {
	return func(p map[string]any) { p[optIgnore] = anyList(paths) }
}

// MetaMode narrows the onion to modes.
func MetaMode(modes ...Mode) Outer {
	list := make([]string, len(modes))
	for i, m := range modes {
		list[i] = string(m)
	}
	return metaOuter(metaKeyMode, list)
}

// MetaFlavor narrows the onion to flavors.
func MetaFlavor(flavors ...string) Outer { return metaOuter(metaKeyFlavor, flavors) }

// MetaInstanceName narrows the onion to instances.
func MetaInstanceName(names ...string) Outer { return metaOuter(metaKeyInstanceName, names) }

// MetaHost narrows the onion to hosts, as sent, with their port.
func MetaHost(hosts ...string) Outer { return metaOuter(metaKeyHost, hosts) }

func metaOuter(key string, list []string) Outer {
	return func(p map[string]any) {
		meta, ok := p[optMeta].(map[string]any)
		if !ok {
			meta = map[string]any{}
			p[optMeta] = meta
		}
		meta[key] = anyList(list)
	}
}

func anyList(texts []string) []any {
	list := make([]any, len(texts))
	for i, t := range texts {
		list[i] = t
	}
	return list
}

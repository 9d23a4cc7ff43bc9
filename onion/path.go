package onion

import "strings"

// moduleURL gives the URL of a module and the last segment of it, its name:
// "/demo/student" and "student" for demo-student, "/base" for a-base
// (contract D5).
func moduleURL(module string) (parent, name string) {
	provider, name, _ := strings.Cut(module, "-")
	if provider == "a" {
		return "/", name
	}
	return "/" + provider + "/", name
}

// joinPath puts an action's path below its controller's; one that begins with a
// slash replaces it.
func joinPath(controller, action string) string {
	switch {
	case strings.HasPrefix(action, "/") || controller == "":
		return action
	case action == "":
		return controller
	default:
		return controller + "/" + action
	}
}

// rawPath is the raw route template: path below its module's URL, without any
// prefix. A path with a leading slash is its own template, one with two keeps
// both (contract D5).
func rawPath(module, path string, simplify bool) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	parent, name := moduleURL(module)
	switch {
	case path == "":
		return parent + name
	case simplify && strings.HasPrefix(path, name):
		return parent + path
	default:
		return parent + name + "/" + path
	}
}

// fullPath is the template that requests are matched against: a raw template
// that begins with two slashes loses one and takes no prefix.
func fullPath(raw, prefix string) string {
	if strings.HasPrefix(raw, "//") {
		return raw[1:]
	}
	return prefix + raw
}

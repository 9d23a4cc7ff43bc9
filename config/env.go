package config

import (
	"errors"
	"strconv"
	"strings"
)

// variable is one environment variable and the value it sets.
type variable struct {
	name      string
	path      []string
	parse     func(string) (any, error)
	keepEmpty bool // empty is a value and not "not given"
	secret    bool // its text is never printed
	also      *setting
}

type setting struct {
	path  []string
	value any
}

// variables is the environment of a Vona deployment. META_MODE and META_FLAVOR, which choose files, are in options.go.
var variables = []variable{
	{name: "APP_NAME", path: []string{"app", "name"}, parse: asText},
	{name: "SERVER_KEYS", path: []string{"server", "keys"}, parse: asList, secret: true},
	{name: "SERVER_GLOBALPREFIX", path: []string{"server", "globalPrefix"}, parse: asText, keepEmpty: true},
	{name: "SERVER_SUBDOMAINOFFSET", path: []string{"server", "subdomainOffset"}, parse: asInt},
	{name: "SERVER_LISTEN_HOSTNAME", path: []string{"server", "listen", "hostname"}, parse: asText},
	{name: "SERVER_LISTEN_PORT", path: []string{"server", "listen", "port"}, parse: asInt},
	{name: "REDIS_DEFAULT_HOST", path: []string{"redis", "base", "host"}, parse: asText,
		also: &setting{[]string{"redis", "embedded"}, false}},
	{name: "REDIS_DEFAULT_PORT", path: []string{"redis", "base", "port"}, parse: asInt},
	{name: "REDIS_DEFAULT_PASSWORD", path: []string{"redis", "base", "password"}, parse: asText, keepEmpty: true, secret: true},
	{name: "REDIS_DEFAULT_DB", path: []string{"redis", "base", "db"}, parse: asInt},
	{name: "LOGGER_CLIENT_DEFAULT", path: []string{"logger", "clients", "default", "level"}, parse: asText},
}

// Variables maps each environment variable that is read to the dotted path it sets. The table is Vona's:
//
//   - An empty variable is as good as none, because deployments list every name and leave most empty; only
//     SERVER_GLOBALPREFIX (no prefix) and REDIS_DEFAULT_PASSWORD (no password) mean something when empty.
//   - SERVER_KEYS is a list separated by commas; spaces around an item are dropped, an empty item is an error.
//   - REDIS_DEFAULT_HOST also sets redis.embedded to false: a deployment that names a server means it.
//   - META_MODE and META_FLAVOR choose the files and set no value; their path is empty.
func Variables() map[string]string {
	out := map[string]string{envMode: "", envFlavor: ""}
	for _, v := range variables {
		out[v.name] = PathString(v.path...)
	}
	return out
}

// environment is what the process was given. Of a name given twice the last counts, as for programs started by os/exec.
func environment(environ []string) map[string]string {
	out := map[string]string{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			out[name] = value
		}
	}
	return out
}

// environmentLayer types the variables that are given.
func environmentLayer(env map[string]string) (layer, Errors) {
	out := layer{whole: Position{Layer: LayerEnvironment}, root: map[string]any{}, at: map[string]Position{}}
	var errs Errors
	for _, v := range variables {
		text, given := env[v.name]
		if !given || text == "" && !v.keepEmpty {
			continue
		}
		at := Position{Layer: LayerEnvironment, Env: v.name}
		value, err := v.parse(text)
		if err != nil {
			message := err.Error()
			if !v.secret {
				message += ", is " + strconv.Quote(text)
			}
			errs = append(errs, &Error{At: at, Path: v.path, Message: message})
			continue
		}
		out.set(v.path, value, at)
		if v.also != nil {
			out.set(v.also.path, v.also.value, at)
		}
	}
	return out, errs
}

// set puts a value into the layer, with the objects above it.
func (l layer) set(path []string, value any, at Position) {
	object := l.root
	for i, key := range path {
		l.at[join(path[:i+1])] = at
		if i == len(path)-1 {
			object[key] = value
			break
		}
		inner, ok := object[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			object[key] = inner
		}
		object = inner
	}
	if list, ok := value.([]any); ok {
		for i := range list {
			l.at[join(path)+sep+stepOf(i)] = at
		}
	}
}

func asText(s string) (any, error) { return s, nil }

func asInt(s string) (any, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return nil, errors.New("must be a whole number")
	}
	return n, nil
}

func asList(s string) (any, error) {
	var out []any
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item == "" {
			return nil, errors.New("must be a list separated by commas without empty items")
		}
		out = append(out, item)
	}
	return out, nil
}

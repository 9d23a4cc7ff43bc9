package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-playground/validator/v10"
)

// sentence words a broken rule. A secret's value, and its length, are not told.
func sentence(fe validator.FieldError, w way, path []string, given bool) string {
	if fe.Tag() == "required" {
		if given {
			return "must not be empty"
		}
		return "must be given"
	}
	text := demand(fe, w)
	if isSecret(w.typ) {
		return text
	}
	switch v := reflect.ValueOf(fe.Value()); {
	case !v.IsValid():
		return text
	case v.Type() == durationType:
		return text + ", is " + time.Duration(v.Int()).String()
	case v.Kind() == reflect.String:
		return text + ", is " + show(v.String(), path)
	case v.Kind() == reflect.Map || v.Kind() == reflect.Slice:
		return text + ", has " + strconv.Itoa(v.Len())
	case v.CanInt():
		return text + ", is " + show(v.Int(), path)
	case v.CanUint():
		return text + ", is " + show(v.Uint(), path)
	case v.CanFloat():
		return text + ", is " + show(v.Float(), path)
	case v.Kind() == reflect.Bool:
		return text + ", is " + show(v.Bool(), path)
	}
	return text
}

// demand words what the rule asks for.
func demand(fe validator.FieldError, w way) string {
	unit, verb := "", "be"
	switch kind := w.typ.Kind(); {
	case kind == reflect.String || isSecret(w.typ):
		unit = " characters long"
	case kind == reflect.Map || kind == reflect.Slice || kind == reflect.Array:
		unit, verb = " items", "have"
	}
	switch rule, param := fe.Tag(), fe.Param(); rule {
	case "min", "gte", "max", "lte":
		low, hasLow := bound(w.rules, "min", "gte")
		high, hasHigh := bound(w.rules, "max", "lte")
		switch {
		case hasLow && hasHigh:
			return fmt.Sprintf("must %s between %s and %s%s", verb, low, high, unit)
		case rule == "min" || rule == "gte":
			return fmt.Sprintf("must %s at least %s%s", verb, param, unit)
		}
		return fmt.Sprintf("must %s at most %s%s", verb, param, unit)
	case "gt":
		return fmt.Sprintf("must %s more than %s%s", verb, param, unit)
	case "lt":
		return fmt.Sprintf("must %s less than %s%s", verb, param, unit)
	case "len":
		return fmt.Sprintf("must %s exactly %s%s", verb, param, unit)
	case "eq":
		return "must be " + param
	case "ne":
		return "must not be " + param
	case "oneof":
		return "must be one of " + strings.Join(strings.Fields(param), ", ")
	case "startswith", "endswith", "contains":
		return fmt.Sprintf("must %s %q", map[string]string{"startswith": "begin with", "endswith": "end with", "contains": "contain"}[rule], param)
	case "unique":
		return "must not have an item twice"
	default:
		if noun, ok := nouns[rule]; ok {
			return "must be " + noun
		}
		if param != "" {
			rule += "=" + param
		}
		return fmt.Sprintf("breaks the rule %q", rule)
	}
}

// nouns words the validator's rules that name a form of text.
var nouns = map[string]string{
	"url": "a URL", "uri": "a URI", "http_url": "an http or https URL", "email": "an email address",
	"hostname": "a host name", "hostname_rfc1123": "a host name", "fqdn": "a full host name", "hostname_port": "host:port",
	"ip": "an IP address", "ipv4": "an IPv4 address", "ipv6": "an IPv6 address", "cidr": "an address range such as 10.0.0.0/8",
	"alphanum": "letters and digits only", "lowercase": "lower case", "uuid": "a UUID", "dir": "an existing directory", "file": "an existing file",
}

// bound finds the parameter of a rule under either of its two names.
func bound(rules, a, b string) (string, bool) {
	for rule := range strings.SplitSeq(rules, ",") {
		if name, param, _ := strings.Cut(rule, "="); name == a || name == b {
			return param, true
		}
	}
	return "", false
}

package acore

import (
	"reflect"
	"strings"

	"github.com/go-playground/validator/v10"
)

// ruleMessage says in words what a rule wants. It never quotes the value.
func ruleMessage(e validator.FieldError) string {
	if text, ok := ruleTexts[e.Tag()]; ok {
		return strings.Replace(text, "$", e.Param(), 1)
	}
	if text, ok := sizeTexts[e.Tag()]; ok && e.Param() != "" {
		return text + " " + e.Param() + unitOf(e.Kind())
	}
	rule := e.Tag()
	if e.Param() != "" {
		rule += "=" + e.Param()
	}
	return "must satisfy " + rule
}

// ruleTexts are the rules people use most; $ is the rule's parameter.
var ruleTexts = map[string]string{
	"required": "is required",
	"email":    "must be an email address",
	"url":      "must be a URL",
	"uri":      "must be a URI",
	"uuid":     "must be a UUID",
	"uuid4":    "must be a UUID",
	"ip":       "must be an IP address",
	"alphanum": "must be letters and digits",
	"alpha":    "must be letters",
	"number":   "must be a whole number",
	"numeric":  "must be a number",
	"boolean":  "must be true or false",
	"datetime": "must be a time of the form $",
	"oneof":    "must be one of $",
	"eq":       "must be $",
	"ne":       "must not be $",
	"eqfield":  "must equal $",
	"nefield":  "must differ from $",
	"unique":   "must not repeat",
}

// sizeTexts compare with a number, or with a number of characters or items.
var sizeTexts = map[string]string{
	"min": "must be at least", "gte": "must be at least",
	"max": "must be at most", "lte": "must be at most",
	"gt": "must be more than", "lt": "must be less than",
	"len": "must be exactly",
}

func unitOf(kind reflect.Kind) string {
	switch kind {
	case reflect.String:
		return " characters"
	case reflect.Slice, reflect.Array, reflect.Map:
		return " items"
	default:
		return ""
	}
}

package executor

import (
	"net/http"
	"strconv"
	"strings"
)

// wantsJSON decides the format of an answer (contract C4). JSON is wanted when
// the path ends in .json, when the request's body is JSON, and unless Accept
// prefers text/html. With compat it is Vona's rule: JSON only for .json and for
// an Accept that names it before or above HTML and plain text, so that an absent
// Accept and "*/*" mean HTML.
func wantsJSON(path string, header http.Header, compat bool) bool {
	if strings.HasSuffix(path, ".json") {
		return true
	}
	accept := header["Accept"]
	if compat {
		json := preferenceOf(accept, "application", "json")
		return json.q > 0 &&
			json.above(preferenceOf(accept, "text", "html")) && json.above(preferenceOf(accept, "text", "plain"))
	}
	if len(accept) == 0 {
		return true
	}
	if types := header["Content-Type"]; len(types) > 0 && isJSONType(types[0]) {
		return true
	}
	html := preferenceOf(accept, "text", "html")
	return html.q == 0 || !html.above(preferenceOf(accept, "application", "json"))
}

// isJSONType recognises application/json and the types built on it
// ("application/problem+json"), with or without parameters.
func isJSONType(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.TrimSpace(kind)
	const suffix = "+json"
	return strings.EqualFold(kind, "application/json") ||
		len(kind) > len(suffix) && strings.EqualFold(kind[len(kind)-len(suffix):], suffix)
}

// preference says how much an Accept wants one media type: the quality, then how
// exactly the type is named, then how early.
type preference struct {
	q           float64
	specificity int // 0 not named, 1 */*, 2 type/*, 3 type/subtype
	order       int
}

// above reports whether p is wanted more than other. Equal preferences (both by
// the same wildcard) are not above each other.
func (p preference) above(other preference) bool {
	switch {
	case p.q != other.q:
		return p.q > other.q
	case p.specificity != other.specificity:
		return p.specificity > other.specificity
	default:
		return p.order < other.order
	}
}

// preferenceOf reads the Accept lines for one type; the most exact range that
// covers it counts. A range that is malformed is passed over.
func preferenceOf(accept []string, kind, sub string) preference {
	var best preference
	order := 0
	for _, line := range accept {
		for more := true; more; order++ {
			var item string
			item, line, more = strings.Cut(line, ",")
			s := coverage(item, kind, sub)
			if s <= best.specificity {
				continue
			}
			if q, ok := quality(item); ok {
				best = preference{q: q, specificity: s, order: order}
			}
		}
	}
	return best
}

// coverage says how exactly a media range covers a type, 0 for not at all.
func coverage(item, kind, sub string) int {
	media, _, _ := strings.Cut(item, ";")
	k, s, _ := strings.Cut(strings.TrimSpace(media), "/")
	switch {
	case k == "*" && s == "*":
		return 1
	case !strings.EqualFold(k, kind):
		return 0
	case s == "*":
		return 2
	case strings.EqualFold(s, sub):
		return 3
	}
	return 0
}

// quality reads the q parameter of a media range, 0 to 1; without one it is 1.
func quality(item string) (q float64, ok bool) {
	_, params, more := strings.Cut(item, ";")
	for more {
		var param string
		param, params, more = strings.Cut(params, ";")
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		return q, err == nil && q >= 0 && q <= 1
	}
	return 1, true
}

// localeOf is the first language of an Accept-Language, "" for none: letters,
// digits and hyphens, at most 35 bytes, as language tags are.
func localeOf(header http.Header) string {
	lines := header["Accept-Language"]
	if len(lines) == 0 {
		return ""
	}
	first, _, _ := strings.Cut(lines[0], ",")
	first, _, _ = strings.Cut(first, ";")
	first = strings.TrimSpace(first)
	if len(first) > 35 || strings.ContainsFunc(first, notLanguage) {
		return ""
	}
	return first
}

func notLanguage(r rune) bool {
	return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

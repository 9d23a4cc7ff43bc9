package onion

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// regexpScheme marks a regular expression among patterns (contract D6).
const regexpScheme = "regexp://"

// patterns are the parsed texts of match or ignore; given tells an empty list
// from an absent one.
type patterns struct {
	given   bool
	exact   []string
	regexps []*regexp.Regexp
}

// parsePatterns reads the option match or ignore: a text or a list of texts. null
// is "not given". Every bad one of a list is among the problems.
func parsePatterns(option string, v any) (patterns, problems) {
	p := patterns{given: v != nil}
	var bad problems
	add := func(item any, path ...string) {
		if err := p.add(item); err != nil {
			bad = append(bad, problem{path: path, text: err.Error(), cause: err})
		}
	}
	switch x := v.(type) {
	case nil:
	case string:
		add(x, option)
	case []any:
		for i, item := range x {
			add(item, option, strconv.Itoa(i))
		}
	default:
		bad = problems{{path: []string{option}, text: "want a path or a list of paths, got " + describe(v)}}
	}
	return p, bad
}

func (p *patterns) add(item any) error {
	text, ok := item.(string)
	if !ok {
		return fmt.Errorf("want a path, got %s", describe(item))
	}
	if !strings.HasPrefix(text, regexpScheme) {
		if !isPathPattern(text) {
			return fmt.Errorf("%q: want a path, which begins with a slash, or regexp:///source/flags", text)
		}
		p.exact = append(p.exact, text)
		return nil
	}
	re, err := parseRegexp(text)
	if err != nil {
		return err
	}
	p.regexps = append(p.regexps, re)
	return nil
}

// isPathPattern reports what a path can equal: one that begins with a slash, the
// asterisk of "OPTIONS *", or nothing. Any other text would never match, and so
// switch an onion off, or on, unnoticed.
func isPathPattern(text string) bool {
	return text == "" || text == "*" || strings.HasPrefix(text, "/")
}

// parseRegexp reads "regexp:///source/flags". The source ends at the last slash;
// i, m and s mean what they mean in JavaScript, g and u change nothing.
func parseRegexp(text string) (*regexp.Regexp, error) {
	body := strings.TrimPrefix(text, regexpScheme)
	last := strings.LastIndexByte(body, '/')
	if !strings.HasPrefix(body, "/") || last == 0 {
		return nil, fmt.Errorf("%q: want regexp:///source/flags", text)
	}
	source, flags := body[1:last], ""
	for _, f := range body[last+1:] {
		switch f {
		case 'i', 'm', 's':
			flags += string(f)
		case 'g', 'u':
		default:
			return nil, fmt.Errorf("%q: unknown flag %q, want i, m, s, g or u", text, f)
		}
	}
	// RE2 knows an escaped punctuation mark, so JavaScript's \/ needs no care.
	if flags != "" {
		source = "(?" + flags + ")" + source
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("%q: %w (expressions are RE2's)", text, err)
	}
	return re, nil
}

func (p *patterns) hit(selector string) bool {
	if slices.Contains(p.exact, selector) {
		return true
	}
	for _, re := range p.regexps {
		if re.MatchString(selector) {
			return true
		}
	}
	return false
}

// selection is match and ignore together.
type selection struct {
	match, ignore patterns
}

func parseSelection(options map[string]any) (selection, error) {
	match, badMatch := parsePatterns(optMatch, options[optMatch])
	ignore, badIgnore := parsePatterns(optIgnore, options[optIgnore])
	if bad := slices.Concat(badMatch, badIgnore); len(bad) > 0 {
		return selection{}, bad
	}
	return selection{match, ignore}, nil
}

// given reports whether there is anything to ask.
func (s selection) given() bool { return s.match.given || s.ignore.given }

// activeAt is active for a path as sent, percent-encoded. A pattern may be written
// in either spelling: as sent, or with each segment decoded once, as routes are
// found (contract C5). Else an escaped letter would lead to a route around an onion
// that is narrowed to it. An escaped slash stays escaped: it parts no segments.
func (s selection) activeAt(path string) bool {
	if strings.IndexByte(path, '%') < 0 {
		return s.active(path)
	}
	segments := strings.Split(path, "/")
	for i, text := range segments {
		if plain, err := url.PathUnescape(text); err == nil {
			segments[i] = strings.ReplaceAll(plain, "/", "%2F")
		}
	}
	return s.active(path, strings.Join(segments, "/"))
}

// active is contract D6: true if match hits, or ignore is given and misses;
// without either, true.
func (s selection) active(spellings ...string) bool {
	if !s.given() {
		return true
	}
	if s.match.given && slices.ContainsFunc(spellings, s.match.hit) {
		return true
	}
	return s.ignore.given && !slices.ContainsFunc(spellings, s.ignore.hit)
}

// warnOfPatterns tells of paths in application config that no route has: whatever
// was meant, the onion is not asked for it there. System middleware sees paths that
// are no routes.
func (b *builder) warnOfPatterns() {
	routes := map[string]bool{"": true}
	for _, r := range b.routes {
		routes[r.Raw] = true
	}
	for _, scene := range Scenes() {
		if scene == SceneMiddlewareSystem {
			continue
		}
		for _, s := range b.byScene[scene] {
			b.warnOfPatternsOf(s, routes)
		}
	}
}

func (b *builder) warnOfPatternsOf(s *spec, routes map[string]bool) {
	l, ok := b.app.layer(s)
	if !ok {
		return
	}
	for _, name := range []string{optMatch, optIgnore} {
		p, _ := parsePatterns(name, l.patch[name]) // checkOuter has reported what does not parse
		for _, path := range p.exact {
			if !routes[path] {
				b.warns = append(b.warns, fmt.Sprintf("onion %s: %s: %s: no route has the path %q", s.name, l.place(name), name, path))
			}
		}
	}
}

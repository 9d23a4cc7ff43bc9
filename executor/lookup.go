package executor

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/vonago/vonago/onion"
)

// found is the outcome of a lookup: a route, or the methods that the path has.
type found struct {
	route  *onion.RouteInfo
	params onion.Params
	others methodSet
}

// inlineSegments is the number of segments that a lookup keeps on its stack.
const inlineSegments = 12

// find looks a path up, percent-encoded as it was sent. Parameters are appended
// to params. An escape that is no UTF-8 text is a 400.
func (r *router) find(method, path string, params onion.Params) (found, error) {
	path, rooted := strings.CutPrefix(path, "/")
	if !rooted {
		return found{params: params}, nil
	}
	s := search{method: methodIndex(method), path: path, params: params}
	escaped := strings.IndexByte(path, '%') >= 0
	if escaped {
		if _, err := unescape(path); err != nil {
			return found{params: params}, onion.NewError(http.StatusBadRequest, err)
		}
	}
	s.split(r.depth, escaped)
	e := s.walk(r.root, 0)
	if e == nil {
		return found{params: params, others: s.others}, nil
	}
	own := s.params[len(params):]
	for i := range own {
		own[i].Name = e.names[i]
	}
	return found{route: e.route, params: s.params}, nil
}

// unescape decodes percent escapes, which must give UTF-8 text, as in Vona.
func unescape(text string) (string, error) {
	plain, err := url.PathUnescape(text)
	if err != nil {
		return "", fmt.Errorf("decode the path: %w", err)
	}
	if !utf8.ValidString(plain) {
		return "", errors.New("decode the path: no UTF-8 text")
	}
	return plain, nil
}

// search is one lookup.
type search struct {
	method int
	path   string // without the leading slash, as sent
	params onion.Params
	others methodSet

	count int // of segments
	first [inlineSegments]string
	more  []string
}

func (s *search) push(text string) {
	if s.count < inlineSegments {
		s.first[s.count] = text
	} else {
		s.more = append(s.more, text)
	}
	s.count++
}

func (s *search) segment(i int) string {
	if i < inlineSegments {
		return s.first[i]
	}
	return s.more[i-inlineSegments]
}

// split fills segments, decoded. More segments than the tree is deep can only
// belong to a "*", so what follows the first depth of them stays in one piece.
func (s *search) split(depth int, escaped bool) {
	rest, more := s.path, true
	for more && s.count < depth {
		var text string
		text, rest, more = strings.Cut(rest, "/")
		if escaped && strings.IndexByte(text, '%') >= 0 {
			text, _ = unescape(text) // find decoded it all
		}
		s.push(text)
	}
	if more {
		s.push(rest)
	}
}

// walk looks for the route below n of the segments from i on. On the way it
// collects the methods of the leaves that fit the path.
func (s *search) walk(n *node, i int) *endpoint {
	if i == s.count {
		if e := s.pick(&n.here); e != nil {
			return e
		}
		return s.takeRest(n, i)
	}
	text := s.segment(i)
	if next := n.literals[text]; next != nil {
		if e := s.walk(next, i+1); e != nil {
			return e
		}
	}
	if n.param != nil && text != "" {
		mark := len(s.params)
		s.params = append(s.params, onion.Param{Value: text})
		if e := s.walk(n.param, i+1); e != nil {
			return e
		}
		s.params = s.params[:mark]
	}
	if text == "" && i == s.count-1 {
		if e := s.takeAbsent(n); e != nil {
			return e
		}
	}
	return s.takeRest(n, i)
}

// takeAbsent takes an optional parameter whose segment is there but empty: the
// URL that PerformAction makes of ":name?" without a value (contract F1).
func (s *search) takeAbsent(n *node) *endpoint {
	if n.param == nil {
		return nil
	}
	var optional leaf
	for m, e := range n.here {
		if e != nil && n.param.here[m] == e {
			optional[m] = e
		}
	}
	return s.pick(&optional)
}

func (s *search) takeRest(n *node, i int) *endpoint {
	e := s.pick(&n.rest)
	if e == nil {
		return nil
	}
	rest := s.path
	for range i {
		_, rest, _ = strings.Cut(rest, "/")
	}
	if strings.IndexByte(rest, '%') >= 0 {
		rest, _ = unescape(rest) // find decoded it all
	}
	s.params = append(s.params, onion.Param{Value: rest})
	return e
}

// pick takes the method's route of a leaf that fits, or notes the others.
func (s *search) pick(l *leaf) *endpoint {
	if s.method >= 0 && l[s.method] != nil {
		return l[s.method]
	}
	for m, e := range l {
		if e != nil {
			s.others |= 1 << m
		}
	}
	return nil
}

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

// find looks a path up, percent-encoded as it was sent. Parameters are appended
// to params. An escape that is no UTF-8 text is a 400.
func (r *router) find(method, path string, params onion.Params) (found, error) {
	if path == "" || path[0] != '/' {
		return found{params: params}, nil
	}
	path = path[1:]
	s := search{method: methodIndex(method), params: params, escaped: strings.IndexByte(path, '%') >= 0}
	if s.escaped {
		if _, err := unescape(path); err != nil {
			return found{params: params}, onion.NewError(http.StatusBadRequest, err)
		}
	}
	e := s.walk(r.root, path, true)
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
	method  int
	escaped bool // some segment is
	params  onion.Params
	others  methodSet
}

// walk looks for the route below n of a path, as sent and without the leading
// slash; more tells a path that has a segment left, which may be empty, from one
// that has ended. On the way it collects the methods of the leaves that fit the
// path.
func (s *search) walk(n *node, path string, more bool) *endpoint {
	if !more {
		if e := s.pick(&n.here); e != nil {
			return e
		}
		return s.takeRest(n, "")
	}
	text, rest, more := strings.Cut(path, "/")
	if s.escaped && strings.IndexByte(text, '%') >= 0 {
		text, _ = unescape(text) // find decoded it all
	}
	if next := n.literals.find(text); next != nil {
		if e := s.walk(next, rest, more); e != nil {
			return e
		}
	}
	if n.param != nil && text != "" {
		mark := len(s.params)
		s.params = append(s.params, onion.Param{Value: text})
		if e := s.walk(n.param, rest, more); e != nil {
			return e
		}
		s.params = s.params[:mark]
	}
	if text == "" && !more {
		if e := s.takeAbsent(n); e != nil {
			return e
		}
	}
	return s.takeRest(n, path)
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

// takeRest takes a "*" for what is left of the path.
func (s *search) takeRest(n *node, path string) *endpoint {
	if n.rest == nil {
		return nil
	}
	e := s.pick(n.rest)
	if e == nil {
		return nil
	}
	if s.escaped && strings.IndexByte(path, '%') >= 0 {
		path, _ = unescape(path) // find decoded it all
	}
	s.params = append(s.params, onion.Param{Value: path})
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

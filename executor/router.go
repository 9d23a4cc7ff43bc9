package executor

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vonago/vonago/onion"
)

// router finds the route of a method and path (contract C5, D5). It is a tree of
// path segments: a lookup costs one map access a segment, however many routes
// there are. It does not change once it is built.
//
// A path is split at its slashes as it was sent, and each segment is decoded
// once, so an escaped slash stays inside its segment. Nothing is redirected,
// cleaned or case-folded. Where several templates fit, segment by segment a
// literal beats ":name", which beats "*"; a choice that leads nowhere is taken
// back. ":name" needs a segment that is not empty. ":name?" also fits a path
// that ends before it, with its slash or without. "*" fits the rest of the path,
// which may be empty or absent; its value is the rest decoded as a whole.
type router struct {
	root *node
	// depth is the number of segments of the longest template.
	depth int
}

// methods in the order of the bits of a methodSet.
var methods = [...]string{http.MethodDelete, http.MethodGet, http.MethodPatch, http.MethodPost, http.MethodPut}

// methodSet is a set of methods, one bit each.
type methodSet uint8

func methodIndex(method string) int {
	switch method {
	case http.MethodGet, http.MethodHead: // HEAD is served for GET
		return 1
	case http.MethodPost:
		return 3
	case http.MethodPut:
		return 4
	case http.MethodPatch:
		return 2
	case http.MethodDelete:
		return 0
	}
	return -1
}

// allow is the set as the value of an Allow header, sorted.
func (s methodSet) allow() string {
	list := []string{http.MethodOptions}
	for i, m := range methods {
		if s&(1<<i) != 0 {
			list = append(list, m)
			if m == http.MethodGet {
				list = append(list, http.MethodHead)
			}
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// leaf holds the routes that end at a node, by method.
type leaf [len(methods)]*endpoint

// endpoint is a route as the router knows it.
type endpoint struct {
	route *onion.RouteInfo
	names []string
}

// node is a place in the tree. rest ends in "*", whatever follows the node.
type node struct {
	literals map[string]*node
	param    *node
	here     leaf
	rest     leaf
}

// newRouter builds the tree. The error joins everything that is wrong, each with
// the places where the routes are declared.
func newRouter(routes []*onion.RouteInfo) (*router, error) {
	r := &router{root: &node{}}
	var errs []error
	for _, route := range routes {
		if err := r.add(route); err != nil {
			errs = append(errs, err)
		}
	}
	return r, errors.Join(errs...)
}

func (r *router) add(route *onion.RouteInfo) error {
	segments, err := parseTemplate(route.Path)
	if err != nil {
		return fmt.Errorf("route %s:%s (%s): %w", route.Bean, route.Action, route.Where, err)
	}
	index := methodIndex(route.Method)
	if index < 0 || route.Method == http.MethodHead {
		return fmt.Errorf("route %s:%s (%s): method %q is not routed", route.Bean, route.Action, route.Where, route.Method)
	}
	e := &endpoint{route: route}
	r.depth = max(r.depth, len(segments))
	at := r.root
	for _, s := range segments {
		if s.kind != literalSegment {
			e.names = append(e.names, s.text)
		}
		switch s.kind {
		case literalSegment:
			at = at.literal(s.text)
		case paramSegment:
			at = at.child()
		case optionalSegment:
			if err := at.here.put(index, e); err != nil {
				return err
			}
			at = at.child()
		case restSegment:
			return at.rest.put(index, e)
		}
	}
	return at.here.put(index, e)
}

func (n *node) literal(text string) *node {
	if n.literals == nil {
		n.literals = map[string]*node{}
	}
	if n.literals[text] == nil {
		n.literals[text] = &node{}
	}
	return n.literals[text]
}

func (n *node) child() *node {
	if n.param == nil {
		n.param = &node{}
	}
	return n.param
}

func (l *leaf) put(index int, e *endpoint) error {
	if other := l[index]; other != nil {
		return fmt.Errorf("routes %s (%s:%s at %s) and %s (%s:%s at %s) match the same paths",
			other.route, other.route.Bean, other.route.Action, other.route.Where, e.route, e.route.Bean, e.route.Action, e.route.Where)
	}
	l[index] = e
	return nil
}

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
			text, _ = unescape(text) //nolint:errcheck // find decoded the whole path
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
		rest, _ = unescape(rest) //nolint:errcheck // find decoded the whole path
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

package executor

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/vonago/vonago/onion"
)

// router finds the route of a method and path (contract C5, D5). It is a tree of
// path segments: a lookup costs one access to a small hash table a segment, however
// many routes there are. It does not change once it is built.
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

// node is a place in the tree. rest ends in "*", whatever follows the node; nil
// if nothing does.
type node struct {
	literals literals
	param    *node
	here     leaf
	rest     *leaf
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
			if at.rest == nil {
				at.rest = &leaf{}
			}
			return at.rest.put(index, e)
		}
	}
	return at.here.put(index, e)
}

func (n *node) literal(text string) *node {
	if next := n.literals.find(text); next != nil {
		return next
	}
	next := &node{}
	n.literals.add(text, next)
	return next
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

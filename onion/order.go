package onion

import (
	"fmt"
	"strings"
)

// orderItem is an onion with its order options, in load order.
type orderItem struct {
	name         string
	dependencies []string
	dependents   []string
}

// order sorts onions as Vona does (contract D7): depth-first in load order, each
// onion after its dependencies in the order written, then after the onions that
// name it in dependents, in load order. Names that are not present are returned
// as missing. A cycle is an error that names it.
func order(items []orderItem) (sorted, missing []string, err error) {
	o := orderer{byName: make(map[string]orderItem, len(items)), before: map[string][]string{}, state: map[string]visit{}}
	for _, it := range items {
		o.byName[it.name] = it
	}
	for _, it := range items {
		for _, list := range [][]string{it.dependencies, it.dependents} {
			for _, name := range list {
				if _, ok := o.byName[name]; !ok {
					missing = append(missing, it.name+" -> "+name)
				}
			}
		}
		for _, name := range it.dependents {
			o.before[name] = append(o.before[name], it.name)
		}
	}
	for _, it := range items {
		if err := o.visit(it.name); err != nil {
			return nil, missing, err
		}
	}
	return o.sorted, missing, nil
}

type visit int

const (
	visiting visit = iota + 1
	visited
)

type orderer struct {
	byName map[string]orderItem
	before map[string][]string
	state  map[string]visit
	stack  []string
	sorted []string
}

func (o *orderer) visit(name string) error {
	it, ok := o.byName[name]
	if !ok || o.state[name] == visited {
		return nil
	}
	o.stack = append(o.stack, name)
	if o.state[name] == visiting {
		return fmt.Errorf("dependency cycle: %s", o.cycle(name))
	}
	o.state[name] = visiting
	for _, list := range [][]string{it.dependencies, o.before[name]} {
		for _, earlier := range list {
			if err := o.visit(earlier); err != nil {
				return err
			}
		}
	}
	o.state[name] = visited
	o.stack = o.stack[:len(o.stack)-1]
	o.sorted = append(o.sorted, name)
	return nil
}

// cycle is the stack from the first visit of name, each after the one it must
// follow.
func (o *orderer) cycle(name string) string {
	for i, n := range o.stack {
		if n == name {
			return strings.Join(o.stack[i:], " after ")
		}
	}
	return name
}

// parseNames reads dependencies or dependents: a comma list, or a list of texts;
// null and "" name nothing.
func parseNames(v any) ([]string, error) {
	var texts []string
	switch x := v.(type) {
	case nil:
		return nil, nil
	case string:
		texts = strings.Split(x, ",")
	case []any:
		for _, item := range x {
			text, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("want onion names, got %s", describe(item))
			}
			texts = append(texts, strings.Split(text, ",")...)
		}
	default:
		return nil, fmt.Errorf("want a comma list or a list of onion names, got %s", describe(v))
	}
	names := make([]string, 0, len(texts))
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			names = append(names, t)
		}
	}
	return names, nil
}

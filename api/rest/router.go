package rest

// The router: from a path to the rows of a service's table that it names.

import (
	"maps"
	"slices"
)

// place is a point in the tree of a service's paths, which branches at each slash.
// A part that is spelled out goes before a parameter, and where that leads nowhere
// the parameter is tried.
type place struct {
	rows  map[string][]Operation // what is answered here, by method
	named map[string]*place
	any   *place // whatever the part is, but for none
}

// anyPart is a parameter in the parts of a route.
const anyPart = "{}"

// add puts the rows of a method at the end of a path.
func (p *place) add(method string, parts []string, rows []Operation) {
	if len(parts) == 0 {
		if p.rows == nil {
			p.rows = map[string][]Operation{}
		}
		p.rows[method] = rows
		return
	}
	next := p.any
	if parts[0] != anyPart {
		next = p.named[parts[0]]
	}
	if next == nil {
		next = &place{named: map[string]*place{}}
		if parts[0] == anyPart {
			p.any = next
		} else {
			p.named[parts[0]] = next
		}
	}
	next.add(method, parts[1:], rows)
}

// find gives the rows of a method at a path; nil if there are none.
func (p *place) find(method string, parts []string) (rows []Operation) {
	p.visit(parts, func(here map[string][]Operation) bool {
		rows = here[method]
		return rows != nil
	})
	return rows
}

// methods are those that are answered at a path.
func (p *place) methods(parts []string) []string {
	answered := map[string]bool{}
	p.visit(parts, func(here map[string][]Operation) bool {
		for method := range here {
			answered[method] = true
		}
		return false
	})
	return slices.Sorted(maps.Keys(answered))
}

// visit shows the rows of every place that a path may mean, until one is right.
func (p *place) visit(parts []string, right func(map[string][]Operation) bool) bool {
	if len(parts) == 0 {
		return right(p.rows)
	}
	if next := p.named[parts[0]]; next != nil && next.visit(parts[1:], right) {
		return true
	}
	return p.any != nil && parts[0] != "" && p.any.visit(parts[1:], right)
}

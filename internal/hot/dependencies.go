package hot

// Which resources need which, and which attributes of them.

import (
	"errors"
	"slices"
	"strings"

	"holdfast.dev/internal/hot/graph"
	"holdfast.dev/internal/hot/value"
)

// references are the names of the resources that a snippet refers to, each once
// and in their order.
func (s *Stack) references(parsed any, path string) ([]string, error) {
	names := []string{}
	seen := map[string]bool{}
	e := s.evaluation(nil)
	err := walk(parsed, path, func(c *call, path string) error {
		if c.fn.refers == nil {
			return nil
		}
		target, _ := c.fn.refers(c)
		resolved, err := e.resolve(target)
		if err != nil {
			return err
		}
		name, ok := resolved.(string)
		if !ok || s.byName[name] == nil {
			bad := badReference(resolved, path)
			bad.Line = c.line
			return bad
		}
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// Requires are the names of the enabled resources that this one needs: those it
// names, and those its properties and metadata refer to.
func (r *Resource) Requires() ([]string, error) {
	s := r.stack
	external, err := r.ExternalID(nil)
	if err != nil {
		return nil, err
	}
	if external != "" {
		if len(r.DependsOn) > 0 {
			e := failf(ExternalDepends, "Invalid dependency with external %s resource: %s", r.Type, external)
			e.Line = r.line
			return nil, e
		}
		return nil, nil
	}
	names := []string{}
	for _, name := range r.DependsOn {
		if s.byName[name] == nil {
			if s.declared[name] {
				continue
			}
			e := badReference(name, r.Name)
			e.Line = r.line
			return nil, e
		}
		names = append(names, name)
	}
	for _, part := range []struct {
		name   string
		parsed any
	}{{"Properties", r.properties}, {"Metadata", r.metadata}} {
		implicit, err := s.references(part.parsed, r.Name+"."+part.name)
		if err != nil {
			return nil, err
		}
		for _, name := range implicit {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range s.implied[r.Name] {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Imply has resources come after others that they don't refer to, by names. One
// that would close a cycle is left out. It is for whoever binds the template,
// before anybody else sees it.
func (s *Stack) Imply(after map[string][]string) error {
	needs := map[string][]string{}
	for _, r := range s.resources {
		requires, err := r.Requires()
		if err != nil {
			return err
		}
		needs[r.Name] = requires
	}
	s.implied = map[string][]string{}
	for _, r := range s.resources {
		for _, other := range after[r.Name] {
			if s.byName[other] == nil || other == r.Name || reaches(needs, other, r.Name) {
				continue
			}
			s.implied[r.Name] = append(s.implied[r.Name], other)
			needs[r.Name] = append(slices.Clone(needs[r.Name]), other)
		}
	}
	return nil
}

// reaches says whether one needs another, itself or by what it needs.
func reaches(needs map[string][]string, from, to string) bool {
	seen := map[string]bool{}
	open := []string{from}
	for len(open) > 0 {
		name := open[len(open)-1]
		open = open[:len(open)-1]
		if name == to {
			return true
		}
		if !seen[name] {
			seen[name] = true
			open = append(open, needs[name]...)
		}
	}
	return false
}

// Graph is the graph of the enabled resources, and the names that its numbers
// stand for: the order of Resources.
func (s *Stack) Graph() (graph.Graph, []string, error) {
	names := make([]string, len(s.resources))
	numbers := make(map[string]int, len(s.resources))
	for i, r := range s.resources {
		names[i], numbers[r.Name] = r.Name, i
	}
	edges := []graph.Edge{}
	for i, r := range s.resources {
		requires, err := r.Requires()
		if err != nil {
			return graph.Graph{}, nil, err
		}
		for _, name := range requires {
			edges = append(edges, graph.Edge{Node: i, Needs: numbers[name]})
		}
	}
	g, err := graph.New(len(names), edges)
	if err != nil {
		return graph.Graph{}, nil, err
	}
	_, err = g.Order()
	var cycle *graph.Cycle
	if errors.As(err, &cycle) {
		return graph.Graph{}, nil, s.circular(cycle.Nodes)
	}
	return g, names, err
}

// shownCycle is how many names of a cycle an error shows.
const shownCycle = 20

func (s *Stack) circular(nodes []int) error {
	names := []string{}
	for _, node := range nodes {
		if len(names) == shownCycle {
			names = append(names, "...")
			break
		}
		names = append(names, s.resources[node].Name)
	}
	first := s.resources[nodes[0]]
	e := failf(Circular, "Circular Dependency Found: %s", strings.Join(append(names, first.Name), " -> "))
	e.Line = first.line
	return e
}

// Wanted are, for each resource, the attributes that other resources and the
// outputs read of it: the attribute and the path into it, each once. An empty
// one stands for all attributes.
func (s *Stack) Wanted() map[string][][]any {
	wanted := map[string][][]any{}
	seen := map[string]bool{}
	e := s.evaluation(nil)
	visit := func(c *call, _ string) error {
		if c.fn.refers == nil || c.fn == getResource {
			return nil
		}
		target, attribute := c.fn.refers(c)
		name, err := e.resolve(target)
		if err != nil {
			return nil
		}
		path, err := e.resolve(attribute)
		if err != nil {
			return nil
		}
		text, ok := name.(string)
		key := value.Repr(name) + value.Repr(path)
		if list, isList := path.([]any); ok && isList && !seen[key] {
			seen[key] = true
			wanted[text] = append(wanted[text], list)
		}
		return nil
	}
	parts := []any{}
	for _, r := range s.resources {
		parts = append(parts, r.properties, r.metadata)
	}
	for _, o := range s.outputs {
		parts = append(parts, o.value)
	}
	for _, part := range parts {
		if err := walk(part, "", visit); err != nil {
			return wanted
		}
	}
	return wanted
}

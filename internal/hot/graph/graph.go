package graph

// Graphs.

import (
	"container/heap"
	"fmt"
	"slices"
	"strings"
)

// Graph is a set of nodes, 0 to len(Needs)-1. Needs[i] are the nodes that must
// be done before i, in ascending order and each once.
type Graph struct {
	Needs [][]int `json:"needs"`
}

// Edge says that a node needs another.
type Edge struct{ Node, Needs int }

// New makes a graph of n nodes.
func New(n int, edges []Edge) (Graph, error) {
	if n < 0 {
		return Graph{}, fmt.Errorf("a graph of %d nodes", n)
	}
	g := Graph{Needs: make([][]int, n)}
	for _, e := range edges {
		if e.Node < 0 || e.Node >= n || e.Needs < 0 || e.Needs >= n {
			return Graph{}, fmt.Errorf("the edge %d to %d leaves a graph of %d nodes", e.Node, e.Needs, n)
		}
		g.Needs[e.Node] = append(g.Needs[e.Node], e.Needs)
	}
	for i, needs := range g.Needs {
		slices.Sort(needs)
		g.Needs[i] = slices.Compact(needs)
	}
	return g, nil
}

// Len is the number of nodes.
func (g Graph) Len() int { return len(g.Needs) }

// Check says whether the graph is one: what came from elsewhere may not be.
func (g Graph) Check() error {
	for node, needs := range g.Needs {
		for i, need := range needs {
			if need < 0 || need >= g.Len() || i > 0 && needs[i-1] >= need {
				return fmt.Errorf("node %d of %d needs %v", node, g.Len(), needs)
			}
		}
	}
	return nil
}

// Edges are the edges in the order of their nodes.
func (g Graph) Edges() []Edge {
	edges := []Edge{}
	for node, needs := range g.Needs {
		for _, need := range needs {
			edges = append(edges, Edge{node, need})
		}
	}
	return edges
}

// Reverse is the graph with every edge turned round: what a delete follows.
func (g Graph) Reverse() Graph {
	r := Graph{Needs: make([][]int, g.Len())}
	for node, needs := range g.Needs {
		for _, need := range needs {
			r.Needs[need] = append(r.Needs[need], node)
		}
	}
	return r
}

// Leaves are the nodes that need nothing: where a walk begins.
func (g Graph) Leaves() []int {
	nodes := []int{}
	for node, needs := range g.Needs {
		if len(needs) == 0 {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// Roots are the nodes that nothing needs: where a walk ends.
func (g Graph) Roots() []int { return g.Reverse().Leaves() }

// Cycle is why a graph has no order: each node needs the next, and the last the
// first.
type Cycle struct{ Nodes []int }

func (c *Cycle) Error() string {
	names := make([]string, 0, len(c.Nodes)+1)
	for _, node := range c.Nodes {
		names = append(names, fmt.Sprint(node))
	}
	return "circular dependency: " + strings.Join(append(names, names[0]), " -> ")
}

// Order is the nodes, each after all it needs, the lowest number first where
// there is a choice. The error is a *Cycle.
func (g Graph) Order() ([]int, error) {
	back := g.Reverse()
	missing := make([]int, g.Len())
	ready := &lowest{}
	for node, needs := range g.Needs {
		if missing[node] = len(needs); len(needs) == 0 {
			heap.Push(ready, node)
		}
	}
	order := make([]int, 0, g.Len())
	for ready.Len() > 0 {
		node := heap.Pop(ready).(int)
		order = append(order, node)
		for _, waiting := range back.Needs[node] {
			if missing[waiting]--; missing[waiting] == 0 {
				heap.Push(ready, waiting)
			}
		}
	}
	if len(order) < g.Len() {
		return nil, &Cycle{g.cycle(missing)}
	}
	return order, nil
}

// cycle finds a cycle among the nodes that still miss something.
func (g Graph) cycle(missing []int) []int {
	node := slices.IndexFunc(missing, func(n int) bool { return n > 0 })
	seen := map[int]int{}
	path := []int{}
	for {
		if at, there := seen[node]; there {
			return path[at:]
		}
		seen[node] = len(path)
		path = append(path, node)
		next := slices.IndexFunc(g.Needs[node], func(n int) bool { return missing[n] > 0 })
		node = g.Needs[node][next]
	}
}

// lowest is a heap of nodes.
type lowest []int

func (h lowest) Len() int           { return len(h) }
func (h lowest) Less(i, j int) bool { return h[i] < h[j] }
func (h lowest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *lowest) Push(x any)        { *h = append(*h, x.(int)) }
func (h *lowest) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// None stands for no node.
const None = -1

// Merge is the graph of an update. Its nodes are those of next, to be created
// or updated, and after them those of before, to be cleaned up: node i of
// before is node next.Len()+i. What is cleaned up waits for whatever needed it
// to be cleaned up first, and for what takes its place: successor[i] is the
// node of next that is the same as node i of before or replaces it, or None.
func Merge(next, before Graph, successor []int) (Graph, error) {
	if len(successor) != before.Len() {
		return Graph{}, fmt.Errorf("%d successors for %d nodes", len(successor), before.Len())
	}
	edges := next.Edges()
	for _, e := range before.Edges() {
		edges = append(edges, Edge{Node: next.Len() + e.Needs, Needs: next.Len() + e.Node})
	}
	for i, s := range successor {
		if s == None {
			continue
		}
		if s < 0 || s >= next.Len() {
			return Graph{}, fmt.Errorf("node %d is succeeded by %d of %d nodes", i, s, next.Len())
		}
		edges = append(edges, Edge{Node: next.Len() + i, Needs: s})
	}
	return New(next.Len()+before.Len(), edges)
}

package stackgraph

// What is drawn, and how it looks.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast.dev/internal/store/orchestration"
)

// Graph is a stack with its resources, each after what it needs where that is so in
// its stack.
type Graph struct {
	Name, State string
	Nodes       []*Node
}

// Node is a resource.
type Node struct {
	ID                int64
	Name, Type, State string
	// Began is when the action that the state is of has begun, Ended when it has ended;
	// zero if that is not known, or not yet.
	Began, Ended time.Time
	// Needs are the nodes of the same stack that must be done before.
	Needs []*Node
	// Nested is the stack that the resource is; nil if it is none.
	Nested *Graph
}

// Of makes the graph of the first of some stacks, the others being nested in it, of
// their resources, and of when was done what to those.
func Of(stacks []*orchestration.Stack, resources []*orchestration.Resource, spans []orchestration.Span) *Graph {
	type act struct{ stack, resource, action string }
	times := map[act]orchestration.Span{}
	for _, s := range spans {
		times[act{s.StackID, s.ResourceName, s.Action}] = s
	}
	graphs, nodes := map[string]*Graph{}, map[int64]*Node{}
	for _, s := range stacks {
		graphs[s.ID] = &Graph{Name: s.Name, State: s.State()}
	}
	for _, r := range resources {
		n := &Node{ID: r.ID, Name: r.Name, Type: r.Type, State: r.Action + "_" + r.Status, Nested: graphs[r.PhysicalID]}
		if span, known := times[act{r.StackID, r.Name, r.Action}]; known {
			n.Began = span.Began
			if span.Ended != nil && r.Status != orchestration.InProgress {
				n.Ended = *span.Ended
			}
		}
		nodes[r.ID] = n
		if g := graphs[r.StackID]; g != nil {
			g.Nodes = append(g.Nodes, n)
		}
	}
	for _, r := range resources {
		for _, id := range r.Requires {
			if need := nodes[id]; need != nil {
				nodes[r.ID].Needs = append(nodes[r.ID].Needs, need)
			}
		}
	}
	for _, g := range graphs {
		g.arrange()
	}
	return graphs[stacks[0].ID]
}

// layers are how many nodes must be done one after the other before each: 0 for one
// that needs none. Rows of which an update has written some may lead in a circle, which
// is cut somewhere.
func (g *Graph) layers() map[*Node]int {
	layers := map[*Node]int{}
	var of func(n *Node) int
	of = func(n *Node) int {
		if layer, known := layers[n]; known {
			return layer
		}
		layers[n] = 0
		layer := 0
		for _, need := range n.Needs {
			layer = max(layer, of(need)+1)
		}
		layers[n] = layer
		return layer
	}
	for _, n := range g.Nodes {
		of(n)
	}
	return layers
}

// arrange sorts nodes by their layers, and then by name.
func (g *Graph) arrange() {
	layers := g.layers()
	slices.SortFunc(g.Nodes, func(a, b *Node) int {
		return cmp.Or(layers[a]-layers[b], strings.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	for _, n := range g.Nodes {
		slices.SortFunc(n.Needs, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	}
}

// Running says whether an operation is at work on the stack.
func (g *Graph) Running() bool { return strings.HasSuffix(g.State, "_"+orchestration.InProgress) }

// Failed says whether the last operation on the stack has failed.
func (g *Graph) Failed() bool { return strings.HasSuffix(g.State, "_"+orchestration.Failed) }

// progress is a node's state, and since when it is in that, or how long it took to come
// to it.
func (n *Node) progress() string {
	switch {
	case !n.Ended.IsZero():
		return fmt.Sprintf("%s in %.1f s", n.State, n.Ended.Sub(n.Began).Seconds())
	case !n.Began.IsZero():
		return n.State + " since " + n.Began.UTC().Format(time.TimeOnly)
	}
	return n.State
}

// lines are what is written into a node's box.
func (n *Node) lines() []string { return []string{n.Name, n.Type, n.progress()} }

// look is how what is in a state is drawn.
type look struct{ class, fill, line string }

// ending is the end of states that look alike.
type ending struct {
	of string
	look
}

// looks are those of states, by how they end; the last is of what was asked for and not
// begun.
var looks = []ending{
	{"_" + orchestration.InProgress, look{"progress", "#fff3c4", "#b7791f"}},
	{"_" + orchestration.Failed, look{"failed", "#fbd5d5", "#c53030"}},
	{"_" + orchestration.Complete, look{"complete", "#d3f2d9", "#2f855a"}},
	{"", look{"asked", "#edf0f3", "#718096"}},
}

func lookOf(state string) look {
	if strings.HasPrefix(state, orchestration.ActionInit+"_") {
		return looks[len(looks)-1].look
	}
	return looks[slices.IndexFunc(looks, func(e ending) bool { return strings.HasSuffix(state, e.of) })].look
}

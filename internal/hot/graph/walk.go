package graph

// Following a graph while its nodes are worked on.

import (
	"fmt"
	"slices"
)

// State is how far a node is.
type State byte

// The states of a node.
const (
	// Waiting: something it needs isn't done.
	Waiting State = iota
	// Ready to be started.
	Ready
	// Running: started, and neither done nor failed.
	Running
	// Done with success.
	Done
	// Failed, or never to be started because something it needs failed.
	Failed
)

// Walk is one way through a graph. A node may start when all it needs is done;
// what needs a failed node never starts. It isn't safe for several goroutines.
type Walk struct {
	graph   Graph
	back    Graph
	missing []int
	states  []State
	left    int
	running int
}

// NewWalk begins a walk, or takes one up in which some nodes are done.
func NewWalk(g Graph, done ...int) (*Walk, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	if _, err := g.Order(); err != nil {
		return nil, err
	}
	w := &Walk{graph: g, back: g.Reverse(), missing: make([]int, g.Len()), states: make([]State, g.Len()), left: g.Len()}
	for node, needs := range g.Needs {
		if w.missing[node] = len(needs); len(needs) == 0 {
			w.states[node] = Ready
		}
	}
	done = slices.Clone(done)
	slices.Sort(done)
	for _, node := range slices.Compact(done) {
		if node < 0 || node >= g.Len() {
			return nil, fmt.Errorf("node %d of %d is done", node, g.Len())
		}
		w.finish(node)
	}
	return w, nil
}

// State is how far a node is.
func (w *Walk) State(node int) State { return w.states[node] }

// Ready are the nodes that may start now, in ascending order.
func (w *Walk) Ready() []int { return w.in(Ready) }

// Done are the nodes that are done, in ascending order: what NewWalk needs to
// take the walk up.
func (w *Walk) Done() []int { return w.in(Done) }

func (w *Walk) in(state State) []int {
	nodes := []int{}
	for node, s := range w.states {
		if s == state {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// Start says that a ready node is being worked on.
func (w *Walk) Start(node int) error {
	if w.states[node] != Ready {
		return fmt.Errorf("node %d can't start: it is in state %d", node, w.states[node])
	}
	w.states[node] = Running
	w.running++
	return nil
}

// Finish says that a node is done, and gives the nodes that became ready by it,
// in ascending order.
func (w *Walk) Finish(node int) []int {
	if w.states[node] == Running {
		w.running--
	}
	if w.states[node] == Done || w.states[node] == Failed {
		return nil
	}
	return w.finish(node)
}

func (w *Walk) finish(node int) []int {
	w.states[node] = Done
	w.left--
	var ready []int
	for _, waiting := range w.back.Needs[node] {
		if w.missing[waiting]--; w.missing[waiting] == 0 && w.states[waiting] == Waiting {
			w.states[waiting] = Ready
			ready = append(ready, waiting)
		}
	}
	return ready
}

// Fail says that a node failed, and gives the nodes that will never start
// because of it, in ascending order.
func (w *Walk) Fail(node int) []int {
	if w.states[node] == Done || w.states[node] == Failed {
		return nil
	}
	if w.states[node] == Running {
		w.running--
	}
	w.states[node] = Failed
	w.left--
	lost := []int{}
	queue := []int{node}
	for len(queue) > 0 {
		node, queue = queue[0], queue[1:]
		for _, waiting := range w.back.Needs[node] {
			if w.states[waiting] == Waiting {
				w.states[waiting] = Failed
				w.left--
				lost = append(lost, waiting)
				queue = append(queue, waiting)
			}
		}
	}
	slices.Sort(lost)
	return lost
}

// Running is how many nodes are being worked on.
func (w *Walk) Running() int { return w.running }

// Over says whether every node is done or failed.
func (w *Walk) Over() bool { return w.left == 0 }

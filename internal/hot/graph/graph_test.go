package graph

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func graphOf(t *testing.T, n int, edges ...Edge) Graph {
	t.Helper()
	g, err := New(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestOrders(t *testing.T) {
	// A server (2) on a port (1) on a network (0), and a volume (3) alone.
	g := graphOf(t, 4, Edge{2, 1}, Edge{1, 0}, Edge{2, 1})
	order, err := g.Order()
	if err != nil || !slices.Equal(order, []int{0, 1, 2, 3}) {
		t.Errorf("order %v, %v", order, err)
	}
	back, err := g.Reverse().Order()
	if err != nil || !slices.Equal(back, []int{2, 1, 0, 3}) {
		t.Errorf("reverse order %v, %v", back, err)
	}
	if leaves, roots := g.Leaves(), g.Roots(); !slices.Equal(leaves, []int{0, 3}) || !slices.Equal(roots, []int{2, 3}) {
		t.Errorf("leaves %v, roots %v", leaves, roots)
	}
	text, err := json.Marshal(g)
	if err != nil || string(text) != `{"needs":[null,[0],[1],null]}` {
		t.Errorf("%s, %v", text, err)
	}
}

func TestCycles(t *testing.T) {
	for _, c := range []struct {
		graph Graph
		cycle []int
	}{
		{graphOf(t, 1, Edge{0, 0}), []int{0}},
		{graphOf(t, 5, Edge{0, 1}, Edge{1, 2}, Edge{2, 3}, Edge{3, 1}, Edge{4, 0}), []int{1, 2, 3}},
	} {
		_, err := c.graph.Order()
		var cycle *Cycle
		if !errors.As(err, &cycle) || !slices.Equal(cycle.Nodes, c.cycle) {
			t.Errorf("%v: %v", c.graph, err)
		}
		if _, err := NewWalk(c.graph); err == nil {
			t.Error("a circle can be walked")
		}
	}
}

func TestRefused(t *testing.T) {
	for _, edges := range [][]Edge{{{0, 2}}, {{2, 0}}, {{-1, 0}}, {{0, -1}}} {
		if _, err := New(2, edges); err == nil {
			t.Errorf("%v is taken", edges)
		}
	}
	for _, needs := range [][][]int{{{1}}, {{-1}}, {nil, {0, 0}}, {nil, nil, {1, 0}}} {
		if _, err := NewWalk(Graph{needs}); err == nil {
			t.Errorf("%v is walked", needs)
		}
	}
	if _, err := Merge(graphOf(t, 1), graphOf(t, 1), []int{1}); err == nil {
		t.Error("a successor that isn't there is taken")
	}
	if _, err := Merge(graphOf(t, 1), graphOf(t, 1), nil); err == nil {
		t.Error("a missing successor is taken")
	}
}

// An update that keeps a network, replaces a port, and drops a volume: the old
// port goes after the new one is there and after the server was updated.
func TestMerge(t *testing.T) {
	before := graphOf(t, 4, Edge{1, 0}, Edge{2, 1}, Edge{2, 3}) // net, port, server, volume
	next := graphOf(t, 3, Edge{1, 0}, Edge{2, 1})               // net, port, server
	g, err := Merge(next, before, []int{0, 1, 2, None})
	if err != nil {
		t.Fatal(err)
	}
	order, err := g.Order()
	if err != nil || !slices.Equal(order, []int{0, 1, 2, 5, 4, 3, 6}) {
		t.Errorf("order %v, %v", order, err)
	}
}

func TestWalk(t *testing.T) {
	g := graphOf(t, 5, Edge{1, 0}, Edge{2, 0}, Edge{3, 1}, Edge{3, 2})
	w, err := NewWalk(g)
	if err != nil {
		t.Fatal(err)
	}
	if ready := w.Ready(); !slices.Equal(ready, []int{0, 4}) {
		t.Errorf("ready %v", ready)
	}
	if err := w.Start(3); err == nil {
		t.Error("a waiting node starts")
	}
	if err := w.Start(0); err != nil {
		t.Error(err)
	}
	if ready := w.Finish(0); !slices.Equal(ready, []int{1, 2}) || w.Running() != 0 {
		t.Errorf("ready %v", ready)
	}
	if again := w.Finish(0); again != nil {
		t.Errorf("done twice: %v", again)
	}
	if lost := w.Fail(2); !slices.Equal(lost, []int{3}) || w.State(3) != Failed {
		t.Errorf("lost %v", lost)
	}
	w.Finish(1)
	if w.Over() || w.State(3) != Failed {
		t.Error("over too soon, or the failed node is taken up")
	}
	w.Finish(4)
	if !w.Over() || !slices.Equal(w.Done(), []int{0, 1, 4}) {
		t.Errorf("done %v", w.Done())
	}
	again, err := NewWalk(g, w.Done()...)
	if err != nil || !slices.Equal(again.Ready(), []int{2}) {
		t.Errorf("taken up: %v, %v", again.Ready(), err)
	}
}

// acyclic draws a graph in which nodes need lower ones only.
func acyclic(t *rapid.T) Graph {
	n := rapid.IntRange(1, 30).Draw(t, "nodes")
	edges := []Edge{}
	for range rapid.IntRange(0, 60).Draw(t, "edges") {
		node := rapid.IntRange(0, n-1).Draw(t, "node")
		if node > 0 {
			edges = append(edges, Edge{node, rapid.IntRange(0, node-1).Draw(t, "needs")})
		}
	}
	g, err := New(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// However nodes are finished and wherever the walk is taken up again, no node
// starts before what it needs is done, and all are done in the end.
func TestEveryWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := acyclic(t)
		w, err := NewWalk(g)
		if err != nil {
			t.Fatal(err)
		}
		for !w.Over() {
			if rapid.IntRange(0, 3).Draw(t, "take up") == 0 {
				if w, err = NewWalk(g, w.Done()...); err != nil {
					t.Fatal(err)
				}
			}
			node := rapid.SampledFrom(w.Ready()).Draw(t, "next")
			if err := w.Start(node); err != nil {
				t.Fatal(err)
			}
			for _, need := range g.Needs[node] {
				if w.State(need) != Done {
					t.Fatalf("%d starts before %d is done", node, need)
				}
			}
			w.Finish(node)
		}
		if len(w.Done()) != g.Len() {
			t.Fatalf("%d of %d done", len(w.Done()), g.Len())
		}
	})
}

func TestReverseTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := acyclic(t)
		if again := g.Reverse().Reverse(); !slices.Equal(again.Edges(), g.Edges()) {
			t.Fatalf("%v, %v", g, again)
		}
	})
}

package orchestration

// Stacks nested in others, as far as a request looks into them.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store/orchestration"
)

// tree is a stack and what is nested in it, by ids.
type tree struct {
	stacks map[string]*orchestration.Stack
	// shown are the ids of those that the request looks into.
	shown []string
}

// nestedDepth is how deep a request looks.
func nestedDepth(r *rest.Request) (int, error) {
	depth, err := number(r, "nested_depth")
	return min(depth, stacks.MaxDepth), err
}

// tree reads a stack and those nested in it, a level deeper than is looked into: to
// point at them.
func (a *API) tree(r *rest.Request, s *orchestration.Stack, depth int) (tree, error) {
	found, err := orchestration.Tree(r.Context(), a.DB.Pool, s.ID, depth+1)
	t := tree{stacks: map[string]*orchestration.Stack{}}
	for _, one := range found {
		t.stacks[one.ID] = one
		if one.Depth-s.Depth <= depth {
			t.shown = append(t.shown, one.ID)
		}
	}
	return t, err
}

package orchestration

import (
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/stackgraph"
	"holdfast.dev/internal/stacks"
)

// drawStack draws a stack in the format that the query names, with what is nested in it
// unless nested_depth bounds that. The original has no such thing.
func (a *API) drawStack(r *rest.Request) (*rest.Response, error) {
	format := &stackgraph.Formats[0]
	if r.Query.Has("format") {
		if format = stackgraph.Lookup(r.Query.Get("format")); format == nil {
			return nil, invalid("Invalid format, expected one of: %s.", strings.Join(stackgraph.Names(), ", "))
		}
	}
	depth := stacks.MaxDepth
	if r.Query.Has("nested_depth") {
		var err error
		if depth, err = nestedDepth(r); err != nil {
			return nil, err
		}
	}
	s, err := a.living(r)
	if err != nil {
		return nil, err
	}
	graph, err := stackgraph.Read(r.Context(), a.DB, s.ID, depth)
	if err != nil {
		return nil, err
	}
	var drawing strings.Builder
	if err := format.Draw(&drawing, graph); err != nil {
		return nil, err
	}
	return &rest.Response{Body: rest.Text(drawing.String()), ContentType: format.Type}, nil
}

package stackgraph

// What is drawn, read.

import (
	"context"
	"io"

	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// Format is a way to draw a graph.
type Format struct {
	Name string
	// Type is its media type.
	Type string
	Draw func(io.Writer, *Graph) error
	// Lines says that each line of it stands for itself.
	Lines bool
}

// Formats are all there are, the one of those who don't say which first.
var Formats = []Format{
	{"text", "text/plain; charset=UTF-8", Text, true},
	{"dot", "text/vnd.graphviz; charset=UTF-8", Dot, false},
	{"mermaid", "text/plain; charset=UTF-8", Mermaid, false},
	{"svg", "image/svg+xml", SVG, false},
}

// Names are those of formats, for help and refusals.
func Names() []string {
	names := make([]string, len(Formats))
	for i, f := range Formats {
		names[i] = f.Name
	}
	return names
}

// Lookup gives the format of a name, or nil.
func Lookup(name string) *Format {
	for i, f := range Formats {
		if f.Name == name {
			return &Formats[i]
		}
	}
	return nil
}

// Read reads a stack and those nested in it, so deep, as they are at one moment. Errors:
// NotFound.
func Read(ctx context.Context, db *store.DB, id string, depth int) (g *Graph, err error) {
	err = db.InTx(ctx, func(tx store.Tx) error {
		if _, err := tx.Exec(ctx, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`); err != nil {
			return store.Translate(err)
		}
		stacks, err := orchestration.Tree(ctx, tx, id, depth)
		if err != nil {
			return err
		}
		if len(stacks) == 0 {
			return orchestration.NotFound(id)
		}
		ids := make([]string, len(stacks))
		for i, s := range stacks {
			ids[i] = s.ID
		}
		resources, err := orchestration.ResourcesOf(ctx, tx, ids)
		if err != nil {
			return err
		}
		spans, err := orchestration.SpansOf(ctx, tx, ids)
		if err == nil {
			g = Of(stacks, resources, spans)
		}
		return err
	})
	return g, err
}

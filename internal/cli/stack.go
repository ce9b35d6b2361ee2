package cli

// holdfast stack graph

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/stackgraph"
	"holdfast.dev/internal/statedir"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// Stacks are the commands about stacks.
func Stacks(env *Env) *cobra.Command {
	return group(&cobra.Command{Use: "stack", Short: "Look at stacks"}, stackGraph(env))
}

// drawings are the formats of a stack's graph.
var drawings = map[string]func(io.Writer, *stackgraph.Graph) error{
	"dot": stackgraph.Dot, "mermaid": stackgraph.Mermaid, "svg": stackgraph.SVG,
}

// drawing is what the flags of stack graph say.
type drawing struct {
	project, format, output string
	depth                   int
	watch                   bool
}

func stackGraph(env *Env) *cobra.Command {
	var d drawing
	formats := strings.Join(slices.Sorted(maps.Keys(drawings)), ", ")
	cmd := &cobra.Command{
		Use:   "graph STACK",
		Short: "Draw a stack's resources, what each needs and how far it is",
		Long: `Draws a stack, given by its id or its name: its resources and those of stacks
nested in it, what each needs, and how far each is. With --watch it is drawn anew
whenever that has changed, until nothing is at work on the stack; the exit code
says then how that ended: 0 done, 1 failed. An interrupt ends the watching (5).`,
		Args: exactly("STACK"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if drawings[d.format] == nil {
				return faults.New(faults.Invalid, "InvalidFormat", "there is no format %q; there are %s", d.format, formats)
			}
			if d.depth < 0 {
				return faults.New(faults.Invalid, "InvalidDepth", "--depth is %d; 0 is the stack alone", d.depth)
			}
			return env.withDB(cmd.Context(), func(db *store.DB) error {
				s, err := d.find(cmd.Context(), db, args[0])
				if err != nil {
					return err
				}
				return d.draw(cmd.Context(), db, cmd.OutOrStdout(), s.ID)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&d.project, "project", "", "id of the project whose stack it is, where several have one of the name")
	flags.StringVar(&d.format, "format", "dot", formats)
	flags.StringVar(&d.output, "output", "", "file to write, whole or not at all (default: standard output)")
	flags.IntVar(&d.depth, "depth", 5, "how deep nested stacks are drawn")
	flags.BoolVar(&d.watch, "watch", false, "draw it anew at each change, until nothing is at work on it")
	return cmd
}

// find gives the stack of an id, or the only one of a name.
func (d drawing) find(ctx context.Context, db *store.DB, name string) (*orchestration.Stack, error) {
	found, err := orchestration.ListStacks(ctx, db.Pool, orchestration.StackFilter{Project: d.project, Match: map[string][]string{"name": {name}}})
	switch {
	case err != nil:
		return nil, err
	case len(found) > 1:
		return nil, faults.New(faults.Conflict, "SeveralStacks", "%d projects have a stack %s: say which with --project, or give its id", len(found), name)
	case len(found) == 1:
		return found[0], nil
	}
	return orchestration.GetStack(ctx, db.Pool, d.project, name)
}

// draw writes the graph of a stack, once or at each change.
func (d drawing) draw(ctx context.Context, db *store.DB, w io.Writer, id string) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	var drawn string
	for {
		g, err := readGraph(ctx, db, id, d.depth)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := drawings[d.format](&b, g); err != nil {
			return err
		}
		if now := b.String(); now != drawn {
			drawn = now
			if err := d.write(w, b.Bytes()); err != nil {
				return err
			}
		}
		switch {
		case !d.watch:
			return nil
		case !g.Running() && g.Failed():
			return silent(exitFailed)
		case !g.Running():
			return nil
		}
		select {
		case <-ctx.Done():
			return faults.New(faults.Unavailable, "Interrupted", "stopped watching; the operation goes on")
		case <-tick.C:
		}
	}
}

func (d drawing) write(w io.Writer, text []byte) error {
	if d.output != "" {
		return statedir.Replace(d.output, text)
	}
	_, err := w.Write(text)
	return err
}

// readGraph reads a stack as it is at one moment.
func readGraph(ctx context.Context, db *store.DB, id string, depth int) (g *stackgraph.Graph, err error) {
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
		if err == nil {
			g = stackgraph.Of(stacks, resources)
		}
		return err
	})
	return g, err
}

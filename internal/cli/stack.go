package cli

// holdfast stack graph

import (
	"bytes"
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/stackgraph"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/statedir"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// Stacks are the commands about stacks.
func Stacks(env *Env) *cobra.Command {
	return group(&cobra.Command{Use: "stack", Short: "Look at stacks"}, stackGraph(env))
}

// drawing is what the flags of stack graph say.
type drawing struct {
	project, output string
	format          *stackgraph.Format
	depth           int
	watch           bool
}

func stackGraph(env *Env) *cobra.Command {
	var d drawing
	var format string
	formats := strings.Join(stackgraph.Names(), ", ")
	cmd := &cobra.Command{
		Use:   "graph STACK",
		Short: "Draw a stack's resources, what each needs and how far it is",
		Long: `Draws a stack, given by its id or its name: its resources and those of stacks
nested in it, what each needs, how far each is and how long that took. With --watch
it is drawn anew whenever that has changed, of a text only the lines that have, until
nothing is at work on the stack; the exit code says then how that ended: 0 done, 1
failed. An interrupt ends the watching (5).`,
		Args: exactly("STACK"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if d.format = stackgraph.Lookup(format); d.format == nil {
				return faults.New(faults.Invalid, "InvalidFormat", "there is no format %q; there are %s", format, formats)
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
	flags.StringVar(&format, "format", stackgraph.Formats[0].Name, formats)
	flags.StringVar(&d.output, "output", "", "file to write, whole or not at all (default: standard output)")
	flags.IntVar(&d.depth, "depth", stacks.MaxDepth, "how deep nested stacks are drawn")
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
		g, err := stackgraph.Read(ctx, db, id, d.depth)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := d.format.Draw(&b, g); err != nil {
			return err
		}
		if now := b.String(); now != drawn {
			if err := d.write(w, now, drawn); err != nil {
				return err
			}
			drawn = now
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

// write writes the drawing anew, of one in lines those that were not in the one before,
// or not as often: members of different groups may look alike.
func (d drawing) write(w io.Writer, now, before string) error {
	if d.output != "" {
		return statedir.Replace(d.output, []byte(now))
	}
	if d.format.Lines {
		known := map[string]int{}
		for line := range strings.Lines(before) {
			known[line]++
		}
		var news strings.Builder
		for line := range strings.Lines(now) {
			if known[line]--; known[line] < 0 {
				news.WriteString(line)
			}
		}
		now = news.String()
	}
	_, err := io.WriteString(w, now)
	return err
}

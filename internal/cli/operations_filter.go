package cli

// Choosing operations: by id, or by filter; and doing something to each.

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// operationFilter is what the flags of list, cancel and retry say.
type operationFilter struct {
	kind, state, project, host, errorCode string
	olderThan                             time.Duration
	limit                                 int
}

func (f *operationFilter) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", "", "kind, for example server.build")
	flags.StringVar(&f.state, "state", "", "waiting, pending, running, held, unfinished, done, failed, cancelled or superseded")
	flags.StringVar(&f.project, "project", "", "project id")
	flags.StringVar(&f.host, "host", "", "id or name of a host")
	flags.StringVar(&f.errorCode, "error-code", "", "code of the failure, for example NoValidHost")
	flags.DurationVar(&f.olderThan, "older-than", 0, "least age, for example 10m")
	flags.IntVar(&f.limit, "limit", 100, "most operations, 1 to 1000")
}

// any says whether a flag narrows the choice.
func (f *operationFilter) any() bool {
	return f.kind != "" || f.state != "" || f.project != "" || f.host != "" || f.errorCode != "" || f.olderThan != 0
}

func (f *operationFilter) find(ctx context.Context, db *store.DB) ([]engine.Operation, error) {
	if f.limit < 1 {
		return nil, faults.New(faults.Invalid, "InvalidFilter", "--limit must be 1 to 1000")
	}
	if _, known := operations.Lookup(operations.Kind(f.kind)); f.kind != "" && !known {
		return nil, faults.New(faults.Invalid, "InvalidFilter", "there is no kind of operation %q; there are %s", f.kind, kindNames())
	}
	host := f.host
	if host != "" {
		if h, err := compute.HostByName(ctx, db.Pool, host); err == nil {
			host = h.ID
		} else if !faults.Is(err, faults.NotFound) {
			return nil, err
		}
	}
	return newEngine(db).Operations(ctx, db.Pool, engine.Filter{
		Kind: operations.Kind(f.kind), State: engine.State(f.state), ProjectID: f.project, Host: host,
		ErrorCode: f.errorCode, OlderThan: f.olderThan, Limit: f.limit,
	})
}

func kindNames() string {
	var names []string
	for _, spec := range operations.All() {
		names = append(names, string(spec.Kind))
	}
	return strings.Join(names, ", ")
}

// bulk is a command that does something to operations, one transaction each.
type bulk struct {
	filter operationFilter
	dryRun bool
	rate   float64
	asJSON bool
}

func (b *bulk) flags(cmd *cobra.Command) {
	b.filter.flags(cmd)
	cmd.Flags().BoolVar(&b.dryRun, "dry-run", false, "say what would be done, and do nothing")
	cmd.Flags().Float64Var(&b.rate, "rate", 10, "most operations a second")
	cmd.Flags().BoolVar(&b.asJSON, "json", false, "write JSON")
}

// outcome is what became of one operation.
type outcome struct {
	ID string `json:"id"`
	// Did is a word: "cancelled", "already finished", "refused" ...
	Did string `json:"did"`
	// Operation is the new one, if one was made.
	Operation string `json:"operation,omitempty"`
	Reason    string `json:"reason,omitempty"`

	err error
}

// act does what a command does to one operation.
type act func(ctx context.Context, db *store.DB, o engine.Operation, dryRun bool) outcome

// run applies act to the operations that ids or, without any, the filter name.
// One that is refused doesn't keep the others from it; the exit code tells.
func (b *bulk) run(cmd *cobra.Command, env *Env, ids []string, do act) error {
	if b.rate <= 0 {
		return faults.New(faults.Invalid, "InvalidRate", "--rate must be more than 0")
	}
	return env.withDB(cmd.Context(), func(db *store.DB) error {
		chosen, err := b.choose(cmd.Context(), db, ids)
		if err != nil {
			return err
		}
		outcomes, err := b.each(cmd.Context(), db, chosen, do)
		if writing := b.write(cmd.OutOrStdout(), outcomes); writing != nil {
			return writing
		}
		return err
	})
}

func (b *bulk) choose(ctx context.Context, db *store.DB, ids []string) ([]engine.Operation, error) {
	switch {
	case len(ids) > 0 && b.filter.any():
		return nil, faults.New(faults.Invalid, "InvalidFilter", "give ids or a filter, not both")
	case len(ids) == 0 && !b.filter.any():
		return nil, faults.New(faults.Invalid, "InvalidFilter", "give the ids of operations, or a filter")
	case len(ids) == 0:
		return b.filter.find(ctx, db)
	}
	var chosen []engine.Operation
	for _, id := range ids {
		o, err := newEngine(db).Get(ctx, db.Pool, id)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, o)
	}
	return chosen, nil
}

// each keeps to the rate. The error is the first refusal, for the exit code.
func (b *bulk) each(ctx context.Context, db *store.DB, chosen []engine.Operation, do act) ([]outcome, error) {
	outcomes := []outcome{}
	var first error
	for i, o := range chosen {
		if i > 0 && !b.dryRun {
			select {
			case <-ctx.Done():
				return outcomes, faults.New(faults.Unavailable, "Interrupted", "interrupted after %d of %d operations", i, len(chosen))
			case <-time.After(time.Duration(float64(time.Second) / b.rate)):
			}
		}
		out := do(ctx, db, o, b.dryRun)
		out.ID = o.ID
		if out.err != nil {
			out.Did, out.Reason = "refused", faults.As(out.err).Message
			if first == nil {
				first = out.err
			}
		}
		outcomes = append(outcomes, out)
	}
	return outcomes, first
}

func (b *bulk) write(w io.Writer, outcomes []outcome) error {
	if b.asJSON {
		return writeJSON(w, outcomes)
	}
	for _, o := range outcomes {
		line := o.ID + "  " + o.Did
		if o.Operation != "" {
			line += "  " + o.Operation
		}
		if o.Reason != "" {
			line += ": " + o.Reason
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

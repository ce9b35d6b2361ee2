package cli

// Choosing operations: by id, or by filter; and doing something to each.

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"golang.org/x/time/rate"

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

// maxLimit is how many operations one command looks at.
const maxLimit = 1000

func (f *operationFilter) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", "", "kind, for example server.build")
	flags.StringVar(&f.state, "state", "", "waiting, pending, running, held, unfinished, cancelling, done, failed, cancelled or superseded")
	flags.StringVar(&f.project, "project", "", "project id")
	flags.StringVar(&f.host, "host", "", "id or name of a host")
	flags.StringVar(&f.errorCode, "error-code", "", "code of the failure, for example NoValidHost")
	flags.DurationVar(&f.olderThan, "older-than", 0, "least age, for example 10m")
	flags.IntVar(&f.limit, "limit", 100, fmt.Sprintf("most operations, 1 to %d", maxLimit))
}

// any says whether a flag narrows the choice.
func (f *operationFilter) any() bool {
	return f.kind != "" || f.state != "" || f.project != "" || f.host != "" || f.errorCode != "" || f.olderThan != 0
}

// find gives the newest that all flags are true of. Without --state it looks
// among those in orElse; empty: in any.
func (f *operationFilter) find(ctx context.Context, db *store.DB, orElse engine.State) ([]engine.Operation, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	host, err := f.hostID(ctx, db)
	if err != nil {
		return nil, err
	}
	return newEngine(db).Operations(ctx, db.Pool, engine.Filter{
		Kind: operations.Kind(f.kind), State: cmp.Or(engine.State(f.state), orElse), ProjectID: f.project, Host: host,
		ErrorCode: f.errorCode, OlderThan: f.olderThan, Limit: f.limit,
	})
}

func (f *operationFilter) check() error {
	_, known := operations.Lookup(operations.Kind(f.kind))
	switch {
	case f.limit < 1 || f.limit > maxLimit:
		return faults.New(faults.Invalid, "InvalidFilter", "--limit must be 1 to %d", maxLimit)
	case f.olderThan < 0:
		return faults.New(faults.Invalid, "InvalidFilter", "--older-than must not be negative")
	case f.kind != "" && !known:
		return faults.New(faults.Invalid, "InvalidFilter", "there is no kind of operation %q; there are %s", f.kind, kindNames())
	}
	return nil
}

// hostID is the id of the host that is named. An id is taken as it is: of hosts
// that are gone there are operations still.
func (f *operationFilter) hostID(ctx context.Context, db *store.DB) (string, error) {
	if _, err := uuid.Parse(f.host); f.host == "" || err == nil {
		return f.host, nil
	}
	h, err := compute.HostByName(ctx, db.Pool, f.host)
	if faults.Is(err, faults.NotFound) {
		return "", faults.New(faults.Invalid, "InvalidFilter", "there is no host named %q", f.host)
	}
	if err != nil {
		return "", err
	}
	return h.ID, nil
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
	// among is the state looked in if no flag names one.
	among  engine.State
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

// choice is an operation that was chosen, or why one that was named is none.
type choice struct {
	engine.Operation
	err error
}

// act does what a command does to one operation.
type act func(ctx context.Context, db *store.DB, o engine.Operation, dryRun bool) outcome

// run applies act to the operations that ids or, without any, the filter name.
// One that is refused doesn't keep the others from it; the exit code tells.
func (b *bulk) run(cmd *cobra.Command, env *Env, ids []string, do act) error {
	if !(b.rate > 0) {
		return faults.New(faults.Invalid, "InvalidRate", "--rate must be more than 0")
	}
	if err := b.filter.check(); err != nil {
		return err
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

func (b *bulk) choose(ctx context.Context, db *store.DB, ids []string) (chosen []choice, err error) {
	switch {
	case len(ids) > 0 && b.filter.any():
		return nil, faults.New(faults.Invalid, "InvalidFilter", "give ids or a filter, not both")
	case len(ids) == 0 && !b.filter.any():
		return nil, faults.New(faults.Invalid, "InvalidFilter", "give the ids of operations, or a filter")
	case len(ids) == 0:
		found, err := b.filter.find(ctx, db, b.among)
		for _, o := range found {
			chosen = append(chosen, choice{Operation: o})
		}
		return chosen, err
	}
	for _, id := range ids {
		o, err := newEngine(db).Get(ctx, db.Pool, id)
		if err != nil && !faults.Is(err, faults.NotFound) {
			return nil, err
		}
		o.ID = id
		chosen = append(chosen, choice{o, err})
	}
	return chosen, nil
}

// each keeps to the rate. The error is the first refusal, for the exit code.
func (b *bulk) each(ctx context.Context, db *store.DB, chosen []choice, do act) ([]outcome, error) {
	outcomes := []outcome{}
	pace := rate.NewLimiter(rate.Limit(b.rate), 1)
	var first error
	for i, o := range chosen {
		if !b.dryRun && pace.Wait(ctx) != nil {
			return outcomes, faults.New(faults.Unavailable, "Interrupted", "interrupted after %d of %d operations", i, len(chosen))
		}
		out := outcome{err: o.err}
		if o.err == nil {
			out = do(ctx, db, o.Operation, b.dryRun)
		}
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

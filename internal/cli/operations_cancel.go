package cli

// holdfast operations cancel

import (
	"context"

	"github.com/spf13/cobra"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/store"
)

// byOperator is who is noted as having asked.
const byOperator = "holdfast operations"

func operationsCancel(env *Env) *cobra.Command {
	b := bulk{among: engine.Unfinished}
	cmd := &cobra.Command{
		Use:   "cancel [ID...]",
		Short: "Cancel operations: what was true before is true again, or the work is finished forward",
		Long: `Cancels the operations given by id or chosen by filter. One that has not begun
ends at once; a running one is undone, or finished forward if it is past its
point of no return. Cancelling twice is cancelling once. A filter without
--state chooses among the unfinished ones.

` + exitCodes,
		RunE: func(cmd *cobra.Command, args []string) error { return b.run(cmd, env, args, cancelOne) },
	}
	b.flags(cmd)
	return cmd
}

func cancelOne(ctx context.Context, db *store.DB, o engine.Operation, dryRun bool) outcome {
	switch {
	case o.Finished():
		return outcome{Did: "already finished", Reason: string(o.Result)}
	case o.CancelRequestedAt != nil:
		return outcome{Did: "already asked to cancel"}
	case dryRun:
		return outcome{Did: "would be cancelled"}
	}
	err := db.InTx(ctx, func(tx store.Tx) (err error) {
		o, err = newEngine(db).RequestCancel(ctx, tx, o.ID, byOperator)
		return err
	})
	if err == nil && !o.Finished() {
		return outcome{Did: "asked to cancel"}
	}
	return outcome{Did: "cancelled", err: err}
}

package cli

// holdfast operations retry

import (
	"context"

	"github.com/spf13/cobra"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

func operationsRetry(env *Env) *cobra.Command {
	b := bulk{among: engine.State(operations.ResultFailed)}
	cmd := &cobra.Command{
		Use:   "retry [ID...]",
		Short: "Do a failed operation again, as a new operation of its kind",
		Long: `Accepts a new operation of the same kind on the same resource, which names the
old one in retry_of. Kinds that can be retried: server.build of a server in
ERROR that never ran, and server.delete. One that was retried already is left
alone. A filter without --state chooses among the failed ones.

` + exitCodes,
		RunE: func(cmd *cobra.Command, args []string) error { return b.run(cmd, env, args, retryOne) },
	}
	b.flags(cmd)
	return cmd
}

// retries says for each kind that can be retried what must hold of the locked
// server, and what its row is in while the new operation runs.
var retries = map[operations.Kind]struct {
	allowed func(*compute.Server) error
	prepare func(context.Context, store.Tx, *compute.Server) error
}{
	operations.ServerBuild:  {neverRan, toBuilding},
	operations.ServerDelete: {func(*compute.Server) error { return nil }, toDeleting},
}

func retryOne(ctx context.Context, db *store.DB, o engine.Operation, dryRun bool) outcome {
	retry, ok := retries[o.Kind]
	switch {
	case !ok:
		return outcome{err: refuse("operations of kind %s can't be retried: ask the API for a new one", o.Kind)}
	case !o.Finished():
		return outcome{err: refuse("it has not finished")}
	case o.Result == operations.ResultDone:
		return outcome{Did: "already done"}
	}
	eng := newEngine(db)
	if heir, err := eng.RetriedBy(ctx, db.Pool, o.ID); err != nil || heir != "" {
		return outcome{Did: "already retried", Operation: heir, err: err}
	}
	var accepted engine.Accepted
	err := db.InTx(ctx, func(tx store.Tx) error {
		server, err := compute.LockServer(ctx, tx, "", o.ResourceID)
		if faults.Is(err, faults.NotFound) {
			return refuse("the server is deleted")
		}
		if err != nil {
			return err
		}
		if server.OperationID != "" {
			return refuse("operation %s has the server", server.OperationID)
		}
		if err := retry.allowed(server); err != nil || dryRun {
			return err
		}
		if err := retry.prepare(ctx, tx, server); err != nil {
			return err
		}
		accepted, err = eng.Accept(ctx, tx, engine.Request{
			Kind: o.Kind, ResourceID: o.ResourceID, ProjectID: o.ProjectID, UserID: o.UserID,
			RequestID: o.RequestID, Input: o.Input, RetryOf: o.ID,
		})
		return err
	})
	if dryRun {
		return outcome{Did: "would be retried", err: err}
	}
	return outcome{Did: "retried", Operation: accepted.OperationID, err: err}
}

func refuse(format string, args ...any) error {
	return faults.New(faults.Conflict, "NotRetried", format, args...)
}

// neverRan: a guest that ran once has a user's data, and is rebuilt by its user.
func neverRan(s *compute.Server) error {
	switch {
	case s.LaunchedAt != nil:
		return refuse("the server has run; only its user may build it anew")
	case s.VMState != servers.VMError:
		return refuse("the server is not in ERROR but %s", s.Status())
	}
	return nil
}

func toBuilding(ctx context.Context, tx store.Tx, s *compute.Server) error {
	if err := compute.ResetState(ctx, tx, s.ID, servers.VMBuilding); err != nil {
		return err
	}
	return compute.SetTask(ctx, tx, s.ID, servers.TaskScheduling)
}

func toDeleting(ctx context.Context, tx store.Tx, s *compute.Server) error {
	return compute.SetTask(ctx, tx, s.ID, servers.TaskDeleting)
}

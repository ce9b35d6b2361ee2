package compute

// What the engine knows of servers: where their lock is, and what becomes of a
// row whose operation never began.

import (
	"context"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Resource tells the engine how servers are locked.
func Resource() engine.Resource {
	return engine.Resource{Type: operations.Server, Table: "compute.servers", Abandon: Abandon}
}

// Abandon makes true of the row what holds when its operation ends without
// having begun: the task is cleared and the server is what it was. One that was
// never built can't be anything but in ERROR, and so is one whose recovery was
// given up. The caller holds the row.
func Abandon(ctx context.Context, tx store.Tx, op engine.Operation, _ operations.Result, f *steps.Fault) error {
	s, err := GetServerOrDeleted(ctx, tx, "", op.ResourceID)
	if err != nil {
		return err
	}
	var o steps.ServerOutcome
	if err := abandonMigration(ctx, tx, op.ResourceID, op.ID); err != nil {
		return err
	}
	if s.VMState == servers.VMBuilding || op.Kind == operations.ServerRecover {
		broken := string(servers.VMError)
		o.VMState = &broken
	}
	return PublishServer(ctx, tx, op.ResourceID, o, f)
}

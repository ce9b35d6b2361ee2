package compute

// What the engine knows of servers: where their lock is, and what becomes of a
// row whose operation never began.

import (
	"context"
	"encoding/json"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Resource tells the engine how servers are locked.
func Resource() engine.Resource {
	return engine.Resource{Type: operations.Server, Table: "compute.servers", Abandon: Abandon, Withdraw: abandonMigration}
}

// Abandon makes true of the row what holds when its operation ends without
// having begun: the task is cleared and the server is what it was. One that was
// never built can't be anything but in ERROR, and so is one whose recovery was
// given up. One that was to share the server leaves its row alone, and takes
// back the device that its request had written. The caller holds the row.
func Abandon(ctx context.Context, tx store.Tx, op engine.Operation, result operations.Result, f *steps.Fault) error {
	if op.Shared {
		return forgetDevice(ctx, tx, op)
	}
	s, err := GetServerOrDeleted(ctx, tx, "", op.ResourceID)
	if err != nil {
		return err
	}
	var o steps.ServerOutcome
	if err := abandonMigration(ctx, tx, op, result); err != nil {
		return err
	}
	if s.VMState == servers.VMBuilding || op.Kind == operations.ServerRecover {
		broken := string(servers.VMError)
		o.VMState = &broken
	}
	return PublishServer(ctx, tx, op.ResourceID, o, f)
}

// forgetDevice takes back what an operation's request had written for a device
// that was to come.
func forgetDevice(ctx context.Context, tx store.Tx, op engine.Operation) error {
	switch op.Kind {
	case operations.ServerAttachVolume:
		var asked steps.VolumeInput
		if err := json.Unmarshal(op.Input, &asked); err != nil {
			return err
		}
		return ForgetVolume(ctx, tx, op.ResourceID, asked.VolumeID)
	case operations.ServerAttachInterface:
		var asked steps.InterfaceInput
		if err := json.Unmarshal(op.Input, &asked); err != nil {
			return err
		}
		return ForgetPort(ctx, tx, op.ResourceID, asked.Position)
	}
	return nil
}

package records

// What the steps of an operation make true of the resource that it is on, by
// the type of that.

import (
	"context"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/orchestration"
)

// resource is what records does of one type of resource, each in the
// transaction of the operation's own write.
type resource struct {
	// brief tells a run what it has to know.
	brief func(ctx context.Context, tx store.Tx, out *steps.BeginOut) error
	// show lets users see the step that begins.
	show func(ctx context.Context, tx store.Tx, kind operations.Kind, id, step, message string) error
	// publish makes an outcome true.
	publish func(ctx context.Context, tx store.Tx, id string, in steps.FinishIn) error
}

var resources = map[operations.ResourceType]resource{
	operations.Server:   {briefServer, showServer, publishServer},
	operations.Stack:    {briefStack, showStack, publishStack},
	operations.Snapshot: {briefSnapshot, showNothing, publishSnapshot},
	operations.Node:     {briefNode, showNothing, publishNode},
}

func briefServer(ctx context.Context, tx store.Tx, out *steps.BeginOut) (err error) {
	out.Server, err = compute.Brief(ctx, tx, out.ResourceID)
	return err
}

func briefStack(ctx context.Context, tx store.Tx, out *steps.BeginOut) (err error) {
	out.Stack, err = orchestration.Brief(ctx, tx, out.ResourceID)
	return err
}

// taskStates is what a server is shown to go through while a step runs. An
// operation whose task state never changes has no row: its request has set it.
var taskStates = map[operations.Kind]map[string]servers.TaskState{
	operations.ServerBuild: {
		operations.StepSchedule: servers.TaskScheduling,
		operations.StepNetwork:  servers.TaskNetworking,
		operations.StepVolumes:  servers.TaskBlockDeviceMapping,
		operations.StepGuest:    servers.TaskSpawning,
	},
	operations.ServerRebuild: {
		operations.StepImage: servers.TaskRebuilding,
		operations.StepGuest: servers.TaskRebuildSpawning,
	},
	operations.ServerCreateImage: {
		operations.StepSnapshot: servers.TaskImageSnapshot,
		operations.StepUpload:   servers.TaskImagePendingUpload,
	},
	operations.ServerResize:  moveTasks,
	operations.ServerMigrate: moveTasks,
	operations.ServerShelve: {
		operations.StepUpload:  servers.TaskShelvingImagePendingUpload,
		operations.StepOffload: servers.TaskShelvingOffloading,
	},
	operations.ServerEvacuate: {
		operations.StepSchedule: servers.TaskRebuilding,
		operations.StepVolumes:  servers.TaskRebuildBlockDeviceMapping,
		operations.StepGuest:    servers.TaskRebuildSpawning,
	},
	operations.ServerUnshelve: {
		operations.StepGuest: servers.TaskSpawning,
	},
	operations.ServerCreateBackup: {
		operations.StepUpload: servers.TaskImagePendingUpload,
	},
}

var moveTasks = map[string]servers.TaskState{
	operations.StepSchedule: servers.TaskResizePrep,
	operations.StepStop:     servers.TaskResizeMigrating,
	operations.StepNetwork:  servers.TaskResizeMigrating,
	operations.StepVolumes:  servers.TaskResizeMigrated,
	operations.StepGuest:    servers.TaskResizeFinish,
}

// moveStatuses is how far the server's migration has come by a step.
var moveStatuses = map[operations.Kind]map[string]servers.MigrationStatus{
	operations.ServerResize:  moveStatus,
	operations.ServerMigrate: moveStatus,
}

var moveStatus = map[string]servers.MigrationStatus{
	operations.StepStop:  servers.MigrationMigrating,
	operations.StepGuest: servers.MigrationPostMigrating,
}

func showServer(ctx context.Context, tx store.Tx, kind operations.Kind, id, step, _ string) error {
	if task, ok := taskStates[kind][step]; ok {
		if err := compute.AdvanceTask(ctx, tx, id, task); err != nil {
			return err
		}
	}
	if status, ok := moveStatuses[kind][step]; ok {
		return compute.SetMigrationStatus(ctx, tx, id, status)
	}
	return nil
}

// showStack shows a rollback, with the reason that the step is begun with.
func showStack(ctx context.Context, tx store.Tx, _ operations.Kind, id, step, message string) error {
	if step == operations.StepRollback {
		return orchestration.ShowRollback(ctx, tx, id, message)
	}
	return nil
}

// publishServer ends the server's task; without an outcome nothing else changes.
func publishServer(ctx context.Context, tx store.Tx, id string, in steps.FinishIn) error {
	var o steps.ServerOutcome
	if in.Server != nil {
		o = *in.Server
	}
	return compute.PublishServer(ctx, tx, id, o, in.Fault)
}

func publishStack(ctx context.Context, tx store.Tx, id string, in steps.FinishIn) error {
	if in.Stack == nil {
		return faults.New(faults.Internal, "NoOutcome", "nothing was said of stack %s", id)
	}
	o := *in.Stack
	if in.Fault != nil && in.Fault.Code == steps.StackTimeout {
		o.Interrupted = "Timed out"
	}
	return orchestration.Publish(ctx, tx, id, o)
}

// briefSnapshot tells of the stack that the snapshot was taken of.
func briefSnapshot(ctx context.Context, tx store.Tx, out *steps.BeginOut) error {
	stack, err := orchestration.StackOfSnapshot(ctx, tx, out.ResourceID)
	if err != nil {
		return err
	}
	out.Stack, err = orchestration.Brief(ctx, tx, stack)
	return err
}

func publishSnapshot(ctx context.Context, tx store.Tx, id string, in steps.FinishIn) error {
	return orchestration.PublishSnapshot(ctx, tx, id, in.Result, in.Fault)
}

func briefNode(ctx context.Context, tx store.Tx, out *steps.BeginOut) (err error) {
	out.Node, err = baremetal.Brief(ctx, tx, out.ResourceID)
	return err
}

// showNothing: the request, or the step itself, has said what is being done.
func showNothing(context.Context, store.Tx, operations.Kind, string, string, string) error {
	return nil
}

func publishNode(ctx context.Context, tx store.Tx, id string, in steps.FinishIn) error {
	var o steps.NodeOutcome
	if in.Node != nil {
		o = *in.Node
	}
	return baremetal.Publish(ctx, tx, id, o, in.Fault)
}

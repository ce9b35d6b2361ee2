// Package server has the workflows of operations on servers, one file each.
// They touch nothing but steps; the undo of every effect is in undo.go, what a
// finished operation makes true of the row in outcome.go.
//
// None of them continues as new. An operation on a server is a handful of
// steps: a build that tries three hosts leaves about 70 events, one whose host
// is alive and silent for the whole hour of its deadline about 1,300, and the
// engine asks for a new history at 4,096. Only a database that is down for
// long adds more, some 6 events each half minute; the engine ends a workflow at
// 51,200, after three days of that, and then the sweeper recovers the operation.
package server

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Workflows are the kinds that this package carries out. Each is registered
// with a control worker under the name of its kind.
var Workflows = map[operations.Kind]func(workflow.Context, steps.Ref) error{
	operations.ServerBuild:       Build,
	operations.ServerDelete:      Delete,
	operations.ServerSoftDelete:  SoftDelete,
	operations.ServerRestore:     Power,
	operations.ServerStart:       Power,
	operations.ServerStop:        Power,
	operations.ServerReboot:      Power,
	operations.ServerHardReboot:  Power,
	operations.ServerPause:       Power,
	operations.ServerUnpause:     Power,
	operations.ServerSuspend:     Power,
	operations.ServerResume:      Power,
	operations.ServerRescue:      Rescue,
	operations.ServerUnrescue:    Power,
	operations.ServerRebuild:     Rebuild,
	operations.ServerCrashDump:   CrashDump,
	operations.ServerLiveMigrate: LiveMigrate,
	operations.ServerResetState:  ResetState,
	operations.ServerRecover:     Recover,

	operations.ServerAttachVolume:    AttachVolume,
	operations.ServerDetachVolume:    DetachVolume,
	operations.ServerAttachInterface: AttachInterface,
	operations.ServerDetachInterface: DetachInterface,
	operations.ServerSwapVolume:      SwapVolume,
	operations.ServerRecoverShared:   Recover,
	operations.ServerCreateImage:     CreateImage,
	operations.ServerCreateBackup:    CreateImage,
	operations.ServerShelve:          Shelve,
	operations.ServerShelveOffload:   Shelve,
	operations.ServerUnshelve:        Unshelve,
	operations.ServerEvacuate:        Evacuate,

	operations.ServerResize:        Resize,
	operations.ServerMigrate:       Resize,
	operations.ServerConfirmResize: ConfirmResize,
	operations.ServerRevertResize:  RevertResize,
}

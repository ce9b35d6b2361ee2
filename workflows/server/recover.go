package server

// Recover ends an operation whose workflow died by other hands than the
// engine's: terminated or reset by an operator, or failed by a fault of ours.
// The dead one's open ledger lines are its own now.
//
//	dead before its point of no return ──undo──► what was true before, or ERROR
//	dead past it, or forward from its first step ──guest──► finished
//
// Point of no return: it is forward from its first step, and nothing cuts it
// short, since it holds the only list of what must be undone.
//
//	dead kind         what is true after
//	build             as after a failed one: nothing outside, or a debt; ERROR
//	delete            finished: DELETED
//	live-migrate      before the step move undone: it runs where it ran; from
//	                  there on the row names the host on which the guest was
//	                  found, and nothing is left on the other
//	soft-delete,
//	power operations  before the step guest nothing had been done: as it was;
//	                  from there on finished: the guest is driven to the state
//	                  that was asked for, or the row says how it was found
//	rescue            as it was, or a debt
//	rebuild           before the step guest as it was; from there on the guest is
//	                  made anew
//	resize, migrate   as it was, or a debt; the migration is in error
//	confirm-resize    finished: the old host has nothing of it
//	revert-resize     before the step leave as it was, VERIFY_RESIZE; from there on
//	                  finished
//	crash-dump        before the step guest as it was; from there on the guest is
//	                  interrupted, perhaps a second time
//	image, backup     undone: no image; a backup lost while it deleted older ones
//	                  goes on with that
//	shelve            before the step shelve as it was; from there on finished
//	shelve-offload    before the step shelve as it was; from there on finished
//	unshelve          before the step keep on the shelf as it was; from there on
//	                  finished: the server runs, its image goes
//	evacuate          before the step leave on its old host as it was, in ERROR;
//	                  from there on finished
//	reset-state       before the step state as it was; from there on finished
//	attach            nothing outside, or a debt, and no row of the device
//	detach            from the step guest on finished: the device is gone; or
//	                  the guest keeps it, and it is attached as before
//	swap-volume       before the step settle as it was, or a debt; from there on
//	                  finished: the server has the new volume
//
// An operation that shared the server is recovered by one that does so too, and
// says nothing of the server's row.
//
// The user reads what happened as the server's fault unless the work was finished.

import (
	"cmp"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// recovery is what becomes of a lost operation of one kind.
type recovery struct {
	// finish does the rest of the work of one past its point of no return, and
	// says what is true afterwards; nil for a kind that has none.
	finish func(*saga.Saga) (*steps.ServerOutcome, error)
	// undone is what is true once one before that point has been undone, or one
	// past it could not be finished and said nothing.
	undone func() *steps.ServerOutcome
}

var recoveries = map[operations.Kind]recovery{
	operations.ServerBuild:       {undone: failed},
	operations.ServerDelete:      {finish: remove, undone: broken},
	operations.ServerSoftDelete:  {finish: setAside, undone: unchanged},
	operations.ServerRestore:     {finish: powers[operations.ServerRestore].again, undone: unchanged},
	operations.ServerStart:       {finish: powers[operations.ServerStart].again, undone: unchanged},
	operations.ServerStop:        {finish: powers[operations.ServerStop].again, undone: unchanged},
	operations.ServerReboot:      {finish: powers[operations.ServerReboot].again, undone: unchanged},
	operations.ServerHardReboot:  {finish: powers[operations.ServerHardReboot].again, undone: unchanged},
	operations.ServerPause:       {finish: powers[operations.ServerPause].again, undone: unchanged},
	operations.ServerUnpause:     {finish: powers[operations.ServerUnpause].again, undone: unchanged},
	operations.ServerSuspend:     {finish: powers[operations.ServerSuspend].again, undone: unchanged},
	operations.ServerResume:      {finish: powers[operations.ServerResume].again, undone: unchanged},
	operations.ServerRescue:      {undone: unchanged},
	operations.ServerUnrescue:    {finish: powers[operations.ServerUnrescue].again, undone: unchanged},
	operations.ServerRebuild:     {finish: renew, undone: unchanged},
	operations.ServerCrashDump:   {finish: interrupt, undone: unchanged},
	operations.ServerResetState:  {finish: resetState, undone: unchanged},
	operations.ServerLiveMigrate: {finish: finishMove, undone: notMoved},

	operations.ServerAttachVolume:    {undone: nothing},
	operations.ServerDetachVolume:    {finish: detachVolume, undone: nothing},
	operations.ServerAttachInterface: {undone: nothing},
	operations.ServerDetachInterface: {finish: detachInterface, undone: nothing},
	operations.ServerSwapVolume:      {finish: settleSwap, undone: nothing},
	operations.ServerCreateImage:     {undone: unchanged},
	operations.ServerCreateBackup:    {finish: rotateAgain, undone: unchanged},
	operations.ServerShelve:          {finish: shelveAgain, undone: unchanged},
	operations.ServerShelveOffload:   {finish: shelveAgain, undone: unchanged},
	operations.ServerUnshelve:        {finish: keep, undone: unchanged},
	operations.ServerEvacuate:        {finish: leaveBehind, undone: notEvacuated},

	operations.ServerResize:        {undone: notMoved},
	operations.ServerMigrate:       {undone: notMoved},
	operations.ServerConfirmResize: {finish: confirmResize, undone: unconfirmed},
	operations.ServerRevertResize:  {finish: leave, undone: unconfirmed},
}

// Recover is the workflow of operations.ServerRecover and of
// operations.ServerRecoverShared.
func Recover(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	outcome, err := recoverDead(s)
	return s.Close(outcome, err)
}

func recoverDead(s *saga.Saga) (saga.Outcome, error) {
	dead := s.Begun.Recovers
	if dead == nil {
		return saga.Outcome{OnFailure: broken()}, faults.New(faults.Internal, "NothingToRecover", "the operation names no other to recover")
	}
	spec, _ := operations.Lookup(dead.Kind)
	row, ok := recoveries[dead.Kind]
	if !ok {
		row.undone = broken
	}
	if row.finish != nil && spec.Beyond(dead.Step) {
		done, err := row.finish(s)
		return saga.Outcome{Server: done, OnFailure: cmp.Or(done, row.undone())}, err
	}
	err := s.UndoAll(fmt.Sprintf("%s was lost at step %q", dead.OperationID, dead.Step))
	now := startOwed(s, row.undone())
	return saga.Outcome{Server: now, OnFailure: now, Fault: saga.Account(dead)}, err
}

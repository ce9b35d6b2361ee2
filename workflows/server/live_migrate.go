package server

// LiveMigrate moves a guest to another host while it runs.
//
//	ACTIVE, PAUSED ──schedule──► room there ──queue──► its turn ──prepare──► disks there ──move──► it runs there
//	     ▲                                                                                  │          │ settle
//	     └─────── undone, last first ◄── cancelled, aborted, given up: it never left ◄──────┘          ▼
//	                                                                          the old host is cleared: ACTIVE, PAUSED
//
// Point of no return: move. From its begin on hypervisors decide where the guest
// runs. A cancel still reaches them, and aborts what is under way; but what the
// story does next follows from where the guest is found, never from a cancel.
//
//	step      before it                   after it                      its undo
//	schedule  the server on its host      room on another host is the   the new room is given back,
//	          has its room there          server's, what it had is the  the old one is the server's
//	                                      migration's                   again
//	queue     the same                    the host has no more moves    none: it only waits
//	                                      at once than it does
//	prepare   the same                    the other host can run the    what was made there is
//	                                      guest: folder, disks,         removed, or owed
//	                                      bridges are there
//	move      the guest runs on the old   it runs on the new one, and   none: it has stayed, or it
//	          host                        on that only                  has left
//	settle    it runs on the new host     its ports are bound there,    none: what can't be removed
//	                                      nothing is left on the old    is a debt of the old host
//	finish    the same                    the row names the new host
//
//	cancelled before move, or aborted in it: it runs where it ran, as before; the
//	migration is cancelled
//	a run that was lost in move asks both hosts where the guest is, and goes on
//	from there; while neither answers it waits for them

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Statuses of a migration (servers.MigrationStatus).
const (
	movePreparing     = "preparing"
	moveRunning       = "running"
	movePostMigrating = "post-migrating"
	moveCompleted     = "completed"
	moveCancelled     = "cancelled"
	moveFailed        = "failed"
	moveError         = "error"
)

// LiveMigrate is the workflow of operations.ServerLiveMigrate.
func LiveMigrate(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	m := move{Saga: s, mark: s.Fence.OperationID}
	moved, err := m.story()
	otherwise := moved
	if moved == nil {
		otherwise = m.stayed(err)
	}
	return s.Close(saga.Outcome{Server: moved, OnFailure: otherwise}, err)
}

// move is a live migration that is being carried out, or finished for a lost one.
type move struct {
	*saga.Saga
	mark         string // names it on the source
	source, dest string
	begun        bool // hypervisors have been at it
}

func (m *move) story() (*steps.ServerOutcome, error) {
	row := m.Begun.Server.Migration
	if row == nil {
		return nil, errNoMigration
	}
	m.source, m.dest = row.Source, row.Dest
	spec, _ := operations.Lookup(m.Begun.Kind)
	switch {
	case m.Begun.Step == operations.StepUndo:
		return nil, errInterrupted // an earlier run was lost while it undid
	case m.Begun.Step == operations.StepMove && m.undoing():
		m.begun = true
		return nil, m.back(errInterrupted)
	case m.Begun.Step == operations.StepMove && !m.Cancelled():
		return m.resume()
	case spec.Beyond(m.Begun.Step):
		return m.follow()
	}
	for _, act := range []func() error{m.schedule, m.queue} {
		if err := act(); err != nil {
			return nil, err
		}
	}
	to, err := m.prepare()
	if err != nil {
		return nil, err
	}
	return m.carry(to)
}

var errNoMigration = faults.New(faults.Internal, "MigrationNotFound", "the server has no migration under way")

// undoing says that an earlier run had found that the guest has stayed, and was
// lost while it took back what the other host had for it.
func (m *move) undoing() bool {
	for _, e := range m.Ledger() {
		if e.State == operations.Undone || e.State == operations.Owed {
			return true
		}
	}
	return false
}

// schedule takes room on another host and leaves what the server had to its migration.
func (m *move) schedule() error {
	asked, err := saga.Input[steps.LiveMigration](m.Saga)
	if err != nil {
		return err
	}
	if err := m.Step(operations.StepSchedule, saga.Move{}); err != nil {
		return err
	}
	claim, err := steps.Placement.ClaimMove(m.Context(), steps.MoveClaimIn{Fence: m.Fence, Attempt: m.Attempt(), Host: asked.Host, Force: asked.Force})
	if err != nil {
		return err
	}
	m.Adopt(claim.Effects)
	m.dest = claim.HostID
	return nil
}

// queuePause is between two looks whether it is the migration's turn.
const queuePause = 5 * time.Second

func (m *move) queue() error {
	if err := m.Step(operations.StepQueue, saga.Move{Host: m.source}); err != nil {
		return err
	}
	for {
		out, err := steps.Records.Moving(m.Context(), steps.MovingIn{Fence: m.Fence, Status: movePreparing})
		if err != nil || !out.Queued {
			return err
		}
		if err := saga.Wait(m.Context(), queuePause, "other guests leave the host"); err != nil {
			return err
		}
	}
}

// prepare has the other host make what the guest needs there.
func (m *move) prepare() (to steps.Landing, err error) {
	asked, err := saga.Input[steps.LiveMigration](m.Saga)
	if err != nil {
		return to, err
	}
	err = m.Step(operations.StepPrepare, saga.Move{
		Host:   m.dest,
		Intend: []operations.Effect{{Kind: operations.EffectGuest, Ref: m.Begun.ResourceID, Host: m.dest}},
	})
	if err != nil {
		return to, err
	}
	return m.land(asked.Block)
}

func (m *move) land(block *bool) (to steps.Landing, err error) {
	spec, err := steps.Records.ServerSpec(m.Context(), steps.ServerSpecIn{Fence: m.Fence})
	if err != nil {
		return to, err
	}
	var from steps.Departure
	err = saga.OnHost(m.soon(), m.source, func(ctx workflow.Context) (err error) {
		from, err = steps.Libvirt.Depart(ctx, m.source, steps.DepartIn{Token: m.Token()})
		return err
	})
	if err != nil {
		return to, err
	}
	err = saga.OnHost(m.soon(), m.dest, func(ctx workflow.Context) (err error) {
		to, err = steps.Libvirt.Land(ctx, m.dest, steps.LandIn{Token: m.Token(), Spec: spec, From: from, Block: block})
		return err
	})
	return to, err
}

// preparePatience is for a host to take a step before the guest moves: an image
// may have to be fetched.
const preparePatience = 30 * time.Minute

// soon is Context for such a step.
func (m *move) soon() workflow.Context {
	return steps.Until(m.Context(), workflow.Now(m.Context()).Add(preparePatience))
}

// carry has the hosts move the guest. Whatever comes back, the guest is where
// follow finds it.
func (m *move) carry(to steps.Landing) (*steps.ServerOutcome, error) {
	if err := m.Step(operations.StepMove, saga.Move{Host: m.source}); err != nil {
		return nil, err
	}
	m.begun = true
	if _, err := steps.Records.Moving(m.Context(), steps.MovingIn{Fence: m.Fence, Status: moveRunning}); err != nil {
		return nil, err
	}
	err := m.watched(m.Interruptible(), steps.MigrateIn{Token: m.Token(), To: to, Mark: m.mark})
	switch {
	case err == nil:
		return m.settle()
	case hasStayed(err):
		return nil, m.back(err)
	case saga.Reason(err).Kind == faults.Superseded:
		return nil, err
	}
	return m.follow()
}

// back ends the story of a guest that has stayed where it was.
func (m *move) back(why error) error {
	m.Return()
	if m.Cancelled() {
		return saga.ErrCancelled
	}
	return why
}

const (
	// forcePause is between two requests to force a migration to complete: one that
	// comes before the hypervisor has begun is lost on it.
	forcePause = 5 * time.Second
	forceTries = 3
)

// watched runs the step that moves the guest; a knock, before it or meanwhile, may
// bring that it is to be forced to complete.
func (m *move) watched(ctx workflow.Context, in steps.MigrateIn) error {
	over, end := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		end.SetError(m.patiently(ctx, in))
	})
	knocked, left := true, 0
	for !over.IsReady() {
		if knocked && left == 0 {
			// What can't be read is no reason to leave the step alone.
			if row, err := steps.Records.Moving(m.Context(), steps.MovingIn{Fence: m.Fence}); err == nil && row.Forced {
				left = forceTries
			}
		}
		if left > 0 {
			left--
			if err := steps.Libvirt.ForceComplete(m.Context(), m.source, steps.ForceCompleteIn{Token: m.Token()}); err != nil {
				workflow.GetLogger(ctx).Warn("the migration can't be forced to complete", "error", err)
			}
		}
		knocked = m.turn(ctx, over, left > 0)
	}
	return over.Get(ctx, nil)
}

// turn waits for the end of the step, for a knock, or for the time to force it once
// more, and says whether it was a knock.
func (m *move) turn(ctx workflow.Context, over workflow.Future, again bool) (knocked bool) {
	timerCtx, stop := workflow.WithCancel(ctx)
	defer stop()
	s := workflow.NewSelector(ctx).
		AddFuture(over, func(workflow.Future) {}).
		AddReceive(workflow.GetSignalChannel(ctx, steps.Knock), func(c workflow.ReceiveChannel, _ bool) {
			c.Receive(ctx, nil)
			knocked = true
		})
	if again {
		s.AddFuture(workflow.NewTimer(timerCtx, forcePause), func(workflow.Future) {})
	}
	s.Select(ctx)
	return knocked
}

// patiently repeats the step for as long as the host is alive and merely slow to
// take it, up to a time that says nothing of how long a guest is on its way.
func (m *move) patiently(ctx workflow.Context, in steps.MigrateIn) error {
	until := workflow.Now(ctx).Add(saga.Patience)
	for {
		err := steps.Libvirt.Migrate(ctx, m.source, in)
		if !steps.IsHostSilent(err) || workflow.Now(ctx).After(until) {
			return err
		}
		if h, err := steps.Records.Host(ctx, steps.HostIn{HostID: m.source}); err != nil {
			return err
		} else if !h.Up {
			return saga.ErrHostDown
		}
		if err := saga.Wait(ctx, queuePause, "the host is busy"); err != nil {
			return err
		}
	}
}

// hasStayed says that the host has said that the guest did not leave it.
func hasStayed(err error) bool {
	f := steps.Decode(err)
	return f != nil && f.Kind == faults.Conflict
}

// isUnsettled says that only the new host can know whether the guest has left.
func isUnsettled(err error) bool {
	f := steps.Decode(err)
	return f != nil && f.Code == steps.MigrationUnsettled
}

// followPause is between two looks for a guest while its hosts don't answer, at
// first and at last: one does when somebody has mended it.
const (
	followPause    = 15 * time.Second
	maxFollowPause = 30 * time.Minute
)

// resume goes on after a run that was lost in the step move: the guest has left,
// or is moved anew, or what is under way is taken over.
func (m *move) resume() (*steps.ServerOutcome, error) {
	landed, err := m.look()
	if err == nil && landed.Here {
		return m.settle()
	}
	to, err := m.land(nil)
	if err != nil {
		return m.follow() // the guest may have left in this moment
	}
	return m.carry(to)
}

// look asks the new host for the guest.
func (m *move) look() (landed steps.LandedOut, err error) {
	err = saga.OnHost(m.Grace(saga.Patience), m.dest, func(ctx workflow.Context) (err error) {
		landed, err = steps.Libvirt.Landed(ctx, m.dest, steps.LandedIn{Token: m.Token()})
		return err
	})
	return landed, err
}

// follow finds out where the guest is, and goes on from there: the new host has
// it, or it is still on its way, or the old one says what became of it.
func (m *move) follow() (*steps.ServerOutcome, error) {
	m.begun = true
	unsettled := false
	for pause := followPause; ; pause = min(2*pause, maxFollowPause) {
		landed, there := m.look()
		if there == nil && landed.Here {
			return m.settle()
		}
		stays := unsettled && there == nil && !landed.Coming // only the new host could know, and has nothing of it
		watching, abort := m.Interruptible(), m.Cancelled() || m.late()
		if abort {
			watching = m.Grace(saga.Patience) // the host is told to abort instead
		}
		here := m.watched(watching, steps.MigrateIn{Token: m.Token(), Mark: m.mark, Only: true, Abort: abort, Stays: stays})
		switch {
		case here == nil:
			return m.settle()
		case hasStayed(here), there == nil && !landed.Coming && errors.Is(here, saga.ErrHostDown):
			return nil, m.back(here)
		case saga.Reason(here).Kind == faults.Superseded:
			return nil, here
		}
		unsettled = isUnsettled(here)
		if err := saga.Wait(m.Grace(saga.Patience), pause, "the hosts that the guest is on its way between"); err != nil {
			return nil, err
		}
	}
}

// late says that the operation's time is over.
func (m *move) late() bool {
	return !m.Begun.Deadline.IsZero() && workflow.Now(m.Context()).After(m.Begun.Deadline)
}

// settle makes the new host the guest's own: what was taken there passes to the
// server's row, its ports follow, and the old host is cleared.
func (m *move) settle() (*steps.ServerOutcome, error) {
	moved := &steps.ServerOutcome{Host: &m.dest, Migration: &steps.MigrationOutcome{Status: moveCompleted}}
	pass := saga.Move{Host: m.dest}
	for _, e := range m.Ledger() {
		if e.Open() && (e.Host == m.dest || e.Kind == operations.EffectHandover) {
			pass.Settle = append(pass.Settle, steps.Settlement{Seq: e.Seq, State: operations.Passed})
		}
	}
	if err := m.Step(operations.StepSettle, pass); err != nil {
		return moved, err
	}
	if _, err := steps.Records.Moving(m.Grace(saga.Patience), steps.MovingIn{Fence: m.Fence, Status: movePostMigrating}); err != nil {
		return moved, err
	}
	landed, err := m.look()
	if err == nil && landed.Here {
		moved.PowerState = &landed.PowerState
		if landed.Elapsed > 0 {
			m.Note(fmt.Sprintf("the guest stood still for %d ms of the %d ms that its move took", landed.Downtime, landed.Elapsed))
		}
	}
	if err != nil {
		workflow.GetLogger(m.Context()).Warn("the new host does not show the guest", "error", err)
	}
	old := []operations.Effect{
		{Kind: operations.EffectClaim, Ref: m.Begun.Server.Migration.UUID, Host: m.source},
		{Kind: operations.EffectGuest, Ref: m.Begun.ResourceID, Host: m.source},
	}
	if m.Begun.Server.Volumes > 0 {
		old = append(old, operations.Effect{Kind: operations.EffectOldConnections, Ref: m.Begun.ResourceID})
	}
	if m.Begun.Server.Ports > 0 {
		old = append(old, operations.Effect{Kind: operations.EffectOldBindings, Ref: m.Begun.ResourceID})
	}
	return moved, m.TakeAway(operations.StepSettle, m.dest, old)
}

// stayed is what is true of a server that is where it was.
func (m *move) stayed(why error) *steps.ServerOutcome {
	status := moveError
	switch {
	case errors.Is(why, saga.ErrCancelled) || temporal.IsCanceledError(why):
		status = moveCancelled
	case m.begun:
		status = moveFailed
	}
	return &steps.ServerOutcome{Migration: &steps.MigrationOutcome{Status: status}}
}

// finishMove ends a live migration that was lost at or beyond its point of no return.
func finishMove(s *saga.Saga) (*steps.ServerOutcome, error) {
	m := move{Saga: s, mark: s.Begun.Recovers.OperationID}
	row := s.Begun.Server.Migration
	if row == nil {
		return nil, errNoMigration
	}
	m.source, m.dest = row.Source, row.Dest
	moved, err := m.follow()
	if moved == nil {
		moved = m.stayed(err)
	}
	return moved, err
}

// notMoved is what is true of a server whose move was undone.
func notMoved() *steps.ServerOutcome {
	return &steps.ServerOutcome{Migration: &steps.MigrationOutcome{Status: moveError}}
}

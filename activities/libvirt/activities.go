package libvirt

// The steps of family "libvirt".

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/semaphore"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// DefaultBuilds is how many builds a host does at once (contracts:
// quotas-and-limits.json, max_concurrent_builds).
const DefaultBuilds = 10

// Options of one host's activities.
type Options struct {
	Driver Driver
	// StateDir is the host's folder, locked by the caller.
	StateDir string
	// Builds is how many run at once; 0 is DefaultBuilds.
	Builds int64
	// Puller copies disks from other hosts; without one there is no Fetch.
	Puller *hostlink.Puller
	// Uploads brings copies of disks to Glance. Snapshots is how many are made or
	// brought at once; 0 is DefaultSnapshots.
	Uploads   Uploads
	Snapshots int64
	// Log gets what no error tells: debts that were void, for example.
	Log *slog.Logger
	// Heartbeat sends one; nil is Temporal's.
	Heartbeat func(context.Context)
}

// Activities implements steps.LibvirtActivities for one host.
type Activities struct {
	driver    Driver
	uploads   Uploads
	fences    *fences
	specs     specs
	builds    *semaphore.Weighted
	snapshots *semaphore.Weighted
	puller    *hostlink.Puller
	moves     *moves
	log       *slog.Logger

	heartbeat func(context.Context)
}

var _ steps.LibvirtActivities = (*Activities)(nil)

// New makes the activities of one host.
func New(o Options) (*Activities, error) {
	fences, err := openFences(o.StateDir)
	if err != nil {
		return nil, err
	}
	specs, err := openSpecs(o.StateDir)
	if err != nil {
		return nil, err
	}
	if o.Builds == 0 {
		o.Builds = DefaultBuilds
	}
	if o.Snapshots == 0 {
		o.Snapshots = DefaultSnapshots
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Heartbeat == nil {
		o.Heartbeat = func(ctx context.Context) { activity.RecordHeartbeat(ctx) }
	}
	return &Activities{driver: o.Driver, uploads: o.Uploads, fences: fences, specs: specs,
		builds: semaphore.NewWeighted(o.Builds), snapshots: semaphore.NewWeighted(o.Snapshots), puller: o.Puller, moves: newMoves(), log: o.Log, heartbeat: o.Heartbeat}, nil
}

// Build is idempotent by the server's id: the driver finishes what is
// half-made, and a guest that runs already is the answer.
func (a *Activities) Build(ctx context.Context, in steps.BuildIn) (steps.BuildOut, error) {
	data, err := weigh(in.Token, in.Spec)
	if err != nil {
		return steps.BuildOut{}, err
	}
	guest, err := a.slotted(ctx, a.builds, in.Token, actBuild, func(ctx context.Context, confirm Confirm) (Guest, error) {
		if err := a.specs.keep(data, in.Spec.ServerID); err != nil {
			return Guest{}, err
		}
		if err := a.inherit(ctx, in); err != nil {
			return Guest{}, err
		}
		return a.driver.Build(ctx, in.Spec, confirm)
	})
	return steps.BuildOut{PowerState: guest.PowerState}, err
}

// errNotShared has the words of nova.exception.InvalidSharedStorage.
var errNotShared = faults.New(faults.Invalid, "InvalidSharedStorage", "Invalid state of instance files on shared storage")

// inherit gives the guest another host's disks, if it is to have them.
func (a *Activities) inherit(ctx context.Context, in steps.BuildIn) error {
	if in.HeirOf == "" {
		return nil
	}
	shared, err := a.driver.Inherit(ctx, in.Spec, in.HeirOf)
	if err == nil && in.Shared != nil && *in.Shared != shared {
		err = errNotShared
	}
	return err
}

// Destroy is idempotent by the server's id: what is gone already is success.
func (a *Activities) Destroy(ctx context.Context, in steps.DestroyIn) (struct{}, error) {
	_, err := a.guest(ctx, in.Token, actDestroy, func(ctx context.Context, confirm Confirm) (Guest, error) {
		return Guest{}, a.destroy(ctx, in.Token.ServerID, confirm)
	})
	return struct{}{}, err
}

// destroy leaves nothing of a guest.
func (a *Activities) destroy(ctx context.Context, serverID string, confirm Confirm) error {
	if err := a.driver.Destroy(ctx, serverID, confirm); err != nil {
		return err
	}
	return a.specs.forget(serverID)
}

// Power is idempotent by the state that each action drives to; a reboot, which
// has none, by the operation that it was done for, kept with the guest.
func (a *Activities) Power(ctx context.Context, in steps.PowerIn) (steps.PowerOut, error) {
	if in.Action == steps.PowerObserve {
		return a.observe(ctx, in.Token)
	}
	action := in.Action
	if in.Discarded {
		action = steps.PowerFreeze
	}
	guest, err := a.guest(ctx, in.Token, actPower, func(ctx context.Context, confirm Confirm) (Guest, error) {
		return a.driver.Power(ctx, in.Token.ServerID, action, mark(in.Token), confirm)
	})
	return steps.PowerOut{PowerState: guest.shown()}, err
}

// observe reads: it neither waits for a turn nor raises the fence.
func (a *Activities) observe(ctx context.Context, t steps.Token) (steps.PowerOut, error) {
	guest, err := a.driver.Observe(ctx, t.ServerID)
	if faults.Is(err, faults.NotFound) {
		return steps.PowerOut{Missing: true}, nil
	}
	return steps.PowerOut{PowerState: guest.shown()}, err
}

// mark names what a reboot is done for: its operation, and the attempt in it.
func mark(t steps.Token) string { return fmt.Sprintf("%s#%d", t.OperationID, t.Attempt) }

// slotted is guest for f that is one of so many on the host at once.
func (a *Activities) slotted(ctx context.Context, slots *semaphore.Weighted, t steps.Token, why act, f func(context.Context, Confirm) (Guest, error)) (Guest, error) {
	return a.guest(ctx, t, why, func(ctx context.Context, confirm Confirm) (Guest, error) {
		if err := slots.Acquire(ctx, 1); err != nil {
			return Guest{}, err
		}
		defer slots.Release(1)
		return f(ctx, confirm)
	})
}

// guest runs f as the server's only step, within the fence and with heartbeats.
func (a *Activities) guest(ctx context.Context, t steps.Token, why act, f func(context.Context, Confirm) (Guest, error)) (Guest, error) {
	var guest Guest
	err := a.beat(ctx, func(ctx context.Context) error {
		return a.fences.Within(ctx, t, why, func(ctx context.Context, confirm Confirm) (err error) {
			guest, err = f(ctx, confirm)
			return err
		})
	})
	return guest, err
}

// Debt is an undo that this host owes: of the guest of a server, of what was done
// to it for a rescue or a move, of a device of it, or of a copy of its disk, made under a generation and an
// attempt of an operation.
type Debt struct {
	// Kind is the effect's; empty is a guest.
	Kind        operations.EffectKind
	OperationID string
	ServerID    string
	Generation  int64
	Attempt     int
	// Device is a volume's or a port's id, if the guest owes only that.
	Device string
}

func (d Debt) token() steps.Token {
	return steps.Token{ServerID: d.ServerID, OperationID: d.OperationID, Generation: d.Generation, Attempt: d.Attempt, Step: operations.StepUndo}
}

// Pay takes away what is owed: of a guest all, of a copy the copy, of a device
// the device; what was done to it for a while is taken back. It is idempotent as Destroy is, and nil also
// means that there is nothing to pay: a newer owner has the server here.
//
// An effect keeps the generation that it was made under, and a later owner may
// have tried to undo it before it came to be owed. So a fence above the debt is
// no proof that somebody wants the guest: only a build or a change of its power
// is. After a destroy the debt is paid under the token of that one.
func (a *Activities) Pay(ctx context.Context, d Debt) error {
	if d.Device != "" {
		return a.payDevice(ctx, d)
	}
	t := d.token()
	if d.Kind == operations.EffectSnapshotFile {
		return a.payCopy(ctx, t)
	}
	stood, gone, err := a.fences.condemned(d.ServerID)
	if err != nil {
		return err
	}
	if gone && t.Older(stood) {
		t = stood
	}
	why, pay := actDestroy, func(ctx context.Context, confirm Confirm) error { return a.destroy(ctx, d.ServerID, confirm) }
	if undo, ok := undone[d.Kind]; ok {
		if gone {
			return nil
		}
		why, pay = actPower, func(ctx context.Context, confirm Confirm) error { return a.putBack(ctx, t, undo, confirm) }
	}
	err = a.fences.Within(ctx, t, why, pay)
	return a.unlessVoid(ctx, d, err)
}

// unlessVoid takes for paid what a newer owner has made void.
func (a *Activities) unlessVoid(ctx context.Context, d Debt, err error) error {
	var f *faults.Error
	if errors.As(err, &f) && f.Kind == faults.Superseded {
		a.log.InfoContext(ctx, "a debt is void, its server has a newer owner here",
			"operation", d.OperationID, "server", d.ServerID, "reason", f.Message)
		return nil
	}
	return err
}

// SweepFences forgets what can't matter any more.
func (a *Activities) SweepFences(guests []Guest) error { return a.fences.Sweep(guests) }

package boot

// What the BMCs of a group owe: ramdisks that could not be taken away while a BMC, or
// every conductor, was down.

import (
	"context"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// Pay does what Clear could not, and is idempotent as that is: nothing is in the
// node's drive, no file is served for it and nothing is known of a ramdisk; and it is
// off, unless an operation has been on it since. One that has been started otherwise
// meanwhile, or is no more, owes nothing. Errors: Unavailable (an operation has the
// node, too), Invalid.
func (a *Activities) Pay(ctx context.Context, d engine.Debt) error {
	var file *baremetal.BootFile
	power, err := a.drives.PutBack(ctx, d.Ref, func() (due, off bool, err error) {
		if file, err = baremetal.BootFileOf(ctx, a.db.Pool, d.Ref); file == nil || err != nil {
			return false, false, err
		}
		off, err = baremetal.Untouched(ctx, a.db.Pool, d.Ref, d.OperationID)
		return true, off, err
	})
	if err != nil && !faults.Is(err, faults.NotFound) {
		return err
	}
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		if file != nil {
			if err := a.putBack(ctx, tx, file, power); err != nil {
				return err
			}
		}
		_, err := a.engine.Paid(ctx, tx, d.Host, d.OperationID, d.Seq)
		return err
	})
	if err != nil || file == nil {
		return err
	}
	return a.remove(file)
}

// putBack writes down what has been done, unless an operation has had the node
// started from another file by now.
func (a *Activities) putBack(ctx context.Context, tx store.Tx, file *baremetal.BootFile, power provision.Power) error {
	n, err := baremetal.Nodes.Lock(ctx, tx, file.NodeUUID, false)
	if err != nil {
		return err
	}
	if n.OperationID != nil {
		power = "" // that one says it
	}
	now, err := baremetal.BootFileOf(ctx, tx, n.UUID)
	if err != nil || now == nil || now.Name != file.Name {
		return err
	}
	return a.forget(ctx, tx, n.UUID, power)
}

package network

// What the conductors of a group owe: networks of ramdisks that could not be left while
// Neutron, or every conductor, was down.

import (
	"context"
	"encoding/json"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// Pay does what Switch could not, and is idempotent as that is: what was made for a ramdisk
// is gone, and a node whose instance runs is on the networks of that, any other on none. One
// that is no more has nothing left either. Errors: Unavailable (an operation has the node,
// too), Invalid, Conflict.
func (a *Activities) Pay(ctx context.Context, d engine.Debt) error {
	s := &session{Activities: a, node: &baremetal.Node{UUID: d.Ref, DriverInfo: json.RawMessage(`{}`)}}
	_, err := baremetal.Nodes.Find(ctx, a.db.Pool, d.Ref, false)
	switch {
	case err == nil:
		if s.Lease, err = baremetal.AwaitLease(ctx, a.db, d.Ref, lease, a.Poll); err != nil {
			return err
		}
		defer s.End(ctx)
		err = a.db.InTx(ctx, func(tx store.Tx) (err error) {
			s.node, err = free(ctx, tx, d.Ref)
			return err
		})
	case faults.Is(err, faults.NotFound):
		err = nil
	}
	s.write = func(ctx context.Context, change func(store.Tx) error) error {
		return a.db.InTx(ctx, func(tx store.Tx) error {
			if _, err := free(ctx, tx, d.Ref); err != nil {
				return err
			}
			return change(tx)
		})
	}
	if err == nil {
		err = s.reach(ctx)
	}
	if err == nil {
		err = s.settle(ctx)
	}
	if err != nil {
		return err
	}
	return a.db.InTx(ctx, func(tx store.Tx) error {
		_, err := a.engine.Paid(ctx, tx, d.Host, d.OperationID, d.Seq)
		return err
	})
}

// settle has the node be where it is without any ramdisk. One that is no more, or has come
// to an interface that does nothing, is nowhere.
func (s *session) settle(ctx context.Context) error {
	if byTenants[nodes.NetworkInterface(s.node)] == nil {
		_, err := s.leave(ctx, "")
		if err == nil {
			err = s.unbind(ctx)
		}
		return err
	}
	place := steps.NetworkNone
	if runsInstance[s.node.ProvisionState] && len(s.wires.Bearing()) > 0 {
		place = steps.NetworkTenant
	}
	_, err := s.to(ctx, place)
	return err
}

// runsInstance are the states in which a node that nobody works on is on the networks of its
// instance.
var runsInstance = map[provision.State]bool{provision.Active: true, provision.Rescue: true, provision.ServiceFailed: true}

// free reads the row of a node that no operation has, and has it stay so until the
// transaction ends. Errors: NotFound, Unavailable.
func free(ctx context.Context, tx store.Tx, id string) (*baremetal.Node, error) {
	n, err := baremetal.Nodes.Lock(ctx, tx, id, false)
	if err == nil && n.OperationID != nil {
		err = faults.New(faults.Unavailable, "NodeLocked", "an operation has the node")
	}
	return n, err
}

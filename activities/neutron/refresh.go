package neutron

// Refresh: the addresses of servers, asked for although nothing was said of them.

import (
	"context"

	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// refreshed is how many servers one call asks for.
const refreshed = 50

// Refresh is idempotent as reading is: rows become what Neutron says, and an
// answer never takes the place of one that was asked for later.
func (a *Activities) Refresh(ctx context.Context, _ struct{}) (out steps.MaintenanceOut, err error) {
	ids, err := compute.StaleAddresses(ctx, a.db.Pool, a.o.RefreshAfter, refreshed)
	if err != nil || len(ids) == 0 {
		return out, err
	}
	client, err := a.o.Client(ctx)
	if err != nil {
		return out, err
	}
	a.o.Heartbeat(ctx)
	asked, err := a.db.Now(ctx)
	if err != nil {
		return out, err
	}
	ports, err := openstack.ServerAddresses(ctx, client, ids...)
	if err != nil {
		return out, err
	}
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		if err := compute.SetAddresses(ctx, tx, asked, ports); err != nil {
			return err
		}
		return compute.AskedForAddresses(ctx, tx, asked, ids)
	})
	return steps.MaintenanceOut{Changed: len(ids), More: len(ids) == refreshed}, err
}

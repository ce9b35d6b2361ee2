package boot

// Failures of the original that must not happen here, by their rows in the table of
// known failures.

import (
	"testing"

	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// Row 40: who deletes an instance gives up taking its interfaces off the node, since that
// is locked for long, and they are in the way of the next. Here they go with the instance,
// by the undeployment itself, whoever waits for that, and wherever it is interrupted.
func TestAnchor40AnInstancesInterfacesGoWithIt(t *testing.T) {
	t.Parallel()
	w := occupied(t)
	if _, err := w.DB.Pool.Exec(t.Context(), `INSERT INTO baremetal.portgroups (uuid, node_uuid, internal_info) VALUES (gen_random_uuid(), $1, '{"tenant_vif_port_id": "g"}')`, w.Node.UUID); err != nil {
		t.Fatal(err)
	}
	w.Kill(func(db *store.DB) error { return w.vacate(w.activities(db)) })
	w.vacant()
	var left int
	err := w.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM baremetal.portgroups WHERE internal_info ? $1`, baremetal.VIFKey).Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("%d groups of ports bear an interface, %v", left, err)
	}
}

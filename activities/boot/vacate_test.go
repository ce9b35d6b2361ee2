package boot

import (
	"encoding/json"
	"testing"

	"holdfast.dev/dev/bmc/bmctest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
)

// occupied is a node that somebody's instance is on, with an allocation, a config drive
// and a virtual interface.
func occupied(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, nil)
	computetest.InTx(t, w.DB, func(tx store.Tx) error {
		n := w.Row()
		n.InstanceInfo, n.InstanceName = json.RawMessage(`{"configdrive": "******", "image_source": "http://192.0.2.1/i"}`), new("mine")
		n.DriverInternalInfo = json.RawMessage(`{"is_whole_disk_image": true, "hardware_manager_version": {"a": "1"}}`)
		n.Secrets = w.Box.Seal([]byte(`{"driver_info": {"/redfish_password": "s3cret"}, "instance_info": {"/configdrive": "theirs"}}`), nodes.Place(n))
		if err := baremetal.Nodes.Update(t.Context(), tx, n); err != nil {
			return err
		}
		for address, info := range map[string]string{"52:54:00:00:00:01": `{"tenant_vif_port_id": "v", "other": 1}`, "52:54:00:00:00:02": `{}`} {
			p := &baremetal.Port{UUID: "11111111-1111-4111-8111-1111111111" + address[15:], NodeUUID: n.UUID, Address: address,
				LocalLinkConnection: json.RawMessage(`{}`), Extra: json.RawMessage(`{}`), InternalInfo: json.RawMessage(info)}
			if err := baremetal.Ports.Create(t.Context(), tx, p); err != nil {
				return err
			}
		}
		a := &baremetal.Allocation{UUID: "22222222-2222-4222-8222-222222222222", State: baremetal.Allocated, Extra: json.RawMessage(`{}`), Traits: []string{}, CandidateNodes: []string{}}
		if err := baremetal.Allocations.Create(t.Context(), tx, a); err != nil {
			return err
		}
		return baremetal.Allocate(t.Context(), tx, a, n)
	})
	return w
}

// vacant: nothing is known of the instance, and everything of the node.
func (w *world) vacant() {
	w.Helper()
	n := w.Row()
	if string(n.InstanceInfo) != `{}` || n.InstanceUUID != nil || n.InstanceName != nil || n.AllocationUUID != nil ||
		string(n.DriverInternalInfo) != `{"hardware_manager_version": {"a": "1"}}` {
		w.Errorf("%+v, %s, %s", n, n.InstanceInfo, n.DriverInternalInfo)
	}
	kept, err := nodes.Opened(w.Box, n)
	if err != nil || kept["driver_info"]["/redfish_password"] != "s3cret" || kept["instance_info"] != nil {
		w.Errorf("%v, %v", kept, err)
	}
	var ports, allocations int
	err = w.DB.Pool.QueryRow(w.Context(), `SELECT (SELECT count(*) FROM baremetal.ports WHERE internal_info ? 'tenant_vif_port_id' OR node_uuid IS NULL),
		(SELECT count(*) FROM baremetal.allocations)`).Scan(&ports, &allocations)
	if err != nil || ports != 0 || allocations != 0 {
		w.Errorf("%d ports and %d allocations are the instance's, %v", ports, allocations, err)
	}
}

func (w *world) vacate(a *Activities) error {
	_, err := a.Vacate(w.Context(), steps.NodeIn{Fence: w.Fence})
	return err
}

// Nothing is known of an instance that is gone, however often it is forgotten and
// wherever that is interrupted; and who has lost the node forgets nothing.
func TestVacate(t *testing.T) {
	t.Parallel()
	w := occupied(t)
	fence := w.Fence
	w.Fence.Generation--
	if err := w.vacate(w.activities(w.DB)); !faults.Is(err, faults.Superseded) || string(w.Row().InstanceInfo) == `{}` {
		t.Errorf("%v", err)
	}
	w.Fence = fence
	w.Kill(func(db *store.DB) error { return w.vacate(w.activities(db)) })
	for range 2 {
		if err := w.vacate(w.activities(w.DB)); err != nil {
			t.Fatal(err)
		}
		w.vacant()
	}
	var other string
	err := w.DB.Pool.QueryRow(t.Context(), `SELECT internal_info::text FROM baremetal.ports WHERE address = '52:54:00:00:00:01'`).Scan(&other)
	if err != nil || other != `{"other": 1}` || w.Row().UUID != bmctest.Node {
		t.Errorf("%s, %v", other, err)
	}
}

package compute_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// A server's ports are asked for, bound, shown with the server, held, and let go of.
func TestPortsOfAServer(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	s := computetest.AddServer(t, db, "p")
	in := func(f func(store.Tx) error) {
		t.Helper()
		computetest.InTx(t, db, f)
	}
	in(func(tx store.Tx) error {
		return compute.InsertServerPorts(t.Context(), tx, s.ID, []compute.ServerPort{
			{Ours: true, NetworkID: "net", Tag: "front", SecurityGroups: []string{"a", "b"}}, {PortID: "own"}})
	})
	rows := func() []*compute.ServerPort {
		t.Helper()
		all, err := compute.ServerPorts(t.Context(), db.Pool, s.ID, "not-an-id")
		if err != nil || len(all) != 2 {
			t.Fatalf("%+v, %v", all, err)
		}
		return all
	}
	show := func() *compute.Server {
		t.Helper()
		shown, err := compute.GetServer(t.Context(), db.Pool, "p", s.ID)
		if err != nil {
			t.Fatal(err)
		}
		return shown
	}
	asked := *rows()[0]
	if asked.Bound || asked.Tag != "front" || !reflect.DeepEqual(asked.SecurityGroups, []string{"a", "b"}) || show().Ports != nil {
		t.Errorf("asked for: %+v", asked)
	}

	bound := asked
	bound.PortID, bound.NetworkName, bound.MTU, bound.MAC, bound.VIFType = "made", "private", 1450, "fa:16:3e:00:00:01", "bridge"
	bound.FloatingIPs = []compute.FloatingIP{{FixedAddress: "10.0.0.1", Address: "203.0.113.1"}}
	bound.FixedIPs, bound.VIFDetails = []compute.FixedIP{{SubnetID: "sub", Address: "10.0.0.1"}}, json.RawMessage(`{"bridge_name": "brq"}`)
	in(func(tx store.Tx) error { return compute.BindPort(t.Context(), tx, &bound) })
	in(func(tx store.Tx) error { return compute.PlugPort(t.Context(), tx, s.ID, "made") })
	bound.Bound, bound.Active = true, true
	if got := *rows()[0]; !reflect.DeepEqual(got, bound) {
		t.Errorf("bound:\n%+v\nwant\n%+v", got, bound)
	}
	want := []compute.Interface{{PortID: "made", NetworkID: "net", NetworkName: "private", MAC: "fa:16:3e:00:00:01",
		FixedIPs: bound.FixedIPs, FloatingIPs: bound.FloatingIPs, Tag: "front"}}
	if got := show().Ports; !reflect.DeepEqual(got, want) {
		t.Errorf("shown: %+v, want %+v", got, want)
	}
	held := []operations.Effect{{Kind: operations.EffectPorts, Ref: s.ID, State: operations.Done}}
	if holds, err := compute.Holds(t.Context(), db.Pool, s.ID); err != nil || !reflect.DeepEqual(holds, held) {
		t.Errorf("held: %+v, %v", holds, err)
	}

	in(func(tx store.Tx) error { return compute.UnbindPorts(t.Context(), tx, s.ID) })
	asked.FixedIPs, asked.VIFDetails = []compute.FixedIP{}, json.RawMessage(`{}`)
	if got := *rows()[0]; !reflect.DeepEqual(got, asked) {
		t.Errorf("let go of:\n%+v\nwant\n%+v", got, asked)
	}
	if rows()[1].PortID != "own" {
		t.Error("the user's own port is forgotten")
	}
	if holds, err := compute.Holds(t.Context(), db.Pool, s.ID); err != nil || holds != nil {
		t.Errorf("held: %+v, %v", holds, err)
	}
}

// A port is one server's, from its reservation until it is let go of.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	asks := func() []*compute.ServerPort {
		id := computetest.AddServer(t, db, "p").ID
		computetest.InTx(t, db, func(tx store.Tx) error {
			return compute.InsertServerPorts(t.Context(), tx, id, []compute.ServerPort{{PortID: "own"}, {Ours: true, NetworkID: "net"}})
		})
		rows, err := compute.ServerPorts(t.Context(), db.Pool, id)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	reserve := func(rows []*compute.ServerPort) error {
		return db.InTx(t.Context(), func(tx store.Tx) error { return compute.ReservePorts(t.Context(), tx, rows) })
	}
	first, second := asks(), asks()
	for range 2 {
		if err := reserve(first); err != nil {
			t.Fatal(err)
		}
	}
	err := reserve(second)
	if f := faults.As(err); err == nil || f.Kind != faults.Conflict || f.Code != "PortInUse" || f.Message != "Port own is still in use." {
		t.Errorf("%+v", f)
	}
	computetest.InTx(t, db, func(tx store.Tx) error { return compute.UnbindPorts(t.Context(), tx, first[0].ServerID) })
	if err := reserve(second); err != nil {
		t.Error(err)
	}
}

package records_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// The host is told of the ports that are bound; Neutron's events, each sent
// twice and in any order, say which of them are plugged.
func TestPorts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := computetest.AddServer(t, w.db, "p")
	computetest.InTx(t, w.db, func(tx store.Tx) error {
		return compute.InsertServerPorts(t.Context(), tx, s.ID, []compute.ServerPort{
			{Ours: true, NetworkID: "net"}, {PortID: "b"}, {PortID: "c"}})
	})
	begun, fence := w.begin(w.accept(operations.ServerBuild, s.ID, servers.TaskScheduling))
	if begun.Server.Ports != 3 {
		t.Errorf("asks for %d ports, want 3", begun.Server.Ports)
	}
	spec := func() []steps.Port {
		t.Helper()
		return twice(w, func(in steps.ServerSpecIn) (steps.ServerSpec, error) { return w.records.ServerSpec(t.Context(), in) },
			steps.ServerSpecIn{Fence: fence}).Ports
	}
	if got := spec(); got != nil {
		t.Errorf("the host is told of %+v before there are any", got)
	}
	computetest.InTx(t, w.db, func(tx store.Tx) error {
		for i, id := range []string{"a", "b", "c"} {
			p := compute.ServerPort{ServerID: s.ID, Position: i, NetworkID: "net", PortID: id, MAC: "fa:16:3e:00:00:0" + id, MTU: 1450,
				VIFType: "bridge", VIFDetails: json.RawMessage(`{"bridge_name":"brq1"}`), Active: id == "c"}
			if err := compute.BindPort(t.Context(), tx, &p); err != nil {
				return err
			}
		}
		return nil
	})
	want := []steps.Port{
		{ID: "a", MAC: "fa:16:3e:00:00:0a", VIFType: "bridge", Bridge: "brq1", MTU: 1450, Network: "net", Ours: true},
		{ID: "b", MAC: "fa:16:3e:00:00:0b", VIFType: "bridge", Bridge: "brq1", MTU: 1450, Network: "net"},
		{ID: "c", MAC: "fa:16:3e:00:00:0c", VIFType: "bridge", Bridge: "brq1", MTU: 1450, Network: "net"},
	}
	if got := spec(); !reflect.DeepEqual(got, want) {
		t.Errorf("the host is told of\n%+v\nwant\n%+v", got, want)
	}

	says := func(tag, status string) {
		t.Helper()
		payload, err := json.Marshal(servers.ExternalEvent{Tag: tag, Status: status})
		if err != nil {
			t.Fatal(err)
		}
		computetest.InTx(t, w.db, func(tx store.Tx) error {
			_, err := w.engine.Put(t.Context(), tx, engine.Event{Resource: operations.Server, ResourceID: s.ID,
				Name: engine.NetworkVIFPlugged, SenderKey: tag + " " + status, Payload: payload})
			return err
		})
	}
	plugged := func() steps.PluggedOut {
		t.Helper()
		return twice(w, func(in steps.PluggedIn) (steps.PluggedOut, error) { return w.records.Plugged(t.Context(), in) }, steps.PluggedIn{Fence: fence})
	}
	for _, c := range []struct {
		tag, status string
		want        steps.PluggedOut
	}{
		{"stranger", "completed", steps.PluggedOut{Waiting: []string{"a", "b"}}},
		{"b", "failed", steps.PluggedOut{Waiting: []string{"a"}, Failed: []string{"b"}}},
		{"a", "completed", steps.PluggedOut{Failed: []string{"b"}}},
		{"b", "completed", steps.PluggedOut{}},
	} {
		for range 2 {
			says(c.tag, c.status)
		}
		if got := plugged(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("after %q was said of %s: %+v, want %+v", c.status, c.tag, got, c.want)
		}
	}
	fence.Generation--
	if _, err := w.records.Plugged(t.Context(), steps.PluggedIn{Fence: fence}); !faults.Is(err, faults.Superseded) {
		t.Errorf("without the fence: %v", err)
	}
}

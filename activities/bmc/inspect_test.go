package bmc

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/inspection"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
)

// found is what is kept beside the node's row.
func (w *world) found() (f inspection.Found) {
	w.Helper()
	err := w.DB.Pool.QueryRow(w.Context(), `SELECT properties, inventory, plugin_data FROM baremetal.findings WHERE node_uuid = $1`, w.Node.UUID).
		Scan(&f.Properties, &f.Inventory, &f.Plugin)
	if err != nil {
		w.Error(err)
	}
	return f
}

// A BMC is asked what its machine is made of, which is kept beside the node's row and
// changes nothing of that; however often.
func TestInspect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	w.Machine.Fit(16, []int64{2 << 30, 40 << 30, 80 << 30}, "52:54:00:BC:00:01", "nonsense", "52:54:00:bc:00:02")
	w.Kill(func(db *store.DB) error {
		_, err := w.activities(db).Inspect(t.Context(), steps.NodeIn{Fence: w.Fence})
		return err
	})
	text, err := json.Marshal(w.found())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"Properties":{"local_gb":39,"memory_mb":16384}`, `"cpu":{"architecture":"x86_64","count":4,"frequency":2000,"model_name":"simulated"}`,
		`"interfaces":[{"mac_address":"52:54:00:bc:00:01","name":"NIC1","speed_mbps":1000},{"mac_address":"52:54:00:bc:00:02","name":"NIC3","speed_mbps":1000}]`,
		`"current_boot_mode":"uefi"`, `{"name":"Drive 2","size":42949672960}`, `"manufacturer":"Holdfast"`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s is not in %s", part, text)
		}
	}
	n, err := baremetal.Nodes.Find(t.Context(), w.DB.Pool, w.Node.UUID, false)
	if err != nil || string(n.Properties) != "{}" || w.Service.Sessions() > 0 || len(w.Machine.Asked()) > 0 {
		t.Errorf("%s, %v, %d sessions are left, it was asked for %v", n.Properties, err, w.Service.Sessions(), w.Machine.Asked())
	}
	w.Fence.Generation--
	if _, err := w.activities(w.DB).Inspect(t.Context(), steps.NodeIn{Fence: w.Fence}); !faults.Is(err, faults.Superseded) {
		t.Errorf("%v", err)
	}
}

// A machine without disks has none of what they would be worth.
func TestInspectDiskless(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	w.Machine.Fit(0, nil)
	if _, err := w.activities(w.DB).Inspect(t.Context(), steps.NodeIn{Fence: w.Fence}); err != nil {
		t.Fatal(err)
	}
	if f := w.found(); f.Properties["local_gb"] != 0.0 || f.Properties["memory_mb"] != nil || len(f.Inventory["interfaces"].([]any)) != 0 {
		t.Errorf("%v", f)
	}
	other := newWorld(t, "fake", nil)
	if _, err := other.activities(other.DB).Inspect(t.Context(), steps.NodeIn{Fence: other.Fence}); !faults.Is(err, faults.Invalid) {
		t.Errorf("%v", err)
	}
	// What another operation has found isn't this one's.
	computetest.InTx(t, w.DB, func(tx store.Tx) error {
		return baremetal.KeepFindings(t.Context(), tx, w.Node.UUID, inspection.Found{Inventory: map[string]any{}, Plugin: map[string]any{}})
	})
	if f := w.found(); f.Properties != nil {
		t.Errorf("%v", f)
	}
}

// What a node's ramdisk finds is known by the addresses of its BMC, but those of this
// machine, and by those that its BMC tells of its interfaces; however often it is asked.
func TestExpect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", func(info map[string]any) {
		info["other_address"], info["third_address"], info["nowhere_address"], info["no_adress"] = "https://192.0.2.9:8000/x", "[2001:db8::1]", "nowhere.invalid", "192.0.2.1"
	})
	w.Machine.Fit(16, nil, "52:54:00:BC:00:01", "nonsense", "52:54:00:bc:00:02")
	expect := func(db *store.DB, ports bool) error {
		a := w.activities(db)
		a.CreatePorts = ports
		_, err := a.Expect(t.Context(), steps.NodeIn{Fence: w.Fence})
		return err
	}
	known := func() (s string) {
		err := w.DB.Pool.QueryRow(t.Context(), `SELECT (f.addresses || ARRAY(SELECT jsonb_array_elements_text(n.driver_internal_info -> 'lookup_bmc_addresses')))::text
			FROM baremetal.findings f JOIN baremetal.nodes n ON n.uuid = f.node_uuid WHERE node_uuid = $1`, w.Node.UUID).Scan(&s)
		if err != nil {
			t.Error(err)
		}
		return s
	}
	w.Kill(func(db *store.DB) error { return expect(db, true) })
	if got := known(); got != "{52:54:00:bc:00:01,52:54:00:bc:00:02,192.0.2.9,2001:db8::1}" || w.Service.Sessions() > 0 {
		t.Errorf("%s, %d sessions are left", got, w.Service.Sessions())
	}
	if err := expect(w.DB, false); err != nil || known() != "{192.0.2.9,2001:db8::1}" {
		t.Errorf("%s, %v", known(), err)
	}
	if f, err := baremetal.FindingsOf(t.Context(), w.DB.Pool, w.Node.UUID); f != nil || err != nil {
		t.Errorf("%v, %v", f, err)
	}
	w.Fence.Generation--
	if err := expect(w.DB, true); !faults.Is(err, faults.Superseded) {
		t.Errorf("%v", err)
	}
}

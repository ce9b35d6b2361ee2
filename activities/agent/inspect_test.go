package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/inspection"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
)

// finds has the world's ramdisk have found something, and its BMC have told addresses.
func (w *world) finds(inventory string, macs ...string) {
	w.Helper()
	f := inspection.Found{Plugin: map[string]any{"logs": "long", "root_disk": map[string]any{"size": 20 << 30}}}
	if err := json.Unmarshal([]byte(inventory), &f.Inventory); err != nil {
		w.Fatal(err)
	}
	computetest.InTx(w.T, w.DB, func(tx store.Tx) error {
		if err := baremetal.Expect(w.Context(), tx, w.Node.UUID, macs, nil); err != nil {
			return err
		}
		return baremetal.KeepFindings(w.Context(), tx, w.Node.UUID, f)
	})
}

// ports are those of the world's node, by their addresses.
func (w *world) ports() string {
	w.Helper()
	var shown string
	err := w.DB.Pool.QueryRow(w.Context(), `SELECT COALESCE(string_agg(address || ' ' || pxe_enabled || ' ' || extra, ', ' ORDER BY address), '') FROM baremetal.ports WHERE node_uuid = $1`, w.Node.UUID).Scan(&shown)
	if err != nil {
		w.Error(err)
	}
	return shown
}

const inventory = `{"cpu": {"architecture": "x86_64"}, "memory": {"physical_mb": 1024}, "boot": {"pxe_interface": "aa:00:00:00:00:01"},
	"interfaces": [{"name": "a", "mac_address": "aa:00:00:00:00:01", "client_id": "c"}, {"name": "b", "mac_address": "aa:00:00:00:00:02"}]}`

func (w *world) settler(db *store.DB, keep inspection.KeepPorts, hooks ...string) *Activities {
	a := w.activities(db)
	a.Inspection = inspection.Options{Hooks: hooks, Add: inspection.AddPXE, Keep: keep, Spacing: true}
	return a
}

// What was found becomes the node's once, however often and wherever it is interrupted.
func TestSettle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.finds(inventory, "aa:00:00:00:00:03")
	usual := []string{"ramdisk-error", "validate-interfaces", "ports", "architecture", "memory", "root-device"}
	settle := func(db *store.DB, keep inspection.KeepPorts) error {
		_, err := w.settler(db, keep, usual...).Settle(t.Context(), steps.NodeIn{Fence: w.Fence})
		return err
	}
	w.Kill(func(db *store.DB) error { return settle(db, inspection.KeepAll) })
	if n := w.Row(); string(n.Properties) != `{"cpu_arch": "x86_64", "local_gb": 19, "memory_mb": 1024}` || w.ports() != `aa:00:00:00:00:01 true {"client-id": "c"}, aa:00:00:00:00:03 false {}` {
		t.Errorf("%s, %s", n.Properties, w.ports())
	}
	kept, err := baremetal.FindInventory(t.Context(), w.DB.Pool, w.Node)
	var plugin map[string]any
	if err == nil {
		err = json.Unmarshal(kept.PluginData, &plugin)
	}
	if err != nil || plugin["logs"] != nil || plugin["local_gb"] != 19.0 || fmt.Sprint(plugin["macs"]) != "[aa:00:00:00:00:01]" {
		t.Errorf("%v, %v", plugin, err)
	}
	// Asked again, nothing is there to be settled; found anew, ports go that aren't kept.
	if err := settle(w.DB, inspection.KeepAll); err != nil {
		t.Error(err)
	}
	w.finds(inventory)
	if err := settle(w.DB, inspection.KeepAdded); err != nil || w.ports() != `aa:00:00:00:00:01 true {"client-id": "c"}` {
		t.Errorf("%s, %v", w.ports(), err)
	}
	w.finds(`{"interfaces": []}`)
	if err := settle(w.DB, inspection.KeepAll); !faults.Is(err, faults.Invalid) || w.ports() == "" {
		t.Errorf("%s, %v", w.ports(), err)
	}
	w.Fence.Generation--
	if err := settle(w.DB, inspection.KeepAll); !faults.Is(err, faults.Superseded) {
		t.Errorf("%v", err)
	}
}

// What ports are connected to is kept with those that don't say it, and the network that
// they are in.
func TestSettledConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.finds(`{"cpu": {"architecture": "x86_64"}, "interfaces": [{"name": "a", "mac_address": "aa:00:00:00:00:01", "ipv4_address": "192.0.2.5", "lldp": [[1, "04885a92ec5459"], [5, "737731"]]},
		{"name": "b", "mac_address": "aa:00:00:00:00:02", "lldp": [[2, "0731"]]}]}`, "aa:00:00:00:00:01")
	computetest.InTx(t, w.DB, func(tx store.Tx) error {
		return baremetal.Ports.Create(t.Context(), tx, &baremetal.Port{UUID: "11111111-1111-4111-8111-111111111101", NodeUUID: w.Node.UUID, Address: "aa:00:00:00:00:02",
			LocalLinkConnection: json.RawMessage(`{"port_id": "mine"}`), Extra: json.RawMessage(`{}`), InternalInfo: json.RawMessage(`{}`)})
	})
	networks, err := inspection.ReadPhysicalNetworks([]string{"192.0.2.0/24:one"})
	if err != nil {
		t.Fatal(err)
	}
	w.Kill(func(db *store.DB) error {
		a := w.settler(db, inspection.KeepAll, "validate-interfaces", "ports", "local-link-connection", "physical-network")
		a.Inspection.Networks = networks
		_, err := a.Settle(t.Context(), steps.NodeIn{Fence: w.Fence})
		return err
	})
	var shown string
	err = w.DB.Pool.QueryRow(t.Context(), `SELECT string_agg(address || ' ' || local_link_connection || ' ' || COALESCE(physical_network, '-'), ', ' ORDER BY address) FROM baremetal.ports`).Scan(&shown)
	if want := `aa:00:00:00:00:01 {"switch_id": "88:5a:92:ec:54:59", "switch_info": "sw1"} one, aa:00:00:00:00:02 {"port_id": "mine"} -`; err != nil || shown != want {
		t.Errorf("%s, %v", shown, err)
	}
}

// rule has the world's service have an inspection rule.
func (w *world) rule(priority int, conditions, actions string) {
	w.Helper()
	if _, err := w.DB.Pool.Exec(w.Context(), `INSERT INTO baremetal.inspection_rules (uuid, priority, conditions, actions) VALUES (gen_random_uuid(), $1, $2::jsonb, $3::jsonb)`,
		priority, conditions, actions); err != nil {
		w.Fatal(err)
	}
}

// Rules are carried out on what hooks have made of it, those of higher priority first;
// secrets that they write are sealed, and of one that fails nothing is kept.
func TestRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/hook" {
			http.NotFound(out, r)
		}
	}))
	t.Cleanup(asked.Close)
	var said bytes.Buffer
	settle := func(db *store.DB) error {
		a := w.settler(db, inspection.KeepAll, "validate-interfaces", "ports", "architecture")
		a.RuleNetworks, a.Log = a.Networks, slog.New(slog.NewTextHandler(&said, nil))
		_, err := a.Settle(t.Context(), steps.NodeIn{Fence: w.Fence})
		return err
	}
	var port string
	if err := w.DB.Pool.QueryRow(t.Context(), `INSERT INTO baremetal.ports (uuid, node_uuid, address) VALUES (gen_random_uuid(), $1, 'aa:00:00:00:00:02') RETURNING uuid`, w.Node.UUID).Scan(&port); err != nil {
		t.Fatal(err)
	}
	w.rule(1, `[{"op": "eq", "args": {"values": ["{node.properties[seen]}", "{inventory[cpu][architecture]}"]}}]`, `[{"op": "set-attribute", "args": {"path": "driver_info/x_password", "value": "s3cret"}},
		{"op": "add-trait", "args": {"name": "CUSTOM_SEEN"}}, {"op": "set-port-attribute", "args": {"port_id": "`+port+`", "path": "extra/x", "value": "{node.uuid}"}},
		{"op": "set-plugin-data", "args": {"path": "by.rule", "value": 1}}, {"op": "log", "args": {"msg": "found {inventory[memory][physical_mb]}", "level": "warning"}},
		{"op": "api-call", "args": {"url": "`+asked.URL+`/hook", "retries": 0}}]`)
	w.rule(5, `[]`, `[{"op": "set-attribute", "args": {"path": "properties/seen", "value": "{node.properties[cpu_arch]}"}}]`)
	w.rule(0, `[{"op": "is-true", "args": {"value": false}}]`, `[{"op": "fail", "args": {"msg": "never"}}]`)
	w.finds(inventory)
	if err := settle(w.DB); err != nil {
		t.Fatal(err)
	}
	n := w.Row()
	info, err := nodes.DriverInfo(w.Box, n)
	if plain, wrong := nodes.Revealed(w.Box, n, "driver_info", n.DriverInfo); err != nil || wrong != nil || !strings.Contains(fmt.Sprint(plain), "s3cret") || strings.Contains(string(n.DriverInfo), "s3cret") ||
		len(info.Hosts()) == 0 || string(n.Properties) != `{"seen": "x86_64", "cpu_arch": "x86_64"}` || !slices.Equal(n.Traits, []string{"CUSTOM_SEEN"}) {
		t.Errorf("%s, %s, %v, %v, %v", n.DriverInfo, n.Properties, n.Traits, err, wrong)
	}
	if want := `aa:00:00:00:00:01 true {"client-id": "c"}, aa:00:00:00:00:02 false {"x": "` + n.UUID + `"}`; w.ports() != want || !strings.Contains(said.String(), `level=WARN msg="an inspection rule says"`) || !strings.Contains(said.String(), "found 1024") {
		t.Errorf("%s, %s", w.ports(), said.String())
	}
	if kept, err := baremetal.FindInventory(t.Context(), w.DB.Pool, n); err != nil || !strings.Contains(string(kept.PluginData), `"by": {"rule": 1}`) {
		t.Errorf("%+v, %v", kept, err)
	}
	for action, want := range map[string]string{
		`{"op": "fail", "args": {"msg": "not wanted"}}`:                                  "Failed to inspect hardware. Reason: not wanted",
		`{"op": "api-call", "args": {"url": "` + asked.URL + `/nowhere", "retries": 0}}`: "Inspection rule action execution failed. Reason: Request to " + asked.URL + "/nowhere failed: status 404",
		`{"op": "api-call", "args": {"url": "http://192.0.2.1/", "retries": 0}}`:         "192.0.2.1",
		`{"op": "set-attribute", "args": {"path": "maintenance", "value": "perhaps"}}`:   "Failed to set attribute maintenance of node " + n.UUID + ": it can't have such a value",
		`{"op": "set-attribute", "args": {"path": "uuid", "value": "` + port + `"}}`:     "no rule changes 'uuid'",
	} {
		if _, err := w.DB.Pool.Exec(t.Context(), `DELETE FROM baremetal.inspection_rules`); err != nil {
			t.Fatal(err)
		}
		w.rule(2, `[]`, `[{"op": "set-attribute", "args": {"path": "extra/half", "value": 1}}]`)
		w.rule(1, `[]`, "["+action+"]")
		w.finds(inventory)
		if err := settle(w.DB); !faults.Is(err, faults.Invalid) || !strings.Contains(faults.As(err).Message, want) || strings.Contains(string(w.Row().Extra), "half") {
			t.Errorf("%s: %v, %s", action, err, w.Row().Extra)
		}
	}
}

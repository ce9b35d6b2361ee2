package inspection

import (
	"encoding/json"
	"fmt"
	"testing"

	"holdfast.dev/internal/faults"
)

// object is one that a text holds.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// cpu is as much of an inventory as needs no more said.
const cpu = `"cpu": {"architecture": "x86_64"}`

func TestMake(t *testing.T) {
	t.Parallel()
	const nics = `"interfaces": [{"name": "lo", "mac_address": "00:00:00:00:00:01"}, {"name": "a", "mac_address": "AA:00:00:00:00:01", "ipv4_address": "127.0.0.1"},
		{"name": "b", "mac_address": "aa:00:00:00:00:02", "client_id": "c"}, {"name": "c", "mac_address": "aa:00:00:00:00:03"}, {"mac_address": "aa:00:00:00:00:04"}, 5,
		{"name": "d"}, {"name": "e", "mac_address": "aa-bb"}]`
	for name, c := range map[string]struct{ before, inventory, plugin, properties, want string }{
		"by its BMC":          {`{"local_gb": 1}`, nics + "," + cpu + `, "boot": {"current_boot_mode": "uefi"}`, `{}`, `{"memory_mb": 1024, "local_gb": 9}`, `map[capabilities:boot_mode:uefi cpu_arch:x86_64 local_gb:9 memory_mb:1024] [{b aa:00:00:00:00:02 c false} {c aa:00:00:00:00:03  false}]`},
		"by its BMC, booting": {`{"capabilities": "a:b", "memory_mb": 5}`, nics + "," + cpu + `, "boot": {"current_boot_mode": "bios"}`, `{}`, `{"local_gb": 9}`, `map[capabilities:a:b,boot_mode:bios cpu_arch:x86_64 local_gb:9 memory_mb:5] [{b aa:00:00:00:00:02 c false} {c aa:00:00:00:00:03  false}]`},
		"with its own mode":   {`{"capabilities": "boot_mode:uefi", "memory_mb": 5}`, nics + "," + cpu + `, "boot": {"current_boot_mode": "bios"}`, `{}`, `{"local_gb": 9}`, `map[capabilities:boot_mode:uefi cpu_arch:x86_64 local_gb:9 memory_mb:5] [{b aa:00:00:00:00:02 c false} {c aa:00:00:00:00:03  false}]`},

		"without memory":      {`{}`, nics + "," + cpu, `{}`, `{"local_gb": 9}`, `Failed to inspect hardware. Reason: Failed to discover the following properties: memory_mb on node n`},
		"without interfaces":  {`{}`, cpu, `{}`, `{}`, `Inventory for node n is invalid: no interfaces present in inventory`},
		"with useless ones":   {`{}`, `"interfaces": [{"name": "d"}], ` + cpu, `{}`, `{}`, `Inventory for node n is invalid: no valid network interfaces`},
		"with one of its own": {`{}`, `"interfaces": [{"name": "lo", "mac_address": "00:00:00:00:00:01"}], ` + cpu, `{}`, `{}`, `Inventory for node n is invalid: no network interfaces match the configuration (add_ports set to "pxe")`},
		"without a processor": {`{}`, nics, `{}`, `{}`, `Inventory for node n is invalid: Inventory has malformed or missing CPU architecture information: None for node n.`},
		"with hostile words": {`{}`, `"interfaces": {"a": []}, "boot": [], "cpu": "x"`, `{"error": {"a": 1}}`, `{}`,
			`Inventory for node n is invalid: no interfaces present in inventory`},
	} {
		f := Found{Inventory: object(t, "{"+c.inventory+"}"), Plugin: object(t, c.plugin)}
		if c.properties != "" {
			f.Properties = object(t, c.properties)
		}
		made, err := Make("n", object(t, c.before), f)
		got := fmt.Sprint(made.Properties, made.Ports)
		if err != nil {
			got = faults.As(err).Message
		}
		if got != c.want || err != nil && !faults.Is(err, faults.Invalid) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

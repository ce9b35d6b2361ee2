package inspection

import (
	"encoding/json"
	"strings"
	"testing"
)

// lldp is what is read of what a switch says to one interface.
func lldp(t *testing.T, said string) string {
	t.Helper()
	w := &work{Found: Found{Inventory: object(t, `{"interfaces": [{"name": "a"}]}`), Plugin: map[string]any{"lldp_raw": object(t, `{"a": [`+said+`]}`)}}, made: &Made{}}
	if err := w.parsedLLDP(); err != nil {
		t.Fatal(err)
	}
	parsed, _ := w.Plugin["parsed_lldp"].(map[string]any)
	if parsed == nil {
		return ""
	}
	text, err := json.Marshal(parsed["a"])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Everything that a switch may say is read, the first of what is said once; what can't be
// read says nothing.
func TestLLDP(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		`[1, "04885a92ec5459"], [1, "04000000000001"]`: `{"switch_chassis_id":"88:5a:92:ec:54:59"}`,
		`[1, "0501c000020f"]`:                          `{"switch_chassis_id":"192.0.2.15"}`,
		`[1, "07737731"], [2, "0531"]`:                 `{"switch_chassis_id":"sw1","switch_port_id":"1"}`,
		`[2, "03885a92ec5459"], [3, "003c"], [0, ""]`:  `{"switch_port_id":"88:5a:92:ec:54:59"}`,
		`[2, "040220010db8000000000000000000000001"]`:  `{"switch_port_id":"2001:db8::1"}`,
		`[4, "61"], [5, "62"], [6, ""]`:                `{"switch_port_description":"a","switch_system_description":"","switch_system_name":"b"}`,
		`["7", "00140004"]`:                            `{"switch_capabilities_enabled":["Bridge"],"switch_capabilities_support":["Bridge","Router"]}`,
		`[8, "0501c000020f020000000000"], [8, "0706aa11bb22cc3302000003e900"], [8, "0509c0"]`: `{"switch_mgmt_addresses":["192.0.2.15","aa:11:bb:22:cc:33"]}`,
		`[127, "0080c2010066"], [127, "0080c2060058"], [127, "00120f0405ea"]`:                 `{"switch_port_management_vlan_id":88,"switch_port_mtu":1514,"switch_port_untagged_vlan_id":102}`,
		`[127, "0080c20206000a"], [127, "0080c202060014"]`:                                    `{"switch_port_protocol_vlan_enabled":true,"switch_port_protocol_vlan_ids":[10,20],"switch_port_protocol_vlan_support":true}`,
		`[127, "0080c203006507766c616e313031"], [127, "0080c203006603610000"]`:                `{"switch_port_vlans":[{"id":101,"name":"vlan101"},{"id":102,"name":"a"}]}`,
		`[127, "0080c204080026424203000000"]`:                                                 `{"switch_protocol_identities":["0026424203000000"]}`,
		`[127, "00120f030300000002"], [127, "0080c2070000000005"]`:                            `{"switch_port_link_aggregation_enabled":true,"switch_port_link_aggregation_id":2,"switch_port_link_aggregation_support":true}`,
		`[127, "00120f01036c110010"]`: `{"switch_port_autonegotiation_enabled":true,"switch_port_autonegotiation_support":true,"switch_port_mau_type":"100BASE-TX full duplex",` +
			`"switch_port_physical_capabilities":["1000BASE-T fdx","100BASE-TX fdx","100BASE-TX hdx","10BASE-T fdx","10BASE-T hdx","Asym and Sym PAUSE fdx"]}`,
		// Nonsense, truncated, of kinds that nobody knows.
		`[1, ""], [1, "04"], [1, "0901"], [1, "0505"], [1, "0501c0"], [2, "07ff"], [2, "0700"], [4, "ff"], [5, "zz"], [7, "0014"], [8, ""], [8, "05"], [8, "0501"]`:                             "",
		`[127, ""], [127, "0080c2"], [127, "0080c201"], [127, "0080c202"], [127, "0080c2030065"], [127, "0080c203006507"], [127, "0080c20300650161ff"], [127, "0080c204"], [127, "0080c20408"]`: `{"switch_port_vlans":[{"id":101,"name":"a"}]}`,
		`[127, "00120f01036c11ffff"], [127, "00120f01036c11"], [127, "00120f0303"], [127, "00120f04"], [127, "00906901425030"], [10, "61"], [128, "61"]`:                                        "",
		`5, [], [5], [5, "61", 1], ["x", "61"], [5, 5], null`: "",
		`[5, "` + strings.Repeat("61", 512) + `"]`:            "",
	} {
		if got := lldp(t, said); got != want {
			t.Errorf("%.100s:\n %s\n %s", said, got, want)
		}
	}
}

// What is in the inventory counts where nothing else is said, and of no more than 64
// interfaces.
func TestLLDPOfInterfaces(t *testing.T) {
	t.Parallel()
	var all []any
	for range 70 {
		all = append(all, map[string]any{"name": strings.Repeat("x", len(all)+1), "lldp": []any{[]any{5.0, "61"}}})
	}
	w := &work{Found: Found{Inventory: map[string]any{"interfaces": all}, Plugin: map[string]any{"lldp_raw": map[string]any{"x": []any{[]any{5.0, "62"}}}}}, made: &Made{}}
	if err := w.parsedLLDP(); err != nil {
		t.Fatal(err)
	}
	parsed := w.Plugin["parsed_lldp"].(map[string]any)
	if text, err := json.Marshal([]any{len(parsed), parsed["x"], parsed["xx"]}); err != nil || string(text) != `[64,{"switch_system_name":"b"},{"switch_system_name":"a"}]` {
		t.Errorf("%s, %v", text, err)
	}
}

// Devices that are known are the node's; a machine that doesn't say what it has keeps those
// that it had.
func TestAccelerators(t *testing.T) {
	t.Parallel()
	usual, err := ReadAccelerators(nil)
	if err != nil {
		t.Fatal(err)
	}
	own, err := ReadAccelerators([]string{`{"vendor_id": "8086", "device_id": "56c0", "type": "GPU"}`})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		known       []Accelerator
		plugin, has string
	}{
		{usual, `{"pci_devices": [{"vendor_id": "10de", "product_id": "2236", "bus": "0000:3b:00.0"}, {"vendor_id": "8086", "product_id": "56c0", "bus": "1"}, 5, {"vendor_id": 5}]}`,
			`[{"vendor_id":"10de","device_id":"2236","type":"GPU","device_info":"NVIDIA Corporation A10","pci_address":"0000:3b:00.0"}]`},
		{own, `{"pci_devices": [{"vendor_id": "10de", "product_id": "2236", "bus": "0"}, {"vendor_id": "8086", "product_id": "56c0", "bus": "1"}]}`,
			`[{"vendor_id":"8086","device_id":"56c0","type":"GPU","pci_address":"1"}]`},
		{usual, `{"pci_devices": [{"vendor_id": "1", "product_id": "2"}]}`, `[]`},
		{usual, `{"pci_devices": []}`, `"before"`},
		{usual, `{}`, `"before"`},
	} {
		made, err := Digest("n", map[string]any{"accelerators": "before"}, Found{Inventory: object(t, machine), Plugin: object(t, c.plugin)}, nil, Options{Hooks: []string{"accelerators"}, Accelerators: c.known})
		has, wrong := json.Marshal(made.Properties["accelerators"])
		if err != nil || wrong != nil || string(has) != c.has {
			t.Errorf("%s: %s, %v", c.plugin, has, err)
		}
	}
	for _, wrong := range []string{``, `5`, `{}`, `{"vendor_id": "8086"}`} {
		if _, err := ReadAccelerators([]string{wrong}); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

package inspection

import (
	"encoding/json"
	"testing"
)

// What switches and addresses say of ports becomes theirs; what can't be read says nothing.
func TestConnections(t *testing.T) {
	t.Parallel()
	networks, err := ReadPhysicalNetworks([]string{"192.0.2.0/24:one", "fe80::/64:two", "198.51.100.0/24:three"})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Hooks: []string{"$default_hooks", "local-link-connection", "physical-network"}, Add: AddPXE, Keep: KeepAll, Networks: networks}
	if o.Hooks, err = HookNames(o.Hooks); err != nil {
		t.Fatal(err)
	}
	for lldp, want := range map[string]string{
		`{}`: `{}`,
		`{"a": [[1, "04885a92ec5459"], [2, "0545746865726e65742f31"], [5, "737731"], [127, "00"]]}`: `{"aa:00:00:00:00:01":{"port_id":"Ethernet/1","switch_id":"88:5a:92:ec:54:59","switch_info":"sw1"}}`,
		`{"a": [["1", "0773"], ["2", "03885a92ec5459"]]}`:                                           `{"aa:00:00:00:00:01":{"port_id":"88:5a:92:ec:54:59"}}`,
		`{"a": [[2, "0401c0000205"]]}`:                                                              `{"aa:00:00:00:00:01":{"port_id":"192.0.2.5"}}`,
		`{"a": [[2, "040220010db8000000000000000000000001"]], "b": [[2, "0731"]]}`:                  `{"aa:00:00:00:00:01":{"port_id":"2001:db8::1"},"aa:00:00:00:00:02":{"port_id":"1"}}`,
		`{"a": [[2, "0409"]]}`:                  `{}`,
		`{"a": [[2, "0401c000"]]}`:              `{}`,
		`{"a": [[1, "04885a"], [5, "737731"]]}`: `{}`,
		`{"a": [[5, "xyz"]]}`:                   `{}`,
		`{"a": [[5, "ff"]]}`:                    `{}`,
		`{"a": [[5, "6100"]]}`:                  `{}`,
		`{"a": [[2, ""]]}`:                      `{}`,
		`{"a": [5]}`:                            `{}`,
		`{"a": "moon", "z": [[5, "61"]]}`:       `{}`,
	} {
		made, err := Digest("n", map[string]any{}, Found{Inventory: object(t, machine), Plugin: map[string]any{"lldp_raw": object(t, lldp)}}, nil, o)
		links, wrong := json.Marshal(made.Links)
		if err != nil || wrong != nil || string(links) != want {
			t.Errorf("%s: %s, %v", lldp, links, err)
		}
		if got, wrong := json.Marshal(made.Networks); wrong != nil || string(got) != `{"aa:00:00:00:00:01":"one","aa:00:00:00:00:02":"two"}` {
			t.Errorf("%s", got)
		}
	}
	for _, wrong := range []string{"", "192.0.2.0/24", "192.0.2.0/24:", "moon:one", "192.0.2.1/24:one"} {
		if _, err := ReadPhysicalNetworks([]string{wrong}); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

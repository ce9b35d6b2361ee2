package baremetal_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/api/baremetal"
)

func TestRecordsOfNodes(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	const v = "1.115"
	id := c.enroll("alice", `{"driver": "fake-hardware", "name": "n"}`)
	other := c.enroll("alice", `{"driver": "fake-hardware", "name": "other"}`)
	c.exec(`INSERT INTO baremetal.node_history (node_uuid, severity, event, event_type, "user", project, state) SELECT $1, 'ERROR', repeat('x', 250 + 3 * i), 'deploying', 'u', 'p', 's' FROM generate_series(1, 3) i`, id)
	c.exec(`INSERT INTO baremetal.bios_settings (node_uuid, name, value, allowable_values, "unique") VALUES ($1, 'Turbo', 'on', '{on,off}', true), ($1, 'Cores', '4', NULL, NULL)`, id)
	c.exec(`INSERT INTO baremetal.firmware_components (node_uuid, component, initial_version, vendor) VALUES ($1, 'bios', '1.0', 'ACME')`, id)

	list := c.ask("alice", v, "GET", "/v1/nodes/n/history?limit=2", "").body
	events := list["history"].([]any)
	second, first := events[1].(map[string]any), events[0].(map[string]any)
	if len(first["event"].(string)) != 253 || !strings.HasSuffix(second["event"].(string), "x...") || len(second["event"].(string)) != 254 || len(first) != 5 || !strings.Contains(list["next"].(string), "nodes/n/history?") {
		t.Errorf("%v", list)
	}
	event := first["uuid"].(string)
	for version, fields := range map[string]int{"1.78": 8, "1.113": 9, "1.115": 12} {
		one := c.ask("alice", version, "GET", "/v1/nodes/n/history/"+event, "").body
		if len(one) != fields || len(one["links"].([]any)) != 1 {
			t.Errorf("%s: %v", version, one)
		}
	}
	if next, _ := c.ask("alice", v, "GET", "/v1/nodes/n/history?limit=1&detail=true", "").body["next"].(string); !strings.Contains(next, "&detail=true&") {
		t.Errorf("the next page is no detailed one: %s", next)
	}
	all := c.ask("alice", v, "GET", "/v1/nodes/n/history?detail=true&marker="+event, "").body["history"].([]any)
	if len(all) != 2 || len(all[0].(map[string]any)) != 12 || all[0].(map[string]any)["user"] != "u" {
		t.Errorf("%v", all)
	}
	c.play(
		step{"alice", v, "GET", "/v1/nodes/other/history/" + event, ``, 404, "Node history record " + event + " could not be found."},
		step{"alice", v, "GET", "/v1/nodes/n/history?marker=" + other, ``, 404, "Node history record"},
		step{"alice", v, "GET", "/v1/nodes/n/history?fields=event", ``, 400, "Unexpected arguments: fields"},
		step{"alice", "1.77", "GET", "/v1/nodes/n/history", ``, 404, ""},
		step{"alice", "1.39", "GET", "/v1/nodes/n/bios", ``, 404, "The API is not supported for this version"},
		step{"alice", "1.73", "GET", "/v1/nodes/n/bios?detail=true", ``, 400, ""},
		step{"alice", v, "GET", "/v1/nodes/n/bios/None", ``, 404, "Node " + id + " doesn't have a BIOS setting 'None'"},
		step{"alice", "1.85", "GET", "/v1/nodes/n/firmware", ``, 404, "The API version does not allow node firmware"},
		step{"alice", "1.113", "GET", "/v1/nodes/n/firmware?fields=vendor", ``, 400, "Fields vendor are not allowed in this API version. They require at least API version 1.114."},
	)
	bios := c.ask("alice", v, "GET", "/v1/nodes/n/bios", "").body["bios"].([]any)
	if len(bios) != 2 || bios[0].(map[string]any)["name"] != "Cores" || len(bios[0].(map[string]any)) != 5 {
		t.Errorf("%v", bios)
	}
	turbo := c.ask("alice", v, "GET", "/v1/nodes/n/bios/Turbo", "").body["Turbo"].(map[string]any)
	if len(turbo) != 14 || fmt.Sprint(turbo["allowable_values"]) != "[on off]" || turbo["unique"] != true {
		t.Errorf("%v", turbo)
	}
	if old := c.ask("alice", "1.40", "GET", "/v1/nodes/n/bios/Turbo", "").body["Turbo"].(map[string]any); len(old) != 5 {
		t.Errorf("%v", old)
	}
	for query, fields := range map[string]int{"1.86": 6, "1.115": 9} {
		firmware := c.ask("alice", query, "GET", "/v1/nodes/n/firmware", "").body["firmware"].([]any)
		if len(firmware) != 1 || len(firmware[0].(map[string]any)) != fields {
			t.Errorf("%s: %v", query, firmware)
		}
	}
	for _, path := range []string{"history", "history/" + event, "inventory", "bios", "bios/Turbo", "firmware", "vifs"} {
		c.play(step{"bob", v, "GET", "/v1/nodes/" + id + "/" + path, ``, 404, "Node " + id + " could not be found."})
	}
}

// A service of the project of services works with every node, of any other with none.
func TestServices(t *testing.T) {
	t.Parallel()
	for project, all := range map[string]bool{"services": true, "others": false, "": false} {
		c := newCloudWith(t, func(a *baremetal.API) { a.ServiceProject = project })
		c.play(step{"alice", "1.46", "POST", "/v1/nodes", `{"driver": "fake-hardware", "name": "n"}`, 201, ""})
		nodes := c.ask("nova", "1.46", "GET", "/v1/nodes", "").body["nodes"].([]any)
		if (len(nodes) == 1) != all {
			t.Errorf("with %q it sees %v", project, nodes)
		}
		patch := step{"nova", "1.46", "PATCH", "/v1/nodes/n", `[{"op": "add", "path": "/instance_uuid", "value": "8a94ea4e-6d6c-4d21-b0d8-2f2f0e9ee4c1"}]`, 404, "Node n could not be found."}
		if all {
			patch.status, patch.fault = 200, ""
		}
		c.play(patch)
	}
}

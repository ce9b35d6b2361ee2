package baremetal_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

const managedNode = `{"driver": "redfish", "driver_info": {"redfish_address": "https://192.0.2.1", "redfish_system_id": "/redfish/v1/Systems/1"}}`

// What is refused of what a node's BMC is told, with its words, and changes nothing.
func TestManagementRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	ready, bare := c.enroll("root", managedNode), c.enroll("root", `{"driver": "redfish"}`)
	fake, ipmi := c.enroll("root", `{"driver": "fake-hardware"}`), c.enroll("root", `{"driver": "ipmi"}`)
	manual := c.enroll("root", `{"driver": "manual-management"}`)
	held, moving := c.enroll("root", managedNode), c.enroll("root", managedNode)
	c.set(held, "reservation", "conductor-1")
	c.set(moving, "provision_state", "inspecting")
	locked := "Node " + held + " is locked by host conductor-1, please retry after the current operation is completed."
	for _, r := range []struct {
		version, token, method, path, body string
		status                             int
		fault                              string
	}{
		{"1.115", "root", "PUT", ready + "/management/boot_device", `{}`, 400, "Missing mandatory parameter: boot_device"},
		{"1.115", "root", "PUT", ready + "/management/boot_device", `{"boot_device": 1}`, 400, "Expected string for boot_device: 1"},
		{"1.115", "root", "PUT", ready + "/management/boot_device", `{"boot_device": "wax"}`, 400, "Invalid boot device wax specified."},
		{"1.115", "root", "PUT", ready + "/management/boot_device", `{"boot_device": "pxe", "persistent": "maybe"}`, 400,
			"Invalid persistent: Unrecognized value 'maybe', acceptable values are: '0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'"},
		{"1.115", "root", "PUT", ready + "/management/boot_device", `{"boot_device": "pxe", "when": 1}`, 400, "Unexpected arguments: when"},
		{"1.115", "root", "PUT", fake + "/management/boot_device", `{"boot_device": "disk"}`, 400, "Invalid boot device disk specified."},
		{"1.115", "root", "PUT", manual + "/management/boot_device", `{"boot_device": "cdrom"}`, 400, "Invalid boot device cdrom specified, supported are pxe, disk."},
		{"1.115", "root", "PUT", ipmi + "/management/boot_device", `{"boot_device": "disk"}`, 400, "Missing the following IPMI credentials in node's driver_info: ['ipmi_address']."},
		{"1.115", "root", "PUT", bare + "/management/boot_device", `{"boot_device": "disk"}`, 400, ""},
		{"1.115", "root", "PUT", held + "/management/boot_device", `{"boot_device": "disk"}`, 409, locked},
		{"1.115", "root", "GET", held + "/management/boot_device", ``, 409, locked},
		{"1.115", "viewer", "PUT", ready + "/management/boot_device", `{"boot_device": "disk"}`, 403, "Access was denied to the following resource: baremetal:node:set_boot_device"},
		{"1.115", "bob", "PUT", ready + "/management/boot_device", `{"boot_device": "disk"}`, 404, "Node " + ready + " could not be found."},
		{"1.28", "root", "PUT", ready + "/management/inject_nmi", ``, 404, "Resource could not be found."},
		{"1.75", "root", "PUT", ready + "/states/boot_mode", `{"target": "uefi"}`, 404, "This endpoint is supported starting with the API version 1.76"},
		{"1.75", "root", "PUT", ready + "/states/secure_boot", `{"target": true}`, 404, "This endpoint is supported starting with the API version 1.76"},
		{"1.115", "root", "PUT", ready + "/states/boot_mode", `{"target": "fast"}`, 400, "Invalid boot mode fast requested for node. Allowed boot modes are: bios, uefi"},
		{"1.115", "root", "PUT", ready + "/states/secure_boot", `{"target": null}`, 400, "Missing mandatory parameter: target"},
		{"1.115", "root", "PUT", ready + "/states/secure_boot", `{"target": "perhaps"}`, 400, ""},
		{"1.115", "root", "PUT", moving + "/states/boot_mode", `{"target": "uefi"}`, 409, "Node is in inspecting state. Since node is transitioning, the boot mode will not be set " +
			"as this may interfere with ongoing changes and result in erroneous modification. Try again later."},
		{"1.115", "root", "PUT", ready + "/management/indicators/led", `{"state": "on"}`, 400, `Malformed indicator name "led"`},
		{"1.115", "root", "PUT", ready + "/management/indicators/led@system", `{}`, 400, "Missing mandatory parameter: state"},
		{"1.115", "root", "GET", ready + "/management/indicators/led", ``, 400, `Malformed indicator name "led"`},
	} {
		got := c.ask(r.token, r.version, r.method, "/v1/nodes/"+r.path, r.body)
		if got.status != r.status || r.fault != "" && got.fault != r.fault {
			t.Errorf("%s %s %s at %s: %d %q", r.method, r.path, r.body, r.version, got.status, got.fault)
		}
	}
	for _, id := range []string{ready, bare, fake, ipmi, manual, moving} {
		if holder, err := c.operations().Holder(t.Context(), c.db.Pool, operations.Node, id); err != nil || holder != "" {
			t.Errorf("%q, %v", holder, err)
		}
	}
}

// What is told is answered once it was done, with what it came to.
func TestManagement(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.enroll("root", managedNode)
	for _, told := range []struct {
		path, body, input string
		fault             *steps.Fault
		status            int
		said              string
	}{
		{"boot_device", `{"boot_device": "pxe", "persistent": true}`, `{"command":"boot_device","device":"pxe","persistent":true}`, nil, 204, ""},
		{"inject_nmi", ``, `{"command":"inject_nmi"}`, nil, 204, ""},
		{"inject_nmi", ``, `{"command":"inject_nmi"}`, &steps.Fault{Code: "NodeNotInterrupted", Message: "nobody knows"}, 409, "nobody knows"},
		{"indicators/led@system", `{"state": "on"}`, `{"command":"indicator","component":"system","indicator":"led","state":"on"}`, nil, 204, ""},
		{"indicators/disk/1:2", `{"state": "on"}`, `{"command":"indicator","component":"disk","indicator":"1:2","state":"on"}`,
			&steps.Fault{Code: "MissingParameterValue", Message: "Unknown indicator"}, 400, "Unknown indicator"},
		{"boot_device", `{"boot_device": "disk"}`, `{"command":"boot_device","device":"disk"}`,
			&steps.Fault{Code: "RedfishError", Message: "Redfish exception occurred. Error: no"}, 500, "Redfish exception occurred. Error: no"},
	} {
		c.door.begins = func(string) {
			var got, want map[string]any
			input := c.input(id)
			if json.Unmarshal([]byte(input), &got) != nil || json.Unmarshal([]byte(told.input), &want) != nil || !maps.Equal(got, want) {
				t.Errorf("%s: it begins with %s", told.path, input)
			}
			result := operations.ResultDone
			if told.fault != nil {
				result = operations.ResultFailed
			}
			c.finish(id, result, steps.NodeOutcome{Told: true}, told.fault)
		}
		got := c.ask("root", "1.115", "PUT", "/v1/nodes/"+id+"/management/"+told.path, told.body)
		if got.status != told.status || got.fault != told.said {
			t.Errorf("%s: %d %q", told.path, got.status, got.fault)
		}
		if node := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body; node["last_error"] != nil || node["reservation"] != nil {
			t.Errorf("%s: %v, %v", told.path, node["last_error"], node["reservation"])
		}
	}
	c.audit()
}

// How a node boots is changed behind the answer, and its row says what came of it.
func TestBootMode(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id, mode, on := c.enroll("root", managedNode), "uefi", true
	c.set(id, "last_error", "of old")
	for _, told := range []struct {
		path, body string
		outcome    steps.NodeOutcome
		fault      *steps.Fault
		shows      string
	}{
		{"boot_mode", `{"target": "uefi"}`, steps.NodeOutcome{BootMode: &mode}, nil, "uefi <nil> <nil>"},
		{"secure_boot", `{"target": "true"}`, steps.NodeOutcome{SecureBoot: &on}, nil, "uefi true <nil>"},
		{"secure_boot", `{"target": false}`, steps.NodeOutcome{}, &steps.Fault{Code: "RedfishError", Message: "Failed to change"}, "uefi true Failed to change"},
	} {
		got := c.ask("root", "1.76", "PUT", "/v1/nodes/"+id+"/states/"+told.path, told.body)
		if got.status != 202 || got.header.Get("Location") != "http://localhost/v1/nodes/"+id+"/states" {
			t.Fatalf("%s: %d %q %v", told.path, got.status, got.fault, got.header)
		}
		node := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
		if node["reservation"] != "conductor-1" || node["last_error"] != nil {
			t.Errorf("%s: %v, %v", told.path, node["reservation"], node["last_error"])
		}
		result := operations.ResultDone
		if told.fault != nil {
			result = operations.ResultFailed
		}
		c.finish(id, result, told.outcome, told.fault)
		node = c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
		if shows := fmt.Sprint(node["boot_mode"], " ", node["secure_boot"], " ", node["last_error"]); shows != told.shows {
			t.Errorf("%s: %s", told.path, shows)
		}
	}
	c.audit()
}

// What conductors answer is shown, and what their BMCs fail with.
func TestManagementAsked(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id, fake := c.enroll("root", managedNode), c.enroll("root", `{"driver": "fake-hardware"}`)
	if got := c.ask("root", "1.115", "GET", "/v1/nodes/"+id+"/management/boot_device", ""); got.status != 404 || !strings.HasPrefix(got.fault, "No valid host was found.") {
		t.Errorf("%d %q", got.status, got.fault)
	}
	c.conductor("conductor-1", "")
	c.bmcs.said = map[string]string{"boot_device": `{"boot_device": "pxe", "persistent": null}`, "indicator": `"blinking"`,
		"indicators": `{"system": {"b": {"readonly": false, "states": ["on"]}}, "chassis": {"a": {"readonly": true, "states": []}}}`}
	for path, want := range map[string]string{
		id + "/management/boot_device":             "map[boot_device:pxe persistent:<nil>]",
		id + "/management/boot_device/supported":   "map[supported_boot_devices:[pxe disk cdrom bios uefihttp]]",
		fake + "/management/boot_device/supported": "map[supported_boot_devices:[pxe]]",
		id + "/management/indicators/led@system":   "map[state:blinking]",
		id + "/management/indicators/system/led":   "map[state:blinking]",
	} {
		if got := c.ask("root", "1.115", "GET", "/v1/nodes/"+path, ""); got.status != 200 || fmt.Sprint(got.body) != want {
			t.Errorf("%s: %d %v", path, got.status, got.body)
		}
	}
	got := c.ask("root", "1.63", "GET", "/v1/nodes/"+id+"/management/indicators", "")
	all, _ := got.body["indicators"].([]any)
	if got.status != 200 || len(all) != 2 {
		t.Fatalf("%d %v", got.status, got.body)
	}
	one := all[0].(map[string]any)
	link := one["links"].([]any)[0].(map[string]any)["href"]
	if one["name"] != "a@chassis" || one["component"] != "chassis" || one["readonly"] != true || link != "http://localhost/v1/nodes/"+id+"/management/indicators/a@chassis" {
		t.Errorf("%v", one)
	}
	for err, want := range map[error]int{
		faults.New(faults.Invalid, "RedfishError", "Redfish exception occurred. Error: no"): 500,
		faults.New(faults.Invalid, "MissingParameterValue", "Unknown indicator"):            400,
		faults.New(faults.Unavailable, "HostLink", "the conductor can't be reached"):        503,
	} {
		c.bmcs.err = err
		if got := c.ask("root", "1.115", "GET", "/v1/nodes/"+id+"/management/boot_device", ""); got.status != want || got.fault != faults.As(err).Message {
			t.Errorf("%v: %d %q", err, got.status, got.fault)
		}
	}
}

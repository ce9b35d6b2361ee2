package baremetal_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
)

// Vendor methods: what there are, what they refuse, and what they answer.
func TestVendorPassthru(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	real, fake := c.enroll("root", strings.Replace(managedNode, "{", `{"vendor_interface": "redfish", `, 1)), c.enroll("root", `{"driver": "fake-hardware"}`)
	held := c.enroll("root", `{"driver": "fake-hardware"}`)
	c.set(held, "reservation", "conductor-1")
	byIPMI, nowhere := c.enroll("root", `{"driver": "ipmi", "driver_info": {"ipmi_address": "192.0.2.1"}}`), c.enroll("root", `{"driver": "ipmi"}`)
	c.bmcs.said = map[string]string{"get_all_subscriptions": `{"Members": []}`, "get_subscription": `{"Id": "1"}`}
	for _, o := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "nodes/" + real + "/vendor_passthru", "", 400, "Missing mandatory parameter: method"},
		{"GET", "nodes/" + real + "/vendor_passthru?method=fly", "", 400, "No handler for method fly"},
		{"POST", "nodes/" + real + "/vendor_passthru/get_subscription", "", 400, "The method get_subscription does not support HTTP POST"},
		{"GET", "nodes/" + real + "/vendor_passthru/get_all_subscriptions", "", 200, `{"Members":[]}`},
		{"GET", "nodes/" + real + "/vendor_passthru?method=get_subscription", `{"id": "1"}`, 200, `{"Id":"1"}`},
		{"GET", "nodes/" + real + "/vendor_passthru?method=get_subscription", `{"id": "../x"}`, 400, "id can't be None"},
		{"DELETE", "nodes/" + real + "/vendor_passthru?method=delete_subscription", `{}`, 400, "id can't be None"},
		{"POST", "nodes/" + real + "/vendor_passthru?method=create_subscription", `{}`, 400, "Destination None is not a valid URI"},
		{"POST", "nodes/" + real + "/vendor_passthru?method=create_subscription", `{"Destination": "https://x", "Context": 1}`, 400, "Context 1.0 is not a valid string"},
		{"POST", "nodes/" + real + "/vendor_passthru?method=create_subscription", `{"Destination": "https://x", "HttpHeaders": "a"}`, 400, "HttpHeaders a is not a list of headers"},
		{"POST", "nodes/" + real + "/vendor_passthru?method=create_subscription", `[]`, 400, "The arguments of a vendor method are an object"},
		{"POST", "nodes/" + real + "/vendor_passthru?method=eject_vmedia", `{"boot_device": "wax"}`, 400, "Boot device wax is not a valid value "},
		{"POST", "nodes/" + fake + "/vendor_passthru?method=second_method", `{}`, 400, "Parameter 'bar' not passed to method 'second_method'."},
		{"POST", "nodes/" + fake + "/vendor_passthru?method=second_method", `{"bar": "x"}`, 202, ""},
		{"POST", "nodes/" + fake + "/vendor_passthru?method=third_method_sync", `{"bar": "meow"}`, 200, "true"},
		{"POST", "nodes/" + fake + "/vendor_passthru?method=third_method_sync", `{"bar": "woof"}`, 200, "false"},
		{"POST", "nodes/" + held + "/vendor_passthru?method=second_method", `{"bar": "x"}`, 409, "Node " + held + " is locked by host conductor-1, please retry after the current operation is completed."},
		{"POST", "nodes/" + held + "/vendor_passthru?method=fourth_method_shared_lock", `{"bar": "x"}`, 202, ""},
		{"POST", "nodes/" + byIPMI + "/vendor_passthru?method=send_raw", `{}`, 400, "Parameter raw_bytes (string of bytes) was not specified."},
		{"POST", "nodes/" + byIPMI + "/vendor_passthru?method=send_raw", `{"raw_bytes": "0x00 0x100"}`, 400, `raw_bytes: "0x100" is no byte`},
		{"POST", "nodes/" + byIPMI + "/vendor_passthru?method=send_raw", `{"raw_bytes": "0x00 0x01; reboot"}`, 400, `raw_bytes: "0x01;" is no byte`},
		{"POST", "nodes/" + byIPMI + "/vendor_passthru?method=send_raw", `{"raw_bytes": ["0x00", "0x01"]}`, 400, `raw_bytes: "['0x00'," is no byte`},
		{"POST", "nodes/" + byIPMI + "/vendor_passthru?method=send_raw", `{"raw_bytes": "0x01 0x01"}`, 400, "raw_bytes are the family of a request, its command and data, of up to 255 bytes"},
		{"POST", "nodes/" + byIPMI + "/vendor_passthru?method=send_raw", `{"raw_bytes": "` + strings.Repeat("1 ", 300) + `"}`, 400, "raw_bytes are the family of a request, its command and data, of up to 255 bytes"},
		{"GET", "nodes/" + byIPMI + "/vendor_passthru?method=bmc_reset", ``, 400, "The method bmc_reset does not support HTTP GET"},
		{"POST", "nodes/" + nowhere + "/vendor_passthru?method=bmc_reset", `{}`, 400, "Missing the following IPMI credentials in node's driver_info: ['ipmi_address']."},
		{"POST", "nodes/" + byIPMI + "/vendor_passthru?method=bmc_reset", `{"warm": "no"}`, 202, ""},
		{"GET", "drivers/redfish/vendor_passthru/methods", "", 200, "{}"},
		{"POST", "drivers/redfish/vendor_passthru?method=fly", "{}", 400, "No handler for method fly"},
		{"GET", "drivers/wax/vendor_passthru/methods", "", 404, "Could not find the following driver(s) or hardware type(s): wax."},
	} {
		if status, said := c.raw(o.method, "/v1/"+o.path, o.body); status != o.status || said != o.says {
			t.Errorf("%s %s %s: %d %s", o.method, o.path, o.body, status, said)
		}
	}
	if input := c.input(byIPMI); !strings.Contains(input, "bmc_reset") || !strings.Contains(input, "cold") {
		t.Errorf("%s", input)
	}
	methods := c.ask("root", "1.115", "GET", "/v1/nodes/"+real+"/vendor_passthru/methods", "").body
	eject, _ := methods["eject_vmedia"].(map[string]any)
	if len(methods) != 5 || eject["async"] != true || eject["require_exclusive_lock"] != true || eject["attach"] != false || eject["http_methods"].([]any)[0] != "POST" {
		t.Errorf("%v", methods)
	}
	if got := c.ask("viewer", "1.115", "GET", "/v1/nodes/"+real+"/vendor_passthru/methods", ""); got.status != 403 {
		t.Errorf("%d", got.status)
	}
}

// raw asks, and gives the fault's text, or the answer itself.
func (c *cloud) raw(method, path, body string) (int, string) {
	c.t.Helper()
	status, text := c.plain("root", "1.115", method, path, body)
	var wrapped struct {
		Text string `json:"error_message"`
	}
	var inner struct{ FaultString string }
	if json.Unmarshal([]byte(text), &wrapped) == nil && wrapped.Text != "" && json.Unmarshal([]byte(wrapped.Text), &inner) == nil {
		return status, inner.FaultString
	}
	return status, strings.ReplaceAll(strings.TrimSpace(text), ": ", ":")
}

// What a BMC says to who subscribes is the answer; what is sent is in no row that anybody
// can read.
func TestSubscribe(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.enroll("root", strings.Replace(managedNode, "{", `{"vendor_interface": "redfish", `, 1))
	c.door.begins = func(operation string) {
		if input := c.input(id); strings.Contains(input, "s3cret") || strings.Contains(input, "192.0.2.9") {
			t.Error(input)
		}
		computetest.InTx(t, c.db, func(tx store.Tx) error {
			if err := baremetal.NoteAct(t.Context(), tx, operation, steps.CommandAct, ""); err != nil {
				return err
			}
			return baremetal.TellAct(t.Context(), tx, operation, steps.CommandAct, `{"Id":"1"}`)
		})
		c.finish(id, operations.ResultDone, steps.NodeOutcome{Told: true}, nil)
	}
	status, said := c.raw("POST", "/v1/nodes/"+id+"/vendor_passthru/create_subscription", `{"Destination": "https://192.0.2.9/", "HttpHeaders": [{"A": "s3cret"}]}`)
	if status != 200 || said != `{"Id":"1"}` {
		t.Errorf("%d %s", status, said)
	}
	c.door.begins = func(string) {
		c.finish(id, operations.ResultFailed, steps.NodeOutcome{Told: true}, &steps.Fault{Code: "SubscriptionNotFound", Message: "none"})
	}
	if status, said := c.raw("DELETE", "/v1/nodes/"+id+"/vendor_passthru?method=delete_subscription", `{"id": "7"}`); status != 404 || said != "none" {
		t.Errorf("%d %s", status, said)
	}
	c.audit()
}

// What a node's interfaces need is told of each.
func TestValidate(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for body, want := range map[string]map[string]string{
		`{"driver": "fake-hardware"}`: {"bios": "", "boot": "", "console": "", "deploy": "", "firmware": "", "inspect": "", "management": "", "network": "", "power": "",
			"raid": "", "rescue": "", "storage": ""},
		`{"driver": "redfish"}`: {"power": "Missing the following Redfish", "management": "Missing the following Redfish", "bios": "Missing the following Redfish",
			"console": "Driver redfish does not support console (disabled or not implemented).", "boot": "Node ",
			"deploy": "Missing the following Redfish", "network": "", "storage": "", "rescue": "Driver redfish does not support rescue (disabled or not implemented)."},
		`{"driver": "ipmi"}`: {"power": "Missing the following IPMI", "management": "Missing the following IPMI", "boot": "Node ",
			"bios": "Driver ipmi does not support bios (disabled or not implemented)."},
		`{"driver": "ipmi", "driver_info": {"ipmi_address": "192.0.2.1"}}`: {"power": "", "management": ""},
		managedNode: {"power": "", "management": "", "inspect": ""},
	} {
		id := c.enroll("root", body)
		got := c.ask("root", "1.115", "GET", "/v1/nodes/"+id+"/validate", "")
		if got.status != 200 || len(got.body) != 12 {
			t.Errorf("%s: %d %v", body, got.status, got.body)
		}
		for name, reason := range want {
			said, _ := got.body[name].(map[string]any)
			why, _ := said["reason"].(string)
			if said["result"] != (reason == "") || !strings.HasPrefix(why, reason) || reason == "" && why != "" {
				t.Errorf("%s: %s: %v", body, name, said)
			}
		}
	}
}

// A node that is booted by the network needs a port, by whose address its machine asks what
// it is booted from.
func TestValidateOfTheNetwork(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.enroll("root", `{"driver": "ipmi", "driver_info": {"ipmi_address": "192.0.2.1"}}`)
	none := fmt.Sprintf("Node %s does not have any port associated with it", id)
	for _, want := range []map[string]string{{"boot": none, "deploy": none}, {"boot": "", "deploy": fmt.Sprintf("Node %s failed to validate deploy image info", id)}} {
		got := c.ask("root", "1.115", "GET", "/v1/nodes/"+id+"/validate", "")
		for name, reason := range want {
			said, _ := got.body[name].(map[string]any)
			why, _ := said["reason"].(string)
			if said["result"] != (reason == "") || !strings.HasPrefix(why, reason) || reason == "" && why != "" {
				t.Errorf("%s: %v, not %q", name, said, reason)
			}
		}
		if got := c.ask("root", "1.115", "POST", "/v1/ports", fmt.Sprintf(`{"node_uuid": %q, "address": "aa:00:00:00:00:01"}`, id)); want["boot"] != "" && got.status != 201 {
			t.Fatal(got)
		}
	}
}

// Consoles: there is none, or one that does nothing.
func TestConsole(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	real, fake := c.enroll("root", managedNode), c.enroll("root", `{"driver": "fake-hardware"}`)
	for _, o := range []struct {
		method, node, body string
		status             int
		says               string
	}{
		{"GET", real, "", 200, `{"console_enabled":false,"console_info":null}`},
		{"PUT", real, `{"enabled": true}`, 400, "Driver redfish does not support console (disabled or not implemented)."},
		{"PUT", real, `{}`, 400, "Missing mandatory parameter: enabled"},
		{"PUT", fake, `{"enabled": "yes"}`, 202, ""},
		{"PUT", fake, `{"enabled": "yes"}`, 202, ""},
		{"GET", fake, "", 200, `{"console_enabled":true,"console_info":{}}`},
		{"PUT", fake, `{"enabled": false}`, 202, ""},
		{"GET", fake, "", 200, `{"console_enabled":false,"console_info":null}`},
	} {
		if status, said := c.raw(o.method, "/v1/nodes/"+o.node+"/states/console", o.body); status != o.status || said != o.says {
			t.Errorf("%s %s: %d %s", o.method, o.body, status, said)
		}
	}
}

package baremetal_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/baremetal"
)

// What is refused of a node's virtual media, with its words, and changes nothing.
func TestMediaRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	ready, fake, bare := c.enroll("root", managedNode), c.enroll("root", `{"driver": "fake-hardware"}`), c.enroll("root", `{"driver": "redfish"}`)
	held, broken := c.enroll("root", managedNode), c.enroll("root", managedNode)
	c.set(held, "reservation", "conductor-1")
	c.set(broken, "maintenance", true)
	c.set(broken, "fault", provision.PowerFailure)
	const disc = `{"device_type": "cdrom", "image_url": "http://192.0.2.9/a.iso"}`
	for _, r := range []struct {
		version, token, method, path, body string
		status                             int
		fault                              string
	}{
		{"1.88", "root", "POST", ready + "/vmedia", disc, 404, ""},
		{"1.88", "root", "DELETE", ready + "/vmedia", ``, 404, ""},
		{"1.92", "root", "GET", ready + "/vmedia", ``, 404, "The resource could not be found."},
		{"1.115", "root", "POST", ready + "/vmedia", ``, 400, "Missing mandatory parameter: vmedia"},
		{"1.115", "root", "POST", ready + "/vmedia", `{"device_type": "cdrom"}`, 400, "Schema error for vmedia: 'image_url' is a required property"},
		{"1.115", "root", "POST", ready + "/vmedia", `{"device_type": "tape", "image_url": "http://x"}`, 400, "Schema error for vmedia: 'tape' is not one of ['disk', 'cdrom', 'floppy']"},
		{"1.115", "root", "POST", ready + "/vmedia", `{"device_type": "cdrom", "image_url": "ftp://x"}`, 400, "Unsupported or missing URL scheme: ftp"},
		{"1.115", "root", "POST", ready + "/vmedia", `{"device_type": "cdrom", "image_url": "http://[x"}`, 400, "Unsupported or missing URL scheme: "},
		{"1.115", "root", "POST", fake + "/vmedia", disc, 400, "Driver fake-hardware does not support attach_virtual_media (disabled or not implemented)."},
		{"1.115", "root", "DELETE", fake + "/vmedia", ``, 400, "Driver fake-hardware does not support detach_virtual_media (disabled or not implemented)."},
		{"1.115", "root", "GET", fake + "/vmedia", ``, 400, "Driver fake-hardware does not support get_virtual_media (disabled or not implemented)."},
		{"1.115", "root", "POST", bare + "/vmedia", disc, 400, ""},
		{"1.115", "root", "GET", bare + "/vmedia", ``, 400, ""},
		{"1.115", "root", "DELETE", ready + "/vmedia?device_types=tape,cdrom,Wax", ``, 400, "Invalid device type(s) tape, wax (valid are disk, cdrom, floppy)"},
		{"1.115", "root", "DELETE", ready + "/vmedia?device=cdrom", ``, 400, "Unexpected arguments: device"},
		{"1.115", "root", "POST", held + "/vmedia", disc, 409, "Node " + held + " is locked by host conductor-1, please retry after the current operation is completed."},
		{"1.115", "root", "POST", broken + "/vmedia", disc, 503, "Unable to attach virtual media for node " + broken + " due to power failure state"},
		{"1.115", "root", "DELETE", broken + "/vmedia", ``, 503, "Unable to detach virtual media for node " + broken + " due to power failure state"},
		{"1.115", "viewer", "POST", ready + "/vmedia", disc, 403, "Access was denied to the following resource: baremetal:node:vmedia:attach"},
		{"1.115", "viewer", "DELETE", ready + "/vmedia", ``, 403, "Access was denied to the following resource: baremetal:node:vmedia:detach"},
		{"1.115", "bob", "GET", ready + "/vmedia", ``, 404, "Node " + ready + " could not be found."},
	} {
		got := c.ask(r.token, r.version, r.method, "/v1/nodes/"+r.path, r.body)
		if got.status != r.status || r.fault != "" && got.fault != r.fault {
			t.Errorf("%s %s %s at %s: %d %q", r.method, r.path, r.body, r.version, got.status, got.fault)
		}
	}
	for _, id := range []string{ready, fake, bare, broken} {
		if holder, err := c.operations().Holder(t.Context(), c.db.Pool, operations.Node, id); err != nil || holder != "" {
			t.Errorf("%q, %v", holder, err)
		}
	}
}

// Media come and go behind the answer, and the row says why they don't; where a medium is
// stands in nothing that can be read.
func TestMedia(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.enroll("root", strings.Replace(managedNode, "{", `{"vendor_interface": "redfish", `, 1))
	const image = "http://bob:s3cret@192.0.2.9/a.iso"
	for _, told := range []struct {
		method, path, body string
		status             int
		command            steps.NodeCommand
		media              []string
		fault              *steps.Fault
	}{
		{"POST", "vmedia", `{"device_type": "floppy", "image_url": "` + image + `", "image_download_source": "http"}`, 204, steps.AttachMedia, []string{"floppy"}, nil},
		{"POST", "vmedia", `{"device_type": "cdrom", "image_url": "` + image + `"}`, 204, steps.AttachMedia, []string{"cdrom"}, &steps.Fault{Code: "RedfishError", Message: "Could not attach"}},
		{"DELETE", "vmedia?device_types=CDROM,,disk,cdrom", ``, 204, steps.DetachMedia, []string{"cdrom", "disk"}, nil},
		{"DELETE", "vmedia", ``, 204, steps.DetachMedia, nil, nil},
		{"POST", "vendor_passthru?method=eject_vmedia", `{"boot_device": "usb"}`, 202, steps.DetachMedia, []string{"disk"}, nil},
	} {
		if got := c.ask("root", "1.89", told.method, "/v1/nodes/"+id+"/"+told.path, told.body); got.status != told.status {
			t.Fatalf("%s %s: %d %q", told.method, told.path, got.status, got.fault)
		}
		var ask steps.NodeCommandInput
		input := c.input(id)
		if err := json.Unmarshal([]byte(input), &ask); err != nil || ask.Command != told.command || fmt.Sprint(ask.Media) != fmt.Sprint(told.media) || strings.Contains(input, "s3cret") {
			t.Errorf("%s %s: it begins with %s, %v", told.method, told.path, input, err)
		}
		if told.command == steps.AttachMedia {
			if plain, err := c.box.Open(ask.Secret, nodes.CommandPlace(&baremetal.Node{UUID: id})); err != nil || string(plain) != image {
				t.Errorf("%s, %v", plain, err)
			}
		}
		result, shows := operations.ResultDone, any(nil)
		if told.fault != nil {
			result, shows = operations.ResultFailed, told.fault.Message
		}
		c.finish(id, result, steps.NodeOutcome{}, told.fault)
		if node := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body; node["last_error"] != shows || node["reservation"] != nil {
			t.Errorf("%s %s: %v, %v", told.method, told.path, node["last_error"], node["reservation"])
		}
	}
	c.audit()
}

// What conductors find in a node's drives is shown.
func TestMediaShown(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.enroll("root", managedNode)
	const found = `[{"media_types":["CD","DVD"],"inserted":true,"image":"http://192.0.2.9/a.iso"},{"media_types":["USBStick"],"inserted":false,"image":null}]`
	c.bmcs.said = map[string]string{"vmedia": found}
	if status, said := c.plain("viewer", "1.93", "GET", "/v1/nodes/"+id+"/vmedia", ""); status != 200 || strings.TrimSpace(said) != found {
		t.Errorf("%d %s", status, said)
	}
}

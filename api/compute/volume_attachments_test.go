package compute_test

import (
	"fmt"
	"testing"
)

// A server's volumes, as each microversion shows them, page by page, and to whom.
func TestVolumeAttachments(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id, none := c.create("alice", "web"), c.create("alice", "none")
	const first, second, third = available, inUse, notBootable
	const attachment = "aaaaaaaa-0000-4000-8000-00000000000a"
	c.query(`INSERT INTO compute.block_devices (server_id, position, source_type, destination_type, volume_id, attachment_id, device_name, tag, delete_on_termination) VALUES
		($1, 0, 'volume', 'volume', '`+first+`', '`+attachment+`', '/dev/vdb', 'data', true),
		($1, 1, 'blank', 'local', '', '', '/dev/vdc', '', true),
		($1, 2, 'volume', 'volume', '`+second+`', '`+attachment+`', '', '', false),
		($1, 3, 'volume', 'volume', '`+third+`', '', '/dev/vdd', '', false),
		($1, 4, 'blank', 'volume', '', '', '/dev/vde', '', false) RETURNING volume_id`, id)
	older := func(volume, more string) string {
		return fmt.Sprintf(`{"id": %q, "volumeId": %q, "serverId": %q%s}`, volume, volume, id, more)
	}
	newer := func(volume, more string) string {
		return fmt.Sprintf(`{"volumeId": %q, "serverId": %q, "attachment_id": "%s", "bdm_uuid": "*"%s}`, volume, id, attachment, more)
	}
	all := func(entries string) string { return `{"volumeAttachments": [` + entries + `]}` }
	path := "/servers/" + id + "/os-volume_attachments"
	list := func(version, query, entries string) step {
		return step{"alice", version, "GET", path + query, "", 200, all(entries)}
	}
	show := func(version, entry string) step {
		return step{"alice", version, "GET", path + "/" + first, "", 200, `{"volumeAttachment": ` + entry + `}`}
	}
	missing := func(token, path, volume string) step {
		return step{token, "2.1", "GET", path + "/" + volume, "", 404, fault("itemNotFound", "404", "Instance "+id+" is not attached to volume "+volume)}
	}
	const device = `, "device": "/dev/vdb"`
	last := older(third, `, "device": "/dev/vdd"`)
	c.play(
		list("2.1", "", older(first, device)+", "+older(second, "")+", "+last),
		list("2.1", "?limit=1&offset=1", older(second, "")),
		list("2.1", "?offset=9", ""),
		list("2.70", "?limit=1", older(first, device+`, "tag": "data"`)),
		list("2.79", "?limit=1", older(first, device+`, "tag": "data", "delete_on_termination": true`)),
		list("2.89", "", newer(first, device+`, "tag": "data", "delete_on_termination": true`)+", "+newer(second, `, "tag": null, "delete_on_termination": false`)),
		show("2.1", older(first, device)),
		show("2.70", older(first, device+`, "tag": "data"`)),
		show("2.79", older(first, device+`, "tag": "data", "delete_on_termination": true`)),
		show("2.104", newer(first, device+`, "tag": "data", "delete_on_termination": true`)),
		missing("alice", path, absent),
		step{"alice", "2.88", "GET", path + "/" + third, "", 200, ""},
		step{"alice", "2.89", "GET", path + "/" + third, "", 404, fault("itemNotFound", "404", "Instance "+id+" is not attached to volume "+third)},
		step{"alice", "2.1", "GET", path + "?limit=x", "", 400, ""},
		step{"alice", "2.1", "GET", "/servers/" + none + "/os-volume_attachments", "", 200, all("")},
		step{"reader", "2.1", "GET", path, "", 200, ""},
		step{"bob", "2.1", "GET", path, "", 404, fault("itemNotFound", "404", "Instance "+id+" could not be found.")},
		step{"bob", "2.1", "GET", path + "/" + first, "", 404, fault("itemNotFound", "404", "Instance "+id+" could not be found.")},
		step{"alice", "2.1", "GET", "/servers/" + absent + "/os-volume_attachments", "", 404, fault("itemNotFound", "404", "Instance "+absent+" could not be found.")},
	)
}

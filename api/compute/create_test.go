package compute_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/internal/store/compute"
)

const (
	network = "6b7c1b8e-6e27-4d43-a5a7-8b1f3f7d0001"
	port    = "6b7c1b8e-6e27-4d43-a5a7-8b1f3f7d0002"
	volume  = "6b7c1b8e-6e27-4d43-a5a7-8b1f3f7d0003"
)

func server(more string) string {
	return fmt.Sprintf(`{"server": {"name": "x", "flavorRef": "1"%s}}`, more)
}

// Everything that a request asks for stands in rows.
func TestCreateWritesItsParts(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	c.play(step{"alice", "2.2", "POST", "/os-keypairs", `{"keypair": {"name": "k"}}`, 201, ""})
	status, body, _ := c.ask("alice", "2.94", "POST", "/servers", `{"server": {"name": "x", "flavorRef": "1", "imageRef": "`+image+`", "key_name": "k", "user_data": "aGVsbG8=",
		"config_drive": "yes", "adminPass": "secret-1", "description": "d", "tags": ["b", "a"], "hostname": "h.example", "accessIPv4": "192.0.2.9", "OS-DCF:diskConfig": "AUTO",
		"availability_zone": "nova", "security_groups": [{"name": "web"}],
		"networks": [{"uuid": "`+network+`", "fixed_ip": "192.0.2.5", "tag": "n"}, {"port": "`+port+`"}],
		"block_device_mapping_v2": [{"source_type": "image", "destination_type": "local", "uuid": "`+image+`", "boot_index": 0, "delete_on_termination": true},
			{"source_type": "blank", "destination_type": "volume", "volume_size": "3", "volume_type": "fast", "tag": "data"},
			{"source_type": "volume", "uuid": "`+volume+`", "boot_index": -1}]},
		"os:scheduler_hints": {"same_host": "`+volume+`"}}`)
	if status != 202 {
		t.Fatalf("%d %v", status, body)
	}
	shown := body["server"].(map[string]any)
	id := shown["id"].(string)
	if shown["adminPass"] != "secret-1" || shown["OS-DCF:diskConfig"] != "AUTO" || fmt.Sprint(shown["security_groups"]) != "[map[name:web]]" {
		t.Errorf("%v", shown)
	}
	for query, want := range map[string]string{
		`SELECT string_agg(concat_ws(' ', position, ours, network_id, port_id, fixed_ip, tag), '; ' ORDER BY position) FROM compute.server_ports WHERE server_id = $1`:                                                       "0 t " + network + "  192.0.2.5 n; 1 f  " + port + "  ",
		`SELECT string_agg(concat_ws(' ', source_type, destination_type, source_id, volume_id, ours, volume_size_gb, volume_type, boot_index, tag), '; ' ORDER BY position) FROM compute.block_devices WHERE server_id = $1`: "image local " + image + "  f 0  0 ; blank volume   t 3 fast data; volume volume  " + volume + " f 0  ",
		`SELECT concat_ws(' ', key_name, config_drive, description, hostname, host(access_ip_v4), disk_config, availability_zone, placement->'hints'->>'same_host') FROM compute.servers WHERE id = $1`:                      "k t d h.example 192.0.2.9 AUTO nova " + volume,
		`SELECT string_agg(tag, ' ' ORDER BY tag) FROM compute.server_tags WHERE server_id = $1`:                                                                                                                             "a b",
	} {
		if got := c.query(query, id); got != want {
			t.Errorf("%s\n got %q\nwant %q", query, got, want)
		}
	}
	data, err := compute.GetBootData(t.Context(), c.db.Pool, c.box, id)
	if err != nil || string(data.UserData) != "hello" || data.AdminPassword != "secret-1" || data.KeyName != "k" || !strings.HasPrefix(data.KeyData, "ssh-rsa ") {
		t.Errorf("%q %v %v", data.UserData, data.KeyName, err)
	}
}

// What contradicts itself, or isn't there, is refused in the original's words.
func TestCreateRefusesContradictions(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	withImage := `, "imageRef": "` + image + `"`
	bdm := func(entries string) string { return `, "block_device_mapping_v2": [` + entries + `]` }
	const root = `{"source_type": "image", "destination_type": "local", "uuid": "` + image + `", "boot_index": 0}`
	bad := "Block Device Mapping is Invalid: "
	for _, k := range []struct{ token, version, body, want string }{
		{"alice", "2.1", server(withImage + `, "min_count": 3, "max_count": 2`), "min_count must be <= max_count"},
		{"alice", "2.90", server(withImage + `, "networks": "none", "max_count": 2, "hostname": "h-1"`), "Unable to allocate a single hostname to multiple instances"},
		{"alice", "2.1", server(withImage + `, "key_name": "none"`), "Invalid key_name provided."},
		{"alice", "2.1", server(withImage + `, "availability_zone": "mars"`), "The requested availability zone is not available"},
		{"root", "2.1", server(withImage + `, "availability_zone": "nova:none"`), "Compute host none could not be found."},
		{"root", "2.74", server(withImage + `, "networks": "none", "host": "none"`), "Compute host none could not be found."},
		{"root", "2.74", server(withImage + `, "networks": "none", "host": "host-1", "availability_zone": "nova:host-1"`),
			"One mechanism with host and/or hypervisor_hostname and another mechanism with zone:host:node are mutually exclusive."},
		{"alice", "2.1", server(withImage + `, "networks": [{"port": "` + port + `", "fixed_ip": "192.0.2.1"}]`),
			"Specified Fixed IP '192.0.2.1' cannot be used with port '" + port + "': the two cannot be specified together."},
		{"alice", "2.1", server(withImage + `, "networks": [{"port": "` + port + `"}, {"port": "` + port + `"}]`), "Port ID '" + port + "' was specified twice: you cannot attach a port multiple times."},
		{"alice", "2.1", server(withImage + `, "networks": [{"fixed_ip": "192.0.2.1"}]`), "Bad network format: missing 'uuid'"},
		{"alice", "2.1", server(withImage + `, "max_count": 2, "networks": [{"uuid": "` + network + `", "fixed_ip": "192.0.2.1"}]`),
			"Failed to launch instances: max_count cannot be greater than 1 if an fixed_ip is specified."},
		{"alice", "2.1", server(bdm(`{"source_type": "blank", "uuid": "` + volume + `"}`)), bad + "Invalid device UUID."},
		{"alice", "2.1", server(bdm(`{"source_type": "volume"}`)), bad + "Missing device UUID."},
		{"alice", "2.1", server(bdm(`{"uuid": "` + volume + `"}`)), bad + "Invalid source_type field."},
		{"alice", "2.1", server(bdm(root)), bad + "Mapping image to local is not supported."},
		{"alice", "2.1", server(bdm(`{"source_type": "image", "destination_type": "volume", "uuid": "` + image + `", "boot_index": 0}`)), bad + "Images with destination_type 'volume' need to have a non-zero size specified"},
		{"alice", "2.1", server(bdm(`{"source_type": "blank", "destination_type": "volume", "boot_index": 0}`)), bad + "Blank volumes (source: 'blank', dest: 'volume') need to have non-zero size"},
		{"alice", "2.1", server(withImage + bdm(root+`, {"source_type": "volume", "uuid": "`+volume+`", "boot_index": 2}`)),
			bad + "Boot sequence for the instance and image/block device mapping combination is not valid."},
		{"alice", "2.1", server(withImage + bdm(`{"source_type": "volume", "uuid": "`+volume+`"}`)),
			bad + "Boot sequence for the instance and image/block device mapping combination is not valid."},
		{"alice", "2.1", server(withImage + bdm(root+strings.Repeat(`, {"source_type": "blank"}`, 3))), bad + "You specified more local devices than the limit allows"},
		{"alice", "2.1", server(withImage + bdm(root+`, {"source_type": "blank", "volume_size": 1}`)),
			"Ephemeral disks requested are larger than the instance type allows. If no size is given in one block device mapping, flavor ephemeral size will be used."},
		{"alice", "2.1", server(withImage + bdm(root+`, {"source_type": "blank", "guest_format": "swap", "volume_size": 1}`)), "Swap drive requested is larger than instance type allows."},
		{"alice", "2.1", server(bdm(root) + `, "block_device_mapping": [{"volume_id": "` + volume + `"}]`), "Using different block_device_mapping syntaxes is not allowed in the same request."},
	} {
		c.play(step{k.token, k.version, "POST", "/servers", k.body, 400, invalid(k.want)})
	}
	c.play(
		step{"alice", "2.1", "POST", "/servers", server(withImage + `, "availability_zone": "nova:host-1"`), 403, forbidden("os_compute_api:servers:create:forced_host")},
		step{"alice", "2.74", "POST", "/servers", server(withImage + `, "networks": "none", "host": "host-1"`), 403, forbidden("compute:servers:create:requested_destination")},
		step{"reader", "2.1", "POST", "/servers", server(withImage), 403, forbidden("os_compute_api:servers:create")},
		step{"root", "2.1", "PUT", "/os-quota-sets/a11ce", `{"quota_set": {"metadata_items": 1}}`, 200, ""},
		step{"alice", "2.1", "POST", "/servers", server(withImage + `, "metadata": {"a": "1", "b": "2"}`), 403, fault("forbidden", "403", "Maximum number of metadata items exceeds 1")},
	)
	if got := c.query(`SELECT (SELECT count(*) FROM compute.servers) || ' ' || (SELECT count(*) FROM engine.operations)`); got != "0 0" {
		t.Errorf("%s rows were left", got)
	}
}

// Of many, as many are made as the quota has room for; each has its own name.
func TestCreateMany(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.play(step{"root", "2.1", "PUT", "/os-quota-sets/a11ce", `{"quota_set": {"instances": 3}}`, 200, ""})
	status, body, _ := c.ask("alice", "2.1", "POST", "/servers", server(`, "imageRef": "`+image+`", "min_count": 2, "max_count": 5, "return_reservation_id": true`))
	if reservation, _ := body["reservation_id"].(string); status != 202 || !strings.HasPrefix(reservation, "r-") {
		t.Fatalf("%d %v", status, body)
	}
	if got := c.query(`SELECT string_agg(name || ' ' || launch_index, ', ' ORDER BY launch_index) FROM compute.servers`); got != "x-1 0, x-2 1, x-3 2" {
		t.Error(got)
	}
	if got := c.query(`SELECT count(*) || ' ' || count(DISTINCT resource_id) FROM engine.operations`); got != "3 3" || len(c.offers.ids) != 3 {
		t.Errorf("%s operations, %d offered", got, len(c.offers.ids))
	}
	c.play(step{"alice", "2.1", "POST", "/servers", server(`, "imageRef": "` + image + `"`), 403,
		fault("forbidden", "403", "Quota exceeded for instances: Requested 1, but already used 3 of 3 instances")})
}

// Security groups are those that have names, each once.
func TestCreateNamesGroups(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for groups, want := range map[string]string{`{}`: "default", `{}, {"name": "web"}, {"name": "web"}`: "web"} {
		status, body, _ := c.ask("alice", "2.1", "POST", "/servers", server(`, "imageRef": "`+image+`", "security_groups": [`+groups+`]`))
		if status != 202 || fmt.Sprint(body["server"].(map[string]any)["security_groups"]) != "[map[name:"+want+"]]" {
			t.Errorf("%s: %d %v", groups, status, body)
		}
	}
}

// A server whose root disk is a volume takes no disk of its host for it.
func TestCreateFromVolume(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.play(
		step{"alice", "2.1", "POST", "/servers", server(`, "block_device_mapping": [{"device_name": "vda", "volume_id": "` + volume + `", "delete_on_termination": "1"}]`), 202, ""},
		step{"alice", "2.1", "GET", "/servers/detail", "", 200, ""},
	)
	if got := c.query(`SELECT disk_gb || ' ' || image_id || '.' FROM compute.servers`); got != "0 ." {
		t.Error(got)
	}
	if got := c.query(`SELECT concat_ws(' ', source_type, volume_id, boot_index, delete_on_termination) FROM compute.block_devices`); got != "volume "+volume+" 0 t" {
		t.Error(got)
	}
}

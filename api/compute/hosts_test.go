package compute_test

// Zones, services, hypervisors, limits, quotas and extensions.

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/store"
	computestore "holdfast.dev/internal/store/compute"
)

const hostID = "0d1d3b3c-6f2c-4a43-8a11-0a4a3e3f5d01"

// addHost registers a host with 8 CPUs, 16 GiB and 100 GiB.
func (c *cloud) addHost() {
	c.t.Helper()
	c.addHostNamed(hostID, "host-1")
}

func (c *cloud) addHostNamed(id, name string) {
	c.t.Helper()
	err := c.db.InTx(c.t.Context(), func(tx store.Tx) error {
		return computestore.RegisterHost(c.t.Context(), tx, computestore.Registration{ID: id, Name: name, Incarnation: 1, Driver: "simulated", LinkAddress: "10.0.0.1:900",
			Report: computestore.Report{VCPUs: 8, MemoryMB: 16384, DiskGB: 100, Inventory: []byte(`{"uptime": " 17:37:14 up  2:33,  0 users,  load average: 0.33, 0.36, 0.34", "details": {"hypervisor_type": "QEMU", "hypervisor_version": 9000, "cpu": {"arch": "x86_64"}}}`)}})
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

func TestHostsAreShown(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	number := c.query(`SELECT number::text FROM compute.hosts`)
	c.play(
		step{"alice", "2.1", "GET", "/os-availability-zone", "", 200, `{"availabilityZoneInfo": [{"zoneName": "nova", "zoneState": {"available": true}, "hosts": null}]}`},
		step{"alice", "2.1", "GET", "/os-availability-zone/detail", "", 403, forbidden("os_compute_api:os-availability-zone:detail")},
		step{"root", "2.1", "GET", "/os-availability-zone/detail", "", 200, ""},
		step{"alice", "2.1", "GET", "/os-services", "", 403, forbidden("os_compute_api:os-services:list")},
		step{"alice", "2.1", "GET", "/os-hypervisors", "", 403, forbidden("os_compute_api:os-hypervisors:list")},
		step{"root", "2.1", "GET", "/os-services?binary=nova-scheduler", "", 200, `{"services": []}`},
		step{"root", "2.1", "GET", "/os-services?host=other", "", 200, `{"services": []}`},
		step{"root", "2.1", "GET", "/os-hypervisors", "", 200, `{"hypervisors": [{"id": ` + number + `, "hypervisor_hostname": "host-1", "state": "up", "status": "enabled"}]}`},
		step{"root", "2.53", "GET", "/os-hypervisors?with_servers=true", "", 200, `{"hypervisors": [{"id": "` + hostID + `", "hypervisor_hostname": "host-1", "state": "up", "status": "enabled"}]}`},
		step{"root", "2.75", "GET", "/os-hypervisors?with_servers=true", "", 200, `{"hypervisors": [{"id": "` + hostID + `", "hypervisor_hostname": "host-1", "state": "up", "status": "enabled", "servers": []}]}`},
		step{"root", "2.88", "GET", "/os-hypervisors/" + hostID, "", 200, `{"hypervisor": {"id": "` + hostID + `", "hypervisor_hostname": "host-1", "state": "up", "status": "enabled",
			"hypervisor_type": "QEMU", "hypervisor_version": 9000, "host_ip": "10.0.0.1", "uptime": " 17:37:14 up  2:33,  0 users,  load average: 0.33, 0.36, 0.34", "service": {"id": "` + hostID + `", "host": "host-1", "disabled_reason": null}}}`},
		step{"root", "2.87", "GET", "/os-hypervisors/statistics", "", 200, `{"hypervisor_statistics": {"count": 1, "vcpus": 8, "vcpus_used": 0, "running_vms": 0, "current_workload": 0,
			"memory_mb": 16384, "memory_mb_used": 512, "free_ram_mb": 15872, "local_gb": 100, "local_gb_used": 0, "free_disk_gb": 100, "disk_available_least": 100}}`},
		step{"root", "2.1", "GET", "/os-hypervisors/" + number + "/uptime", "", 200, `{"hypervisor": {"id": ` + number + `, "hypervisor_hostname": "host-1", "state": "up", "status": "enabled", "uptime": " 17:37:14 up  2:33,  0 users,  load average: 0.33, 0.36, 0.34"}}`},
		step{"root", "2.1", "GET", "/os-hypervisors/host/search", "", 200, ""},
		step{"root", "2.1", "GET", "/os-hypervisors/host/servers", "", 200, ""},
		step{"root", "2.1", "GET", "/os-hypervisors/none/search", "", 404, notFound("No hypervisor matching 'none' could be found.")},
		step{"root", "2.1", "GET", "/os-hypervisors/777", "", 404, notFound("Hypervisor with ID '777' could not be found.")},
		step{"root", "2.53", "GET", "/os-hypervisors/777", "", 400, invalid("Invalid uuid 777")},
		step{"root", "2.33", "GET", "/os-hypervisors?marker=777", "", 400, invalid("marker [777] not found")},
		step{"root", "2.53", "GET", "/os-hypervisors?hypervisor_hostname_pattern=none", "", 404, notFound("No hypervisor matching 'none' could be found.")},
	)
	for _, version := range []string{"2.1", "2.11", "2.28", "2.33", "2.53", "2.69", "2.75", "2.88", "2.104"} {
		c.play(
			step{"root", version, "GET", "/os-services", "", 200, ""},
			step{"root", version, "GET", "/os-hypervisors/detail", "", 200, ""},
		)
	}
}

func TestServicesAreChanged(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	named := func(more string) string { return `{"host": "host-1", "binary": "nova-compute"` + more + `}` }
	c.play(
		step{"alice", "2.1", "PUT", "/os-services/disable", named(""), 403, forbidden("os_compute_api:os-services:update")},
		step{"root", "2.1", "PUT", "/os-services/disable", named(""), 200, `{"service": {"host": "host-1", "binary": "nova-compute", "status": "disabled"}}`},
		step{"root", "2.1", "PUT", "/os-services/disable-log-reason", named(`, "disabled_reason": "fan"`), 200,
			`{"service": {"host": "host-1", "binary": "nova-compute", "status": "disabled", "disabled_reason": "fan"}}`},
		step{"root", "2.1", "PUT", "/os-services/disable-log-reason", named(""), 400, invalid("Missing disabled reason field")},
		step{"root", "2.10", "PUT", "/os-services/force-down", named(""), 404, notFound("Unknown action")},
		step{"root", "2.11", "PUT", "/os-services/force-down", named(`, "forced_down": true`), 200, `{"service": {"host": "host-1", "binary": "nova-compute", "forced_down": true}}`},
		step{"root", "2.1", "PUT", "/os-services/enable", `{"host": "x", "binary": "nova-compute"}`, 404, notFound("Host 'x' is not mapped to any cell")},
		step{"root", "2.53", "PUT", "/os-services/" + hostID, `{}`, 400, invalid("No updates were requested. Fields 'status' or 'forced_down' should be specified.")},
		step{"root", "2.53", "PUT", "/os-services/" + hostID, `{"status": "enabled", "disabled_reason": "x"}`, 400, invalid("Specifying 'disabled_reason' with status 'enabled' is invalid.")},
		step{"root", "2.53", "PUT", "/os-services/" + hostID, `{"status": "enabled", "forced_down": false}`, 200, ""},
		step{"root", "2.53", "PUT", "/os-services/x", `{"status": "enabled"}`, 400, invalid("Invalid uuid x")},
		step{"root", "2.53", "PUT", "/os-services/" + image, `{"status": "enabled"}`, 404, notFound("Service " + image + " could not be found.")},
	)
	if got := c.query(`SELECT disabled::text || forced_down::text FROM compute.hosts`); got != "falsefalse" {
		t.Errorf("host is %s", got)
	}
	id := c.create("alice", "web")
	c.query(`UPDATE compute.servers SET host_id = $1 WHERE id = $2 RETURNING id::text`, hostID, id)
	c.play(step{"root", "2.53", "DELETE", "/os-services/" + hostID, "", 409,
		conflict("Unable to delete compute service that is hosting instances. Migrate or delete the instances first.")})
	c.play(step{"root", "2.53", "GET", "/os-hypervisors/" + hostID + "?with_servers=true", "", 200, ""})
	c.query(`UPDATE compute.servers SET host_id = NULL WHERE id = $1 RETURNING id::text`, id)
	c.play(
		step{"root", "2.53", "DELETE", "/os-services/" + hostID, "", 204, ""},
		step{"root", "2.53", "DELETE", "/os-services/" + hostID, "", 404, notFound("Service " + hostID + " not found.")},
	)
}

// A control worker is two services, which can be seen and forgotten and not changed.
func TestControlWorkersAreServices(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	for range 2 {
		if err := computestore.BeatControl(t.Context(), c.db.Pool, "control-1"); err != nil {
			t.Fatal(err)
		}
	}
	const conductor, scheduler = "0d1d3b3c-6f2c-4a43-8a11-0a4a3e3f5dc1", "0d1d3b3c-6f2c-4a43-8a11-0a4a3e3f5dc2"
	c.query(`UPDATE compute.services SET id = $1, number = 71, last_seen = '2026-11-29T10:00:00Z' WHERE "binary" = 'nova-conductor' RETURNING host`, conductor)
	c.query(`UPDATE compute.services SET id = $1, number = 72, last_seen = now() + interval '10s' WHERE "binary" = 'nova-scheduler' RETURNING host`, scheduler)
	refused := func(binary string) string {
		return invalid("Updating a " + binary + " service is not supported. Only nova-compute services can be updated.")
	}
	c.play(
		step{"root", "2.53", "GET", "/os-services?binary=nova-conductor", "", 200, `{"services": [{"id": "` + conductor + `", "binary": "nova-conductor", "host": "control-1", "zone": "internal",
			"status": "enabled", "state": "down", "updated_at": "2026-11-29T10:00:00.000000", "disabled_reason": null, "forced_down": false}]}`},
		step{"root", "2.1", "GET", "/os-services?binary=nova-conductor&host=control-1", "", 200, `{"services": [{"id": 71, "binary": "nova-conductor", "host": "control-1", "zone": "internal",
			"status": "enabled", "state": "down", "updated_at": "2026-11-29T10:00:00.000000", "disabled_reason": null}]}`},
		step{"root", "2.53", "PUT", "/os-services/" + conductor, `{"status": "disabled"}`, 400, refused("nova-conductor")},
		step{"root", "2.53", "PUT", "/os-services/" + scheduler, `{"forced_down": true}`, 400, refused("nova-scheduler")},
		step{"root", "2.1", "PUT", "/os-services/disable", `{"host": "control-1", "binary": "nova-scheduler"}`, 400, refused("nova-scheduler")},
		step{"root", "2.1", "PUT", "/os-services/enable", `{"host": "control-1", "binary": "nova-compute"}`, 404, notFound("Host 'control-1' is not mapped to any cell")},
		step{"alice", "2.1", "GET", "/os-availability-zone", "", 200, `{"availabilityZoneInfo": [{"zoneName": "nova", "zoneState": {"available": true}, "hosts": null}]}`},
	)
	_, body, _ := c.ask("root", "2.1", "GET", "/os-services", "")
	var seen []string
	for _, s := range body["services"].([]any) {
		s := s.(map[string]any)
		seen = append(seen, fmt.Sprint(s["host"], " ", s["binary"], " ", s["state"]))
	}
	if want := []string{"host-1 nova-compute up", "control-1 nova-conductor down", "control-1 nova-scheduler up"}; !slices.Equal(seen, want) {
		t.Errorf("services %q, want %q", seen, want)
	}
	_, body, _ = c.ask("root", "2.1", "GET", "/os-availability-zone/detail", "")
	zone := body["availabilityZoneInfo"].([]any)[0].(map[string]any)
	parts := zone["hosts"].(map[string]any)["control-1"].(map[string]any)
	if got := fmt.Sprint(zone["zoneName"], " ", parts["nova-conductor"]); got != "internal map[active:true available:false updated_at:2026-11-29T10:00:00.000000]" {
		t.Errorf("zone of the control plane: %s", got)
	}
	c.play(
		step{"root", "2.53", "DELETE", "/os-services/" + conductor, "", 204, ""},
		step{"root", "2.53", "DELETE", "/os-services/" + conductor, "", 404, notFound("Service " + conductor + " not found.")},
		step{"root", "2.1", "DELETE", "/os-services/72", "", 204, ""},
		step{"root", "2.1", "GET", "/os-services?host=control-1", "", 200, `{"services": []}`},
	)
}

func TestLimitsAndQuotas(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.create("alice", "web")
	c.play(
		step{"alice", "2.57", "GET", "/limits", "", 200, `{"limits": {"rate": [], "absolute": {"maxServerMeta": 128, "maxTotalCores": 20, "maxTotalInstances": 10, "maxTotalKeypairs": 100,
			"maxTotalRAMSize": 51200, "maxServerGroups": 10, "maxServerGroupMembers": 10, "totalCoresUsed": 1, "totalInstancesUsed": 1, "totalRAMUsed": 512, "totalServerGroupsUsed": 0}}}`},
		step{"bob", "2.1", "GET", "/limits?tenant_id=a11ce", "", 403, forbidden("os_compute_api:limits:other_project")},
		step{"alice", "2.57", "GET", "/os-quota-sets/a11ce", "", 200, `{"quota_set": {"id": "a11ce", "cores": 20, "instances": 10, "key_pairs": 100, "metadata_items": 128, "ram": 51200, "server_groups": 10, "server_group_members": 10}}`},
		step{"bob", "2.57", "GET", "/os-quota-sets/a11ce", "", 403, forbidden("os_compute_api:os-quota-sets:show")},
		step{"bob", "2.57", "GET", "/os-quota-sets/a11ce/detail", "", 403, forbidden("os_compute_api:os-quota-sets:detail")},
		step{"alice", "2.1", "PUT", "/os-quota-sets/a11ce", `{"quota_set": {"cores": 100}}`, 403, forbidden("os_compute_api:os-quota-sets:update")},
		step{"root", "2.57", "PUT", "/os-quota-sets/a11ce", `{"quota_set": {"cores": "21", "instances": 1}}`, 200,
			`{"quota_set": {"cores": 21, "instances": 1, "key_pairs": 100, "metadata_items": 128, "ram": 51200, "server_groups": 10, "server_group_members": 10}}`},
		step{"root", "2.57", "PUT", "/os-quota-sets/a11ce", `{"quota_set": {"instances": 0}}`, 400,
			invalid("Quota limit 0 for instances must be greater than or equal to already used and reserved 1.")},
		step{"root", "2.57", "PUT", "/os-quota-sets/a11ce", `{"quota_set": {"instances": 0, "force": true}}`, 200, ""},
		step{"root", "2.57", "DELETE", "/os-quota-sets/a11ce", "", 202, ""},
		step{"alice", "2.57", "GET", "/os-quota-sets/a11ce/defaults", "", 200, `{"quota_set": {"id": "a11ce", "cores": 20, "instances": 10, "key_pairs": 100, "metadata_items": 128, "ram": 51200, "server_groups": 10, "server_group_members": 10}}`},
		step{"alice", "2.1", "GET", "/os-quota-class-sets/default", "", 403, forbidden("os_compute_api:os-quota-class-sets:show")},
		step{"root", "2.57", "PUT", "/os-quota-class-sets/default", `{"quota_class_set": {"cores": 5}}`, 200,
			`{"quota_class_set": {"cores": 5, "instances": 10, "key_pairs": 100, "metadata_items": 128, "ram": 51200, "server_groups": 10, "server_group_members": 10}}`},
		step{"root", "2.57", "GET", "/os-quota-class-sets/default", "", 200,
			`{"quota_class_set": {"id": "default", "cores": 5, "instances": 10, "key_pairs": 100, "metadata_items": 128, "ram": 51200, "server_groups": 10, "server_group_members": 10}}`},
	)
	for _, version := range []string{"2.1", "2.36", "2.39", "2.50", "2.57", "2.104"} {
		c.play(
			step{"alice", version, "GET", "/limits", "", 200, ""},
			step{"alice", version, "GET", "/os-quota-sets/a11ce", "", 200, ""},
			step{"alice", version, "GET", "/os-quota-sets/a11ce/detail", "", 200, ""},
			step{"root", version, "GET", "/os-quota-class-sets/default", "", 200, ""},
		)
	}
}

func TestExtensions(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.play(
		step{"alice", "2.1", "GET", "/extensions", "", 200, ""},
		step{"alice", "2.1", "GET", "/extensions/OS-DCF", "", 200, ""},
		step{"alice", "2.1", "GET", "/extensions/none", "", 404, ""},
	)
}

func TestKeypairs(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	const key = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDx8nkQv/zgGgB4rMYmIf+6A4l6Rr+o/6lHBQdW5aYd44bd8JttDCE/F/pNRr0lRE+PiqSPO8nDPHw0010JeMH9gYgnnFlyY3/OcJ02RhIPyyxYpv9FhY+2YiUkpwFOcLImyrxEsYXpD/0d3ac30bNH6Sw9JD9UZHYcpSxsIbECHw== Generated-by-Nova"
	const print = "1e:2c:9b:56:79:4b:45:77:f9:ca:7a:98:2c:b0:d5:3c"
	body := func(name, more string) string { return fmt.Sprintf(`{"keypair": {"name": %q%s}}`, name, more) }
	brought := `, "public_key": "` + key + `"`
	c.play(
		step{"alice", "2.1", "POST", "/os-keypairs", body("k 1", brought), 200,
			`{"keypair": {"name": "k 1", "public_key": "` + key + `", "fingerprint": "` + print + `", "user_id": "alice"}}`},
		step{"alice", "2.2", "POST", "/os-keypairs", body("k2", brought), 201,
			`{"keypair": {"name": "k2", "type": "ssh", "public_key": "` + key + `", "fingerprint": "` + print + `", "user_id": "alice"}}`},
		step{"alice", "2.2", "POST", "/os-keypairs", body("k2", brought), 409, conflict("Key pair 'k2' already exists.")},
		step{"alice", "2.2", "POST", "/os-keypairs", body("k3", `, "public_key": "nonsense"`), 400, invalid("Keypair data is invalid: failed to generate fingerprint")},
		step{"alice", "2.2", "POST", "/os-keypairs", body("new", ""), 201, ""},
		step{"alice", "2.2", "POST", "/os-keypairs", body("newx", `, "type": "x509"`), 201, ""},
		step{"alice", "2.92", "POST", "/os-keypairs", body("a@b.c", brought), 201, ""},
		step{"alice", "2.92", "DELETE", "/os-keypairs/a@b.c", "", 204, ""}, // older lists have no place for its name
		step{"alice", "2.10", "POST", "/os-keypairs", body("k4", brought+`, "user_id": "bob"`), 403, forbidden("os_compute_api:os-keypairs:create")},
		step{"root", "2.10", "POST", "/os-keypairs", body("k4", brought+`, "user_id": "bob"`), 201, ""},
		step{"bob", "2.1", "GET", "/os-keypairs", "", 200, `{"keypairs": [{"keypair": {"name": "k4", "public_key": "` + key + `", "fingerprint": "` + print + `"}}]}`},
		step{"alice", "2.10", "GET", "/os-keypairs?user_id=bob", "", 403, forbidden("os_compute_api:os-keypairs:index")},
		step{"root", "2.10", "GET", "/os-keypairs/k4?user_id=bob", "", 200, ""},
		step{"alice", "2.1", "GET", "/os-keypairs/k4", "", 404, notFound("Keypair k4 not found for user alice")},
		step{"alice", "2.35", "GET", "/os-keypairs?limit=1", "", 200, ""},
		step{"alice", "2.35", "GET", "/os-keypairs?marker=none", "", 400, invalid("Marker none could not be found.")},
		step{"alice", "2.1", "DELETE", "/os-keypairs/k%201", "", 202, ""},
		step{"alice", "2.2", "DELETE", "/os-keypairs/k2", "", 204, ""},
		step{"alice", "2.2", "DELETE", "/os-keypairs/k2", "", 404, notFound("Keypair k2 not found for user alice")},
		step{"root", "2.1", "PUT", "/os-quota-sets/a11ce", `{"quota_set": {"key_pairs": 2}}`, 200, ""},
		step{"alice", "2.2", "POST", "/os-keypairs", body("k5", brought), 403, fault("forbidden", "403", "Quota exceeded, too many key pairs.")},
	)
	for _, version := range []string{"2.1", "2.2", "2.10", "2.35", "2.92"} {
		c.play(
			step{"alice", version, "GET", "/os-keypairs", "", 200, ""},
			step{"alice", version, "GET", "/os-keypairs/new", "", 200, ""},
		)
	}
}

// A user's own limits hold beside the project's, and can't be set where they
// would contradict them.
func TestUsersHaveQuotas(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.create("alice", "one")
	set := func(path, body string, status int, want string) step {
		return step{"root", "2.57", "PUT", "/os-quota-sets/" + path, `{"quota_set": ` + body + `}`, status, want}
	}
	c.play(
		set("a11ce?user_id=alice", `{"instances": 0}`, 400, invalid("Quota limit 0 for instances must be greater than or equal to already used and reserved 1.")),
		set("a11ce?user_id=alice", `{"instances": 11}`, 400, invalid("Quota limit 11 for instances must be less than or equal to 10.")),
		set("a11ce?user_id=alice", `{"instances": -1}`, 400, invalid("Quota limit -1 for instances must be less than or equal to 10.")),
		set("a11ce?user_id=alice", `{"instances": 2, "cores": 20}`, 200, ""),
		set("a11ce?user_id=reader", `{"instances": 9}`, 400, invalid("Quota limit 9 for instances must be less than or equal to 8.")),
		set("a11ce", `{"instances": 1}`, 400, invalid("Quota limit 1 for instances must be greater than or equal to already used and reserved 2.")),
		set("a11ce", `{"instances": 1, "force": true}`, 200, ""),
		set("a11ce", `{"instances": 10}`, 200, ""),
	)
	if _, body, _ := c.ask("alice", "2.57", "GET", "/os-quota-sets/a11ce/detail?user_id=alice", ""); fmt.Sprint(body["quota_set"].(map[string]any)["instances"]) != "map[in_use:1 limit:2 reserved:0]" {
		t.Errorf("%v", body)
	}
	body := `{"server": {"name": "x", "flavorRef": "1", "imageRef": "` + image + `", "min_count": 1, "max_count": 5}}`
	c.play(
		step{"alice", "2.1", "POST", "/servers", body, 202, ""},
		step{"alice", "2.1", "POST", "/servers", body, 403, fault("forbidden", "403", "Quota exceeded for instances: Requested 1-5, but already used 2 of 2 instances")},
		step{"root", "2.1", "DELETE", "/os-quota-sets/a11ce?user_id=alice", "", 202, ""},
		step{"alice", "2.1", "POST", "/servers", body, 202, ""},
	)
	if n := c.query(`SELECT count(*)::text FROM compute.servers`); n != "7" {
		t.Errorf("%s servers, want 2 while the user's quota held and 5 after", n)
	}
}

// Files are taken until 2.56, within the quota, for the config drive.
func TestFilesAreTaken(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	files := func(list string) string {
		return `{"server": {"name": "x", "flavorRef": "1", "imageRef": "` + image + `", "networks": "none", "personality": [` + list + `]}}`
	}
	const one = `{"path": "/etc/banner", "contents": "aGVsbG8="}`
	over := func(text string) string { return fault("forbidden", "403", text) }
	c.play(
		step{"alice", "2.56", "POST", "/servers", files(strings.Repeat(one+",", 5) + one), 403, over("Personality file limit exceeded")},
		step{"alice", "2.56", "POST", "/servers", files(`{"path": "/` + strings.Repeat("a", 255) + `", "contents": ""}`), 403, over("Personality file path exceeds maximum 255")},
		step{"alice", "2.56", "POST", "/servers", files(`{"path": "/a", "contents": "` + strings.Repeat("YWJj", 2561) + `"}`), 403, over("Personality file content exceeds maximum 10240")},
		step{"alice", "2.56", "POST", "/servers", files(`{"path": "/a", "contents": "a"}`), 400, ""},
		step{"alice", "2.57", "POST", "/servers", files(one), 400, ""},
	)
	status, body, _ := c.ask("alice", "2.56", "POST", "/servers", files(one))
	if status != 202 {
		t.Fatalf("%d %v", status, body)
	}
	data, err := computestore.GetBootData(t.Context(), c.db.Pool, c.box, body["server"].(map[string]any)["id"].(string))
	if err != nil || len(data.Files) != 1 || data.Files[0].Path != "/etc/banner" || string(data.Files[0].Contents) != "hello" {
		t.Errorf("%+v, %v", data.Files, err)
	}
}

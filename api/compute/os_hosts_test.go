package compute_test

import "testing"

// Hosts are shown, and taken out of scheduling, by name until 2.42.
func TestHostsByName(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	c.addHostNamed("0d1d3b3c-6f2c-4a43-8a11-0a4a3e3f5d02", "host-2")
	c.query(`INSERT INTO compute.services (host, "binary") VALUES ('control-1', 'nova-scheduler') RETURNING host`)
	for _, owner := range []string{"alice", "alice", "bob"} {
		c.settle(c.create(owner, "web"), "active")
	}
	gone := c.create("alice", "gone")
	c.settle(gone, "active")
	c.query(`UPDATE compute.servers SET deleted_at = now() WHERE id = $1 RETURNING id::text`, gone)
	c.query(`UPDATE compute.hosts SET vcpus_used = 3, memory_mb_used = 1536, disk_gb_used = 3, reserved_disk_gb = 5 WHERE id = $1 RETURNING name`, hostID)

	use := func(project, rest string) string {
		return `{"resource": {"host": "host-1", "project": "` + project + `", ` + rest + `}}`
	}
	service := func(host, service, zone string) string {
		return `{"host_name": "` + host + `", "service": "` + service + `", "zone": "` + zone + `"}`
	}
	list := func(query, services string) step {
		return step{"root", "2.42", "GET", "/os-hosts" + query, "", 200, `{"hosts": [` + services + `]}`}
	}
	change := func(body string, status int, want string) step {
		return step{"root", "2.1", "PUT", "/os-hosts/host-1", body, status, want}
	}
	absent := notFound("Host 'none' is not mapped to any cell")
	unsupported := fault("notImplemented", "501", "The requested functionality is not supported.")
	one, two, control := service("host-1", "compute", "nova"), service("host-2", "compute", "nova"), service("control-1", "scheduler", "internal")
	c.play(
		list("", one+", "+two+", "+control), list("?zone=", one+", "+two+", "+control), list("?zone=internal", control), list("?zone=none", ""),
		step{"alice", "2.1", "GET", "/os-hosts", "", 403, forbidden("os_compute_api:os-hosts:list")},
		step{"root", "2.43", "GET", "/os-hosts", "", 404, ""},

		step{"root", "2.42", "GET", "/os-hosts/host-1", "", 200, `{"host": [` + use("(total)", `"cpu": 8, "memory_mb": 16384, "disk_gb": 100`) + `, ` +
			use("(used_now)", `"cpu": 3, "memory_mb": 2048, "disk_gb": 8`) + `, ` + use("(used_max)", `"cpu": 3, "memory_mb": 1536, "disk_gb": 3`) + `, ` +
			use("a11ce", `"cpu": 2, "memory_mb": 1024, "disk_gb": 2`) + `, ` + use("b0b", `"cpu": 1, "memory_mb": 512, "disk_gb": 1`) + `]}`},
		step{"root", "2.1", "GET", "/os-hosts/none", "", 404, absent},
		step{"alice", "2.1", "GET", "/os-hosts/host-1", "", 403, forbidden("os_compute_api:os-hosts:show")},
		step{"root", "2.43", "GET", "/os-hosts/host-1", "", 404, ""},

		change(`{"status": "Disable"}`, 200, `{"host": "host-1", "status": "disabled"}`), list("?zone=nova", two),
		change(`{"maintenance_mode": "DISABLE"}`, 200, `{"host": "host-1", "maintenance_mode": "off_maintenance"}`), list("?zone=nova", two),
		change(`{"status": "enable", "maintenance_mode": "enable"}`, 501, unsupported), list("?zone=nova", two),
		change(`{"status": "enable", "maintenance_mode": "disable"}`, 200, `{"host": "host-1", "status": "enabled", "maintenance_mode": "off_maintenance"}`), list("?zone=nova", one+", "+two),
		change(`{}`, 400, ""), change(`{"status": "up"}`, 400, ""), change(`{"status": "enable", "x": 1}`, 400, ""),
		step{"root", "2.1", "PUT", "/os-hosts/none", `{"status": "enable", "maintenance_mode": "enable"}`, 404, absent},
		step{"alice", "2.1", "PUT", "/os-hosts/host-1", `{"status": "disable"}`, 403, forbidden("os_compute_api:os-hosts:update")},
	)
	for path, rule := range map[string]string{"startup": "start", "shutdown": "shutdown", "reboot": "reboot"} {
		c.play(
			step{"root", "2.1", "GET", "/os-hosts/host-1/" + path, "", 501, unsupported},
			step{"root", "2.1", "GET", "/os-hosts/none/" + path, "", 404, absent},
			step{"alice", "2.1", "GET", "/os-hosts/host-1/" + path, "", 403, forbidden("os_compute_api:os-hosts:" + rule)},
			step{"root", "2.43", "GET", "/os-hosts/host-1/" + path, "", 404, ""},
		)
	}
}

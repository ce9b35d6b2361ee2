package compute_test

import (
	"net/url"
	"strings"
	"testing"
)

// listed asks for names in their order.
func (c *cloud) listed(token, version, query string) string {
	c.t.Helper()
	status, body, _ := c.ask(token, version, "GET", "/servers?"+query, "")
	if status != 200 {
		c.t.Errorf("%s: %d %v", query, status, body)
		return ""
	}
	var names []string
	for _, s := range body["servers"].([]any) {
		names = append(names, s.(map[string]any)["name"].(string))
	}
	return strings.Join(names, " ")
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	a, b := c.create("alice", "web-a"), c.create("alice", "db-b")
	c.create("bob", "bobs")
	c.settle(a, "active")
	c.query(`UPDATE compute.servers SET locked = true, key_name = 'k', description = 'first one' WHERE id = $1 RETURNING id::text`, a)
	c.query(`INSERT INTO compute.server_tags (server_id, tag) VALUES ($1, 'x'), ($1, 'y'), ($2, 'x') RETURNING tag`, a, b)
	c.query(`INSERT INTO compute.server_ports (server_id, position, ours, network_id, port_id, bound, network_name, mac, fixed_ips)
		VALUES ($1, 0, true, 'n', 'p', true, 'private', 'm', '[{"subnet_id": "s", "ip_address": "192.0.2.7"}, {"subnet_id": "s", "ip_address": "2001:db8::7"}]') RETURNING port_id`, a)
	c.query(`UPDATE compute.servers SET created_at = '2026-01-02T03:04:05Z', power_state = 1, access_ip_v4 = '192.0.2.9' WHERE id = $1 RETURNING id::text`, a)
	gone := c.create("bob", "gone")
	c.query(`UPDATE compute.servers SET created_at = '2025-01-01T00:00:00Z', deleted_at = now(), vm_state = 'deleted', task_state = NULL WHERE id = $1 RETURNING id::text`, gone)
	for _, k := range []struct{ token, version, query, want string }{
		{"alice", "2.1", "", "db-b web-a"},
		{"alice", "2.1", "sort_key=display_name&sort_dir=desc", "web-a db-b"},
		{"alice", "2.1", "name=web", "web-a"},
		{"alice", "2.1", "name=^web-.$", "web-a"},
		{"alice", "2.1", "status=ACTIVE", "web-a"},
		{"alice", "2.37", "status=nonsense", ""},
		{"alice", "2.1", "flavor=1", "db-b web-a"},
		{"alice", "2.1", "flavor=2", ""},
		{"alice", "2.1", "image=" + image, "db-b web-a"},
		{"alice", "2.1", "ip=192.0.2", "web-a"},
		{"alice", "2.1", "ip=192.0.3", ""},
		{"alice", "2.5", "ip6=2001:db8", "web-a"},
		{"alice", "2.26", "tags=x,y", "web-a"},
		{"alice", "2.26", "tags-any=y,z", "web-a"},
		{"alice", "2.26", "not-tags=x,y", "db-b"},
		{"alice", "2.26", "not-tags-any=y", "db-b"},
		{"alice", "2.73", "locked=true", "web-a"},
		{"alice", "2.73", "locked=false", "db-b"},
		{"alice", "2.83", "key_name=k", "web-a"},
		{"alice", "2.83", "vm_state=building", "db-b"},
		{"alice", "2.82", "vm_state=building", "db-b web-a"}, // not for members yet: as if it hadn't been sent
		{"alice", "2.1", "host=host-1", "db-b web-a"},
		{"root", "2.1", "all_tenants=1&host=host-1", "web-a"},
		{"root", "2.1", "all_tenants=1&project_id=b0b", "bobs"},
		{"root", "2.1", "all_tenants=1&description=first", "web-a"},
		{"alice", "2.83", "key_name=^.$", "web-a"},
		{"alice", "2.83", "availability_zone=nov", "web-a"},
		{"alice", "2.83", "config_drive=true", ""},
		{"alice", "2.83", "config_drive=false", "db-b web-a"},
		{"alice", "2.83", "config_drive=perhaps", ""},
		{"alice", "2.83", "created_at=^2026-01-02 03", "web-a"},
		{"alice", "2.82", "created_at=^2026-01-02 03", "db-b web-a"},
		{"alice", "2.83", "launched_at=^$", "db-b"},
		{"alice", "2.83", "terminated_at=2", ""},
		{"alice", "2.83", "power_state=1", "web-a"},
		{"alice", "2.83", "power_state=x", ""},
		{"alice", "2.83", "progress=^0$", "db-b web-a"},
		{"alice", "2.83", "user_id=alice", "db-b web-a"},
		{"alice", "2.83", "user_id=bob", ""},
		{"alice", "2.83", "task_state=scheduling", "db-b"},
		{"alice", "2.90", "hostname=web", "web-a"},
		{"alice", "2.89", "hostname=web", "db-b web-a"},
		{"alice", "2.1", "name=db&name=web", "web-a"}, // the last one counts
		{"alice", "2.1", "status=ACTIVE&status=BUILD", "db-b web-a"},
		{"alice", "2.1", "status=DELETED&status=ACTIVE", "web-a"},
		{"alice", "2.1", "deleted=true", "db-b web-a"},
		{"alice", "2.1", "node=none&uuid=x&locked_by=x&launch_index=7&metadata=x&_x=1", "db-b web-a"},
		{"alice", "2.1", "sort_key=vcpus&sort_dir=desc&sort_key=display_name&sort_dir=asc", "db-b web-a"},
		{"alice", "2.1", "sort_key=locked&sort_dir=asc", "db-b web-a"},
		{"alice", "2.73", "sort_key=locked&sort_dir=desc", "web-a db-b"},
		{"alice", "2.1", "sort_dir=asc", "web-a db-b"},
		{"alice", "2.1", "sort_key=project_id&sort_dir=asc&sort_key=display_name", "db-b web-a"},
		{"root", "2.1", "all_tenants=1&deleted=true", "gone"},
		{"root", "2.1", "all_tenants=1&status=DELETED", "gone"},
		{"root", "2.1", "all_tenants=1&changes-since=2020-01-01T00:00:00Z&deleted=false", "bobs db-b web-a"},
		{"root", "2.1", "all_tenants=1&changes-since=2020-01-01T00:00:00Z", "bobs db-b web-a gone"},
		{"root", "2.66", "all_tenants=1&changes-before=2999-01-01T00:00:00Z&name=^gone", "gone"},
		{"root", "2.1", "all_tenants=1&uuid=" + a, "web-a"},
		{"root", "2.1", "all_tenants=1&node=^host-.$", "web-a"},
		{"root", "2.1", "all_tenants=1&display_name=web", "web-a"},
		{"root", "2.1", "all_tenants=1&display_description=^first", "web-a"},
		{"root", "2.1", "all_tenants=1&image_ref=" + image, "bobs db-b web-a"},
		{"root", "2.1", "all_tenants=1&kernel_id=x", ""},
		{"root", "2.1", "all_tenants=1&ramdisk_id=x", ""},
		{"root", "2.1", "all_tenants=1&launch_index=0", "bobs db-b web-a"},
		{"root", "2.1", "all_tenants=1&locked_by=owner", ""},
		{"root", "2.1", "all_tenants=1&access_ip_v4=^192.0.2.9$", "web-a"},
		{"root", "2.1", "all_tenants=1&access_ip_v6=2001", ""},
		{"root", "2.1", "all_tenants=1&auto_disk_config=1", ""},
		{"root", "2.1", "all_tenants=1&tenant_id=b0b", "bobs"},
		{"root", "2.1", "tenant_id=b0b", ""},
		{"root", "2.1", "all_tenants=1&name=web&tags=x&sort_key=host", "web-a"},
		{"alice", "2.1", "changes-since=2020-01-01T00:00:00Z", "db-b web-a"},
		{"alice", "2.66", "changes-before=2020-01-01T00:00:00Z", ""},
		{"alice", "2.1", "limit=0", ""},
	} {
		query, err := url.ParseQuery(k.query)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.listed(k.token, k.version, query.Encode()); got != k.want {
			t.Errorf("%s at %s %s: %q, want %q", k.token, k.version, k.query, got, k.want)
		}
	}
	c.play(
		step{"alice", "2.38", "GET", "/servers?status=nonsense", "", 400, invalid("Invalid status value")},
		step{"alice", "2.1", "GET", "/servers?status=DELETED", "", 403, fault("forbidden", "403", "Only administrators may list deleted instances")},
		step{"root", "2.1", "GET", "/servers?metadata=x", "", 400, invalid("Invalid filter field: metadata.")},
		step{"root", "2.1", "GET", "/servers/detail?_x=1", "", 400, invalid("Invalid filter field: _x.")},
		step{"alice", "2.1", "GET", "/servers?sort_dir=up", "", 400, invalid("Invalid input received: Unknown sort direction, must be 'desc' or 'asc'")},
		step{"alice", "2.1", "GET", "/servers?sort_dir=asc&sort_dir=asc", "", 400, invalid("Invalid input received: Sort direction size exceeds sort key size")},
		step{"alice", "2.1", "GET", "/servers?sort_key=host", "", 403, fault("forbidden", "403", "Only administrators can sort servers by host")},
		step{"alice", "2.66", "GET", "/servers?changes-since=2020-01-02&changes-before=2020-01-01", "", 400,
			invalid("The value of changes-since must be less than or equal to changes-before.")},
		step{"alice", "2.1", "GET", "/servers?all_tenants=1", "", 403, forbidden("os_compute_api:servers:index:get_all_tenants")},
	)
	for _, version := range []string{"2.1", "2.3", "2.9", "2.16", "2.19", "2.26", "2.47", "2.63", "2.69", "2.73", "2.90", "2.96", "2.98", "2.100", "2.104"} {
		c.play(step{"root", version, "GET", "/servers/detail?all_tenants=1", "", 200, ""})
	}
}

// Pages by several keys and directions make the whole list, each server once.
func TestListPagesBySeveralKeys(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for _, name := range []string{"b", "a", "c", "a", "b"} {
		c.create("alice", name)
	}
	var names []string
	path := "/servers/detail?sort_key=task_state&sort_dir=desc&sort_key=display_name&sort_dir=asc&sort_key=created_at&sort_dir=desc&limit=2"
	for path != "" {
		status, body, _ := c.ask("alice", "2.1", "GET", path, "")
		if status != 200 {
			t.Fatalf("%s: %d %v", path, status, body)
		}
		for _, s := range body["servers"].([]any) {
			names = append(names, s.(map[string]any)["name"].(string))
		}
		path = ""
		if links, ok := body["servers_links"].([]any); ok {
			path = strings.TrimPrefix(links[0].(map[string]any)["href"].(string), "http://cloud/v2.1")
		}
	}
	if got := strings.Join(names, ""); got != "aabbc" {
		t.Errorf("pages give %s", got)
	}
}

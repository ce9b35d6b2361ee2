package compute_test

import (
	"testing"
)

func TestServerGroups(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.play(
		step{"reader", "2.64", "POST", "/os-server-groups", `{"server_group": {"name": "g", "policy": "affinity"}}`, 403, forbidden("os_compute_api:os-server-groups:create")},
		step{"alice", "2.1", "GET", "/os-server-groups", "", 200, `{"server_groups": []}`},
		step{"alice", "2.1", "POST", "/os-server-groups", `{"server_group": {"name": "near", "policies": ["affinity"]}}`, 200,
			`{"server_group": {"id": "*", "name": "near", "policies": ["affinity"], "members": [], "metadata": {}}}`},
		step{"alice", "2.64", "POST", "/os-server-groups", `{"server_group": {"name": "far", "policy": "anti-affinity", "rules": {"max_server_per_host": "3"}}}`, 200,
			`{"server_group": {"id": "*", "name": "far", "policy": "anti-affinity", "rules": {"max_server_per_host": 3}, "members": [], "project_id": "a11ce", "user_id": "alice"}}`},
		step{"alice", "2.64", "POST", "/os-server-groups", `{"server_group": {"name": "g", "policy": "affinity", "rules": {"max_server_per_host": 3}}}`, 400,
			invalid("Only anti-affinity policy supports rules.")},
		step{"bob", "2.64", "GET", "/os-server-groups", "", 200, `{"server_groups": []}`},
		step{"bob", "2.64", "GET", "/os-server-groups?all_projects=1", "", 200, `{"server_groups": []}`},
		step{"root", "2.64", "GET", "/os-server-groups?all_projects=1&limit=1&offset=1", "", 200, `{"server_groups": [{"id": "*", "name": "far", "policy": "anti-affinity", "rules": {"max_server_per_host": 3},
			"members": [], "project_id": "a11ce", "user_id": "alice"}]}`},
		step{"alice", "2.64", "GET", "/os-server-groups/nonsense", "", 404, notFound("Instance group nonsense could not be found.")},
	)
	near := c.query(`SELECT id::text FROM compute.server_groups WHERE name = 'near'`)
	c.play(
		step{"bob", "2.64", "GET", "/os-server-groups/" + near, "", 403, forbidden("os_compute_api:os-server-groups:show")},
		step{"bob", "2.64", "DELETE", "/os-server-groups/" + near, "", 403, forbidden("os_compute_api:os-server-groups:delete")},
		step{"alice", "2.1", "POST", "/servers", grouped("a", "6f70656e-7374-4361-b369-64656e746974"), 400,
			invalid("Instance group 6f70656e-7374-4361-b369-64656e746974 could not be found.")},
		step{"bob", "2.1", "POST", "/servers", grouped("a", near), 400, invalid("Instance group " + near + " could not be found.")},
		step{"alice", "2.1", "POST", "/servers", grouped("a", near), 202, ""},
	)
	member := c.query(`SELECT id::text FROM compute.servers`)
	c.play(
		step{"alice", "2.64", "GET", "/os-server-groups/" + near, "", 200, `{"server_group": {"id": "` + near + `", "name": "near", "policy": "affinity", "rules": {},
			"members": ["` + member + `"], "project_id": "a11ce", "user_id": "alice"}}`},
		step{"root", "2.57", "PUT", "/os-quota-sets/a11ce", `{"quota_set": {"server_group_members": 1, "server_groups": 2}}`, 200, ""},
		step{"alice", "2.1", "POST", "/servers", grouped("b", near), 403, fault("forbidden", "403", "Quota exceeded, too many servers in group")},
		step{"alice", "2.64", "POST", "/os-server-groups", `{"server_group": {"name": "g", "policy": "affinity"}}`, 403, fault("forbidden", "403", "Quota exceeded, too many server groups.")},
	)
	if n := c.query(`SELECT count(*)::text FROM compute.servers`); n != "1" {
		t.Errorf("%s servers: what was refused left a row", n)
	}
	c.query(`UPDATE compute.servers SET deleted_at = now() RETURNING id::text`)
	c.play(
		step{"alice", "2.64", "GET", "/os-server-groups/" + near, "", 200, `{"server_group": {"id": "` + near + `", "name": "near", "policy": "affinity", "rules": {},
			"members": [], "project_id": "a11ce", "user_id": "alice"}}`},
		step{"alice", "2.64", "DELETE", "/os-server-groups/" + near, "", 204, ""},
		step{"alice", "2.64", "GET", "/os-server-groups/" + near, "", 404, notFound("Instance group " + near + " could not be found.")},
	)
}

// Hints that can't be read are refused before anything is written.
func TestBadHints(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for _, hints := range []string{`{"query": "[\"eval\", 1]"}`, `{"query": {"a": 1}}`, `{"build_near_host_ip": "10.0.0.1", "cidr": "/77"}`} {
		c.play(step{"alice", "2.1", "POST", "/servers",
			`{"server": {"name": "a", "flavorRef": "1", "imageRef": "` + image + `"}, "os:scheduler_hints": ` + hints + `}`, 400, ""})
	}
	if n := c.query(`SELECT count(*)::text FROM compute.servers`); n != "0" {
		t.Errorf("%s servers", n)
	}
}

func grouped(name, group string) string {
	return `{"server": {"name": "` + name + `", "flavorRef": "1", "imageRef": "` + image + `"}, "os:scheduler_hints": {"group": "` + group + `"}}`
}

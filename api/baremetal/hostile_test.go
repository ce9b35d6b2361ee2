package baremetal_test

// What nobody should send: it is refused with a word, and the node is as it was.

import (
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

// rows are the nodes' as the database has them, with what belongs to them.
func (c *cloud) rows() string {
	c.t.Helper()
	var all string
	err := c.db.Pool.QueryRow(c.t.Context(), `SELECT concat((SELECT string_agg(n::text, E'\n' ORDER BY uuid) FROM baremetal.nodes n), (SELECT string_agg(p::text, E'\n' ORDER BY uuid) FROM baremetal.ports p),
		(SELECT string_agg(g::text, E'\n' ORDER BY uuid) FROM baremetal.portgroups g), (SELECT count(*) FROM baremetal.findings), (SELECT count(*) FROM engine.operations))`).Scan(&all)
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

// unharmed does something that must change no node.
func (c *cloud) unharmed(what string, do func()) {
	c.t.Helper()
	before := c.rows()
	do()
	if after := c.rows(); after != before {
		c.t.Errorf("%s changed what was there:\n%s\n%s", what, before, after)
	}
}

// Whatever clients may not change, they may not by any kind of patch.
func TestPatchesToForbiddenPaths(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	const v = "1.115"
	node := c.enroll("root", `{"driver": "fake-hardware", "name": "n"}`)
	port := c.ask("root", v, "POST", "/v1/ports", `{"address": "52:54:00:00:00:01", "node_uuid": "`+node+`"}`).body["uuid"].(string)
	group := c.ask("root", v, "POST", "/v1/portgroups", `{"node_uuid": "`+node+`"}`).body["uuid"].(string)
	for path, fields := range map[string][]string{
		"nodes/" + node: {"uuid", "created_at", "updated_at", "provision_state", "target_provision_state", "provision_updated_at", "power_state", "target_power_state", "reservation", "last_error",
			"clean_step", "deploy_step", "service_step", "driver_internal_info", "driver_internal_info/agent_url", "driver_internal_info/agent_secret_token", "inspection_started_at", "inspection_finished_at",
			"raid_config", "target_raid_config", "console_enabled", "allocation_uuid", "conductor", "conductor_affinity", "boot_mode", "secure_boot", "health", "traits", "fault", "links", "links/0", "ports", "states",
			"id", "secrets", "operation_id", "next_operation_id", "generation", "nothing", "__proto__", "", "/", "/extra", "extra~2", "../uuid"},
		"ports/" + port:       {"uuid", "created_at", "updated_at", "internal_info", "internal_info/tenant_vif_port_id", "links", "id", "node_id", "nothing", ""},
		"portgroups/" + group: {"uuid", "created_at", "updated_at", "internal_info", "internal_info/tenant_vif_port_id", "dynamic_portgroup", "links", "ports", "id", "nothing", ""},
	} {
		for _, field := range fields {
			for _, change := range []string{`{"op": "add", "path": "/%s", "value": "x"}`, `{"op": "replace", "path": "/%s", "value": {"x": 1}}`, `{"op": "remove", "path": "/%s"}`} {
				body := "[" + fmt.Sprintf(change, field) + "]"
				// A change that is allowed isn't done beside one that isn't.
				beside := `[{"op": "add", "path": "/extra/x", "value": 1}, ` + body[1:]
				c.unharmed(path+" "+body, func() {
					c.play(step{"root", v, "PATCH", "/v1/" + path, body, 400, ""}, step{"root", v, "PATCH", "/v1/" + path, beside, 400, ""})
				})
			}
		}
		for _, body := range []string{`{}`, `"x"`, `[5]`, `[{}]`, `[{"op": "add"}]`, `[{"op": "fly", "path": "/extra/x", "value": 1}]`, `[{"op": "move", "from": "/uuid", "path": "/extra/x"}]`,
			`[{"op": "copy", "from": "/driver_info", "path": "/extra/x"}]`, `[{"op": "test", "path": "/uuid", "value": 1}]`, `[{"op": "add", "path": 5, "value": 1}]`, `[{"op": "add", "path": "extra/x", "value": 1}]`,
			`[{"op": "add", "path": "/extra/x", "value": "\u0000"}]`, `[{"op": "add", "path": "/extra/x", "value": [1e999]}]`, `[{"op": "add", "path": "/extra/x", "value": ` + strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000) + `}]`, `[`, "\xff", ``} {
			c.unharmed(path+" "+body, func() { c.play(step{"root", v, "PATCH", "/v1/" + path, body, 400, ""}) })
		}
	}
}

// What a ramdisk says it has found is bounded, and must be what one says.
func TestHostileFindings(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.awaiting("n", "inspect wait", "aa:bb:cc:dd:ee:01")
	id := c.awaiting("other", "wait call-back", "aa:bb:cc:dd:ee:02")
	c.exec(`INSERT INTO engine.operations (id, kind, resource_type, resource_id, deadline) SELECT 'node/' || uuid || '/inspect/1', 'node.inspect', 'node', uuid, now() FROM baremetal.nodes WHERE name = 'n'`)
	c.exec(`UPDATE baremetal.nodes SET operation_id = 'node/' || uuid || '/inspect/1' WHERE name = 'n'`)
	const mine = `"interfaces": [{"mac_address": "aa:bb:cc:dd:ee:01"}]`
	for _, sent := range []struct {
		body   string
		status int
	}{
		{`null`, 400}, {`[]`, 400}, {`"x"`, 400}, {`{"inventory": null}`, 400}, {`{"inventory": []}`, 400}, {`{"inventory": {"interfaces": {"a": 1}}}`, 400},
		{`{"inventory": {"interfaces": [null]}}`, 400}, {`{"inventory": {"interfaces": [[]]}}`, 400}, {`{"inventory": {` + mine + `, "bmc_address": {}}}`, 400},
		{`{"inventory": {` + mine + `, "x": "\u0000"}}`, 400}, {"{\"inventory\": {" + mine + ", \"x\": \"\xff\xfe\"}}", 400}, {`{"inventory": {` + mine + `, "\u0000": 1}}`, 400},
		{`{"inventory": {` + mine + `, "x": 1e999}}`, 400}, {`{"inventory": {` + mine + `, "x": NaN}}`, 400},
		{`{"inventory": {` + mine + `, "x": ` + strings.Repeat(`[`, 100_000) + strings.Repeat(`]`, 100_000) + `}}`, 400},
		{`{"inventory": {` + mine + `, "x": ` + strings.Repeat(`{"a":`, 50_000) + `1` + strings.Repeat(`}`, 50_000) + `}}`, 400},
		{`{"inventory": {"interfaces": [{"mac_address": "aa:bb:cc:dd:ee:01' OR '1'='1"}]}}`, 400},
		{`{"inventory": {"interfaces": [{"mac_address": "aa:bb:cc:dd:ee:03"}` + strings.Repeat(`, {"mac_address": "x"}`, 30_000) + `]}}`, 404},
	} {
		c.unharmed(sent.body[:min(len(sent.body), 80)], func() {
			c.play(step{"", "", "POST", "/v1/continue_inspection", sent.body, sent.status, ""})
		})
	}
	// 50 MB, with and without a word of it before.
	huge := func() io.Reader {
		return io.MultiReader(strings.NewReader(`{"inventory": {`+mine+`, "x": "`), io.LimitReader(endless{}, 50<<20), strings.NewReader(`"}}`))
	}
	for _, path := range []string{"/v1/continue_inspection", "/v1/heartbeat/" + id} {
		for _, length := range []int64{50 << 20, -1} {
			c.unharmed("50 MB", func() {
				request := httptest.NewRequest("POST", "http://localhost"+path, huge())
				request.ContentLength = length
				recorded := httptest.NewRecorder()
				c.ServeHTTP(recorded, request)
				if recorded.Code != 413 {
					t.Errorf("%s of length %d: %d %.300s", path, length, recorded.Code, recorded.Body)
				}
			})
		}
	}
}

// endless has no end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A config drive that is too long, or none, starts nothing.
func TestConfigDrivesThatAreNone(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.enroll("root", `{"driver": "fake-hardware", "name": "n"}`)
	c.exec(`UPDATE baremetal.nodes SET provision_state = 'available' WHERE uuid = $1`, id)
	long := strings.Repeat("QUJD", 1<<19)
	for _, sent := range []struct {
		method, path, body string
		status             int
	}{
		{"PUT", "/states/provision", `{"target": "active", "configdrive": "` + long + `"}`, 413},
		{"PUT", "/states/provision", `{"target": "active", "configdrive": {"user_data": "` + long + `"}}`, 413},
		{"PUT", "/states/provision", `{"target": "rebuild", "configdrive": "` + long + `"}`, 413},
		{"PATCH", "", `[{"op": "add", "path": "/instance_info/configdrive", "value": "` + long + `"}]`, 413},
		{"PUT", "/states/provision", `{"target": "active", "configdrive": "{"}`, 400},
		{"PUT", "/states/provision", `{"target": "active", "configdrive": "\u0000"}`, 400},
		{"PUT", "/states/provision", `{"target": "active", "configdrive": {"network_data": 5}}`, 400},
		{"PUT", "/states/provision", `{"target": "active", "configdrive": {"meta_data": ` + strings.Repeat(`{"a":`, 5000) + `1` + strings.Repeat(`}`, 5000) + `}}`, 400},
		{"PUT", "/states/provision", `{"target": "active", "configdrive": ["x"]}`, 400},
	} {
		c.unharmed(sent.body[:min(len(sent.body), 80)], func() {
			if got := c.ask("root", "1.115", sent.method, "/v1/nodes/n"+sent.path, sent.body); got.status != sent.status {
				t.Errorf("%s %.80s: %d %s, not %d", sent.method, sent.body, got.status, got.fault, sent.status)
			}
		})
	}
}

package baremetal_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// step is a request and its answer: the status, and a part of the fault.
type step struct {
	token, version, method, path, body string
	status                             int
	fault                              string
}

func (c *cloud) play(steps ...step) {
	c.t.Helper()
	for _, s := range steps {
		got := c.ask(s.token, s.version, s.method, s.path, s.body)
		if got.status != s.status || !strings.Contains(got.fault, s.fault) {
			c.t.Errorf("%s %s by %s at %s %.100s: %d %q, not %d %q", s.method, s.path, s.token, s.version, s.body, got.status, got.fault, s.status, s.fault)
		}
	}
}

func (c *cloud) exec(sql string, args ...any) {
	c.t.Helper()
	err := c.db.InTx(c.t.Context(), func(tx store.Tx) error {
		_, err := tx.Exec(c.t.Context(), sql, args...)
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// A node is its project's: to others it isn't there.
func TestNodesOfOthersAreNotThere(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.enroll("alice", `{"driver": "fake-hardware", "name": "a1"}`)
	foreign := c.enroll("root", `{"driver": "fake-hardware", "name": "system"}`)
	lent := c.enroll("root", `{"driver": "fake-hardware", "name": "lent", "owner": "0wner", "lessee": "a11ce"}`)
	const v = "1.115"
	c.play(
		step{"member", v, "POST", "/v1/nodes", `{"driver": "fake-hardware"}`, 403, "Access was denied to the following resource: baremetal:node:create"},
		step{"alice", v, "POST", "/v1/nodes", `{"driver": "fake-hardware", "owner": "b0b"}`, 400, "with an owner other than your own project"},
		step{"alice", v, "GET", "/v1/nodes/a1", "", 200, ""},
		step{"member", v, "GET", "/v1/nodes/a1", "", 200, ""},
		step{"viewer", v, "GET", "/v1/nodes/a1", "", 200, ""},
		step{"viewer", v, "DELETE", "/v1/nodes/a1", "", 403, "baremetal:node:delete"},
		step{"member", v, "DELETE", "/v1/nodes/a1", "", 403, "baremetal:node:delete"},
		step{"alice", v, "GET", "/v1/nodes/lent", "", 200, ""},
		step{"bob", v, "GET", "/v1/nodes?project=a11ce", "", 403, "baremetal:node:list_all"},
	)
	for _, row := range []struct{ method, path, body string }{
		{"GET", "", ""}, {"PATCH", "", `[{"op": "add", "path": "/extra/a", "value": 1}]`}, {"DELETE", "", ""}, {"GET", "/states", ""},
		{"PUT", "/maintenance", "{}"}, {"DELETE", "/maintenance", ""}, {"GET", "/traits", ""}, {"PUT", "/traits", `{"traits": []}`},
		{"DELETE", "/traits", ""}, {"PUT", "/traits/CUSTOM_A", ""}, {"DELETE", "/traits/CUSTOM_A", ""}, {"GET", "/ports", ""}, {"GET", "/ports/detail", ""},
	} {
		c.play(step{"bob", v, row.method, "/v1/nodes/" + id + row.path, row.body, 404, "Node " + id + " could not be found."},
			step{"alice", v, row.method, "/v1/nodes/" + foreign + row.path, row.body, 404, "Node " + foreign + " could not be found."})
	}
	for token, want := range map[string][]string{"alice": {id, lent}, "bob": nil, "root": {id, foreign, lent}} {
		var got []string
		for _, n := range c.ask(token, v, "GET", "/v1/nodes", "").body["nodes"].([]any) {
			got = append(got, n.(map[string]any)["uuid"].(string))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s lists %v, not %v", token, got, want)
		}
	}
	// What is inside is not for those who only own it to know.
	seen := c.ask("member", v, "GET", "/v1/nodes/lent", "").body
	if info, _ := seen["driver_info"].(map[string]any); !strings.Contains(fmt.Sprint(info["content"]), "Redacted") {
		t.Errorf("a lessee's member sees %v", seen["driver_info"])
	}
}

// Passwords are nowhere in the row, are shown to nobody, and survive patches.
func TestSecretsAreSealed(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	const canary = "c4n4ry"
	id := c.enroll("root", `{"driver": "redfish", "name": "n", "driver_info": {"redfish_address": "https://192.0.2.1", "redfish_username": "u", "redfish_password": "`+canary+`", "nested": {"token": "`+canary+`"}},
		"instance_info": {"configdrive": "`+canary+`", "image_url": "http://images/`+canary+`", "image_source": "x"}}`)
	c.play(
		step{"root", "1.115", "PATCH", "/v1/nodes/n", `[{"op": "add", "path": "/driver_info/redfish_verify_ca", "value": false}]`, 200, ""},
		step{"root", "1.115", "PATCH", "/v1/nodes/n", `[{"op": "replace", "path": "/driver_info/redfish_username", "value": "v"}]`, 200, ""},
	)
	got := c.ask("root", "1.115", "GET", "/v1/nodes/n", "").body
	info, instance := got["driver_info"].(map[string]any), got["instance_info"].(map[string]any)
	if info["redfish_password"] != "******" || info["nested"].(map[string]any)["token"] != "******" || info["redfish_username"] != "v" || info["redfish_verify_ca"] != false ||
		instance["configdrive"] != "******" || instance["image_url"] != "******" || instance["image_source"] != "x" {
		t.Errorf("%v %v", info, instance)
	}
	var row string
	var sealed []byte
	err := c.db.Pool.QueryRow(t.Context(), `SELECT n::text, secrets FROM baremetal.nodes n WHERE uuid = $1`, id).Scan(&row, &sealed)
	if err != nil || strings.Contains(row, canary) || strings.Contains(string(sealed), canary) || len(sealed) == 0 {
		t.Errorf("%v: the row is %s", err, row)
	}
	// Once the last is gone, nothing is sealed.
	c.play(step{"root", "1.115", "PATCH", "/v1/nodes/n", `[{"op": "replace", "path": "/driver_info", "value": {}}, {"op": "replace", "path": "/instance_info", "value": {}}]`, 200, ""})
	if err := c.db.Pool.QueryRow(t.Context(), `SELECT secrets FROM baremetal.nodes WHERE uuid = $1`, id).Scan(&sealed); err != nil || sealed != nil {
		t.Errorf("%v: %d bytes are still sealed", err, len(sealed))
	}
}

// A secret in a list stays with what it is in when another element goes, also if its mask
// is sent back; and no refusal prints it.
func TestSecretsInLists(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.enroll("root", `{"driver": "fake-hardware", "name": "n", "driver_info": {"users": [{"name": "a", "password": "f1rst"}, {"name": "b", "password": "s3cond"}, {"name": "c", "password": "th1rd"}]}}`)
	patch := func(text string) step { return step{"root", "1.115", "PATCH", "/v1/nodes/n", text, 200, ""} }
	c.play(
		patch(`[{"op": "remove", "path": "/driver_info/users/0"}, {"op": "replace", "path": "/driver_info/users/1/name", "value": "d"}]`),
		patch(`[{"op": "replace", "path": "/driver_info/users/0/password", "value": "******"}, {"op": "add", "path": "/driver_info/users/0", "value": {"name": "e", "password": "n3w"}}]`),
	)
	n, err := baremetal.Nodes.Find(t.Context(), c.db.Pool, id, false)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := nodes.Opened(c.box, n)
	if got := fmt.Sprint(kept["driver_info"]); err != nil || got != "map[/users/0/password:n3w /users/1/password:s3cond /users/2/password:th1rd]" || strings.Contains(string(n.DriverInfo), "3") {
		t.Errorf("%s are kept of %s: %v", got, n.DriverInfo, err)
	}
	for _, path := range []string{"/driver_info/users/0/none/deep", "/driver_info/users/0/password/deep"} {
		got := c.ask("root", "1.115", "PATCH", "/v1/nodes/n", `[{"op": "add", "path": "`+path+`", "value": 1}]`)
		if got.status != 400 || strings.Contains(got.fault, "n3w") || !strings.Contains(got.fault, "'******'") {
			t.Errorf("%d %s", got.status, got.fault)
		}
	}
}

func TestPatches(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.enroll("root", `{"driver": "fake-hardware", "name": "n", "extra": {"list": [1, 2, 3], "big": 12345678901234567890}}`)
	other := c.enroll("root", `{"driver": "fake-hardware", "name": "other"}`)
	const v = "1.115"
	patch := func(text string) step { return step{"root", v, "PATCH", "/v1/nodes/n", text, 200, ""} }
	refused := func(text, fault string) step { return step{"root", v, "PATCH", "/v1/nodes/n", text, 400, fault} }
	c.play(
		patch(`[{"op": "add", "path": "/extra/list/-", "value": 4}, {"op": "remove", "path": "/extra/list/0"}, {"op": "replace", "path": "/extra/list/0", "value": "two"}]`),
		patch(`[{"op": "add", "path": "/extra/a~1b", "value": 1}]`),
		patch(`[{"op": "add", "path": "/resource_class", "value": "gold"}, {"op": "add", "path": "/automated_clean", "value": "off"}]`),
		refused(`[{"op": "remove", "path": "/extra/none"}]`, "can't remove a non-existent object 'none'"),
		refused(`[{"op": "add", "path": "/extra/none/deep", "value": 1}]`, "member 'none' not found in"),
		refused(`[{"op": "replace", "path": "/extra/list/9", "value": 1}]`, "can't replace outside of list"),
		refused(`[{"op": "add", "path": "/extra/list/9", "value": 1}]`, "can't insert outside of list"),
		refused(`[{"op": "add", "path": "/extra/list/9/x", "value": 1}]`, "list index out of range"),
		refused(`[{"op": "add", "path": "/extra/list/x", "value": 1}]`, "not a valid sequence index"),
		refused(`[{"op": "add", "path": "/extra/big/x", "value": 1}]`, "holds nothing"),
		refused(`[{"op": "add", "path": "/extra/x"}]`, "does not contain a 'value' member"),
		refused(`[{"op": "remove", "path": "/driver"}]`, "'driver' is a required property"),
		refused(`[{"op": "replace", "path": "/driver", "value": "nothing"}]`, "No valid host was found. Reason: No conductor service registered which supports driver nothing"),
		refused(`[{"op": "replace", "path": "/driver", "value": "redfish"}]`, "is not supported by hardware type redfish"),
		refused(`[{"op": "replace", "path": "/automated_clean", "value": "perhaps"}]`, "Invalid automated_clean: Unrecognized value 'perhaps'"),
		refused(`[{"op": "replace", "path": "/extra", "value": 5}]`, "5 is not of type 'object', 'null'"),
		refused(`[{"op": "replace", "path": "/name", "value": "bad name"}]`, "Node n: Cannot change name to invalid name 'bad name'"),
		refused(`[{"op": "add", "path": "/instance_uuid", "value": "x"}]`, "Expected UUID for instance_uuid: x"),
		refused(`[{"op": "add", "path": "/retired_reason", "value": "old"}]`, "The retired_reason field can only be set when retired is True"),
		refused(`[{"op": "add", "path": "/parent_node", "value": "nobody"}]`, "Node nobody could not be found."),
		step{"root", v, "PATCH", "/v1/nodes/n", `[{"op": "replace", "path": "/name", "value": "other"}]`, 409, "A node with name other already exists."},
		step{"root", v, "PATCH", "/v1/nodes/n", `[{"op": "add", "path": "/protected", "value": true}]`, 409, "can only be made protected in provision states 'active' or 'rescue'"},
		step{"root", v, "PATCH", "/v1/nodes/n?reset_interfaces=true", `[{"op": "replace", "path": "/driver", "value": "redfish"}]`, 200, ""},
		step{"root", "1.44", "PATCH", "/v1/nodes/n?reset_interfaces=true", `[]`, 406, ""},
		step{"root", v, "PATCH", "/v1/nodes/" + other, `[{"op": "add", "path": "/parent_node", "value": "n"}]`, 200, ""},
		step{"root", v, "DELETE", "/v1/nodes/n", "", 409, "other nodes as its parts"},
	)
	got := c.ask("root", v, "GET", "/v1/nodes/"+id, "").body
	if got["driver"] != "redfish" || got["power_interface"] != "redfish" || got["resource_class"] != "gold" || got["automated_clean"] != false {
		t.Errorf("%v", got)
	}
	if extra := fmt.Sprint(got["extra"]); extra != "map[a/b:1 big:1.2345678901234567e+19 list:[two 3 4]]" {
		t.Errorf("extra is %s", extra)
	}
	if got := c.ask("root", v, "GET", "/v1/nodes/"+other, "").body; got["parent_node"] != id {
		t.Errorf("its parent is %v", got["parent_node"])
	}
}

// A node in the middle of its work is not for users to change.
func TestNodesAtWork(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.enroll("root", `{"driver": "fake-hardware"}`)
	const v = "1.115"
	instance := `[{"op": "add", "path": "/instance_uuid", "value": "6d1ab2e6-8a6a-4a4c-9a11-0a4a3e3f5d02"}]`
	c.exec(`UPDATE baremetal.nodes SET provision_state = 'deploying', target_provision_state = 'active' WHERE uuid = $1`, id)
	c.play(
		step{"root", v, "PATCH", "/v1/nodes/" + id, `[{"op": "add", "path": "/extra/a", "value": 1}]`, 409, "can not be updated while a state transition is in progress"},
		step{"root", v, "DELETE", "/v1/nodes/" + id, "", 409, `Can not delete node "` + id + `" while it is in provision state "deploying".`},
	)
	c.exec(`UPDATE baremetal.nodes SET reservation = 'conductor-1' WHERE uuid = $1`, id)
	c.play(
		step{"root", v, "PUT", "/v1/nodes/" + id + "/maintenance", `{}`, 409, "is locked by host conductor-1"},
		step{"root", v, "DELETE", "/v1/nodes/" + id, "", 409, "is locked by host conductor-1"},
	)
	c.exec(`UPDATE baremetal.nodes SET provision_state = 'active', target_provision_state = NULL, reservation = NULL WHERE uuid = $1`, id)
	c.play(
		step{"root", v, "PATCH", "/v1/nodes/" + id, instance, 200, ""},
		step{"root", v, "PATCH", "/v1/nodes/" + id, `[{"op": "replace", "path": "/instance_uuid", "value": "7d1ab2e6-8a6a-4a4c-9a11-0a4a3e3f5d02"}]`, 409, "is associated with instance 6d1ab2e6"},
		step{"root", v, "PATCH", "/v1/nodes/" + id, `[{"op": "replace", "path": "/power_interface", "value": "fake"}]`, 200, ""},
		step{"root", v, "PATCH", "/v1/nodes/" + id, `[{"op": "replace", "path": "/deploy_interface", "value": "direct"}]`, 409, "can not have deploy_interface updated unless"},
		step{"root", v, "DELETE", "/v1/nodes/" + id, "", 409, "is associated with instance"},
		step{"root", v, "PATCH", "/v1/nodes/" + id, `[{"op": "add", "path": "/protected", "value": true}, {"op": "add", "path": "/protected_reason", "value": "mine"}]`, 200, ""},
		step{"root", v, "PUT", "/v1/nodes/" + id + "/maintenance", `{"reason": "r"}`, 202, ""},
		step{"root", v, "DELETE", "/v1/nodes/" + id, "", 403, "is protected"},
	)
	if got := c.ask("root", v, "GET", "/v1/nodes/"+id, "").body; got["maintenance"] != true || got["maintenance_reason"] != "r" {
		t.Errorf("%v", got)
	}
	c.play(
		step{"root", v, "PATCH", "/v1/nodes/" + id, `[{"op": "replace", "path": "/protected", "value": false}]`, 200, ""},
		step{"root", v, "PATCH", "/v1/nodes/" + id, `[{"op": "remove", "path": "/instance_uuid"}]`, 200, ""},
		step{"root", v, "DELETE", "/v1/nodes/" + id + "/maintenance", "", 202, ""},
	)
	if got := c.ask("root", v, "GET", "/v1/nodes/"+id, "").body; got["maintenance"] != false || got["maintenance_reason"] != nil || got["protected_reason"] != nil || got["instance_uuid"] != nil {
		t.Errorf("%v", got)
	}
}

// Pages by every order and size show each node once, in that order.
func TestPages(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for i := range 7 {
		class := ""
		if i%3 > 0 {
			class = fmt.Sprintf(`, "resource_class": "c%d"`, i%3)
		}
		c.enroll("root", fmt.Sprintf(`{"driver": "fake-hardware", "name": "n%d"%s}`, i, class))
	}
	whole := func(query string) []string {
		var ids []string
		for _, n := range c.ask("root", "1.115", "GET", "/v1/nodes?"+query, "").body["nodes"].([]any) {
			ids = append(ids, n.(map[string]any)["uuid"].(string))
		}
		return ids
	}
	for _, key := range []string{"id", "name", "resource_class", "created_at", "maintenance", "description"} {
		for _, direction := range []string{"asc", "desc"} {
			order := "sort_key=" + key + "&sort_dir=" + direction
			want := whole(order)
			for size := 1; size <= 8; size++ {
				var got []string
				at := fmt.Sprintf("/v1/nodes?%s&limit=%d&fields=uuid", order, size)
				for pages := 0; at != "" && pages < 9; pages++ {
					page := c.ask("root", "1.115", "GET", at, "").body
					for _, n := range page["nodes"].([]any) {
						got = append(got, n.(map[string]any)["uuid"].(string))
					}
					next, _ := page["next"].(string)
					at = strings.TrimPrefix(next, "http://localhost")
				}
				if !slices.Equal(got, want) || len(got) != 7 {
					t.Errorf("by %s in pages of %d: %v, not %v", order, size, got, want)
				}
			}
		}
	}
	next := c.ask("root", "1.115", "GET", "/v1/nodes?limit=1&driver=fake-hardware&fields=uuid,name", "").body["next"].(string)
	at, err := url.Parse(next)
	if err != nil || !strings.HasPrefix(at.RawQuery, "sort_key=id&sort_dir=asc&driver=fake-hardware&fields=uuid%2Cname&limit=1&marker=") {
		t.Errorf("%s, %v", next, err)
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	chassis := c.ask("root", "1.115", "POST", "/v1/chassis", `{"description": "rack"}`).body["uuid"].(string)
	a := c.enroll("root", `{"driver": "fake-hardware", "name": "a", "chassis_uuid": "`+chassis+`", "resource_class": "gold", "shard": "s1", "description": "the first one"}`)
	b := c.enroll("root", `{"driver": "ipmi", "name": "b", "maintenance": true, "owner": "o", "lessee": "l"}`)
	child := c.enroll("root", `{"driver": "ipmi", "name": "child", "parent_node": "a"}`)
	c.exec(`UPDATE baremetal.nodes SET fault = 'power failure' WHERE name = 'b'`)
	c.exec(`INSERT INTO baremetal.conductors (hostname, conductor_group, drivers, down_after, link_address, updated_at)
		VALUES ('here', '', '{fake-hardware}', '1 min', '', now()), ('gone', '', '{fake-hardware,ipmi}', '1 min', '', now() - interval '1 h')`)
	for query, want := range map[string][]string{
		"": {a, b}, "driver=ipmi": {b}, "maintenance=yes": {b}, "maintenance=false": {a}, "associated=true": nil, "associated=0": {a, b},
		"provision_state=enroll": {a, b}, "provision_state=active": nil, "resource_class=gold": {a}, "owner=o": {b}, "lessee=l": {b}, "project=l": {b},
		"shard=s1,s2": {a}, "sharded=true": {a}, "sharded=false": {b}, "description_contains=first": {a}, "retired=false": {a, b},
		"include_children=true": {a, b, child}, "parent_node=" + a: {child}, "chassis_uuid=" + chassis: {a}, "conductor_group=": {a, b}, "fault=power+failure": {b}, "fault=clean+failure": nil,
		"conductor=here": {a}, "conductor=gone": nil, "conductor=nobody": nil, "conductor=here&driver=ipmi": nil,
		"instance_name=x": nil, "instance_uuid=" + a: nil,
	} {
		got := c.ask("root", "1.115", "GET", "/v1/nodes?"+query, "")
		var ids []string
		nodes, _ := got.body["nodes"].([]any)
		for _, n := range nodes {
			ids = append(ids, n.(map[string]any)["uuid"].(string))
		}
		if got.status != 200 || !slices.Equal(ids, want) {
			t.Errorf("%s: %d %v %s, not %v", query, got.status, ids, got.fault, want)
		}
	}
	c.play(
		step{"root", "1.115", "GET", "/v1/nodes?maintenance=perhaps", "", 400, "Unrecognized value 'perhaps'"},
		step{"root", "1.115", "GET", "/v1/nodes?fault=x", "", 400, `Unrecognized fault "x" is specified, allowed faults are ('power failure', 'clean failure', 'rescue abort failure', 'service failure')`},
		step{"root", "1.115", "GET", "/v1/nodes?limit=x", "", 400, "Expected an integer for limit: x"},
		step{"root", "1.115", "GET", "/v1/nodes?marker=x", "", 400, "Expected UUID for marker: x"},
		step{"root", "1.115", "DELETE", "/v1/chassis/" + chassis, "", 400, "contains nodes"},
		step{"root", "1.115", "GET", "/v1/chassis/" + chassis + "/nodes", "", 200, ""},
	)
}

func TestTraits(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.enroll("root", `{"driver": "fake-hardware", "name": "n"}`)
	const v = "1.115"
	var many []string
	for i := range 51 {
		many = append(many, fmt.Sprintf("%q", fmt.Sprintf("CUSTOM_%d", i)))
	}
	c.play(
		step{"root", v, "PUT", "/v1/nodes/n/traits", `{"traits": ["CUSTOM_B", "CUSTOM_A", "HW_CPU_X86_VMX"]}`, 204, ""},
		step{"root", v, "PUT", "/v1/nodes/n/traits/CUSTOM_C", "", 204, ""},
		step{"root", v, "PUT", "/v1/nodes/n/traits/CUSTOM_C", "", 204, ""},
		step{"root", v, "DELETE", "/v1/nodes/n/traits/CUSTOM_B", "", 204, ""},
		step{"root", v, "DELETE", "/v1/nodes/n/traits/CUSTOM_B", "", 404, "doesn't have a trait 'CUSTOM_B'"},
		step{"root", v, "PUT", "/v1/nodes/n/traits/custom", "", 400, "Schema error for trait"},
		step{"root", v, "PUT", "/v1/nodes/n/traits", `{}`, 400, "A single node trait may be added"},
		step{"root", v, "PUT", "/v1/nodes/n/traits", `{"traits": [` + strings.Join(many, ",") + `]}`, 400, "exceed the maximum number of traits"},
		step{"root", v, "PATCH", "/v1/nodes/n", `[{"op": "add", "path": "/traits", "value": []}]`, 400, "Cannot patch /traits."},
	)
	if got := fmt.Sprint(c.ask("root", v, "GET", "/v1/nodes/n/traits", "").body["traits"]); got != "[CUSTOM_A CUSTOM_C HW_CPU_X86_VMX]" {
		t.Error(got)
	}
	c.play(step{"root", v, "DELETE", "/v1/nodes/n/traits", "", 204, ""})
	if got := fmt.Sprint(c.ask("root", v, "GET", "/v1/nodes/n", "").body["traits"]); got != "[]" {
		t.Error(got)
	}
}

func TestPorts(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	node := c.enroll("alice", `{"driver": "fake-hardware", "name": "n"}`)
	foreign := c.enroll("root", `{"driver": "fake-hardware", "name": "f"}`)
	const v = "1.115"
	made := c.ask("alice", v, "POST", "/v1/ports", `{"address": "AA:BB:CC:DD:EE:01", "node_ident": "n", "name": "eth0", "local_link_connection": {"switch_id": "aa:bb:cc:dd:ee:ff", "port_id": "1"}}`)
	if made.status != 201 || made.body["address"] != "aa:bb:cc:dd:ee:01" || made.body["node_uuid"] != node || made.body["pxe_enabled"] != true {
		t.Fatalf("%d %v", made.status, made.body)
	}
	id := made.body["uuid"].(string)
	c.play(
		step{"bob", v, "GET", "/v1/ports/" + id, "", 404, "Port " + id + " could not be found."},
		step{"bob", v, "DELETE", "/v1/ports/" + id, "", 404, "Port " + id + " could not be found."},
		step{"bob", v, "PATCH", "/v1/ports/" + id, `[{"op": "add", "path": "/extra/a", "value": 1}]`, 404, "Port " + id + " could not be found."},
		step{"bob", v, "POST", "/v1/ports", `{"address": "aa:bb:cc:dd:ee:02", "node_uuid": "` + node + `"}`, 403, "baremetal:port:create"},
		step{"member", v, "DELETE", "/v1/ports/" + id, "", 403, "baremetal:port:delete"},
		step{"alice", v, "GET", "/v1/ports/eth0", "", 200, ""},
		step{"alice", "1.87", "GET", "/v1/ports/eth0", "", 404, "Port eth0 could not be found."},
		step{"alice", v, "DELETE", "/v1/ports/eth0", "", 400, "Expected UUID for port_uuid: eth0"},
		step{"alice", v, "PATCH", "/v1/ports/" + id, `[{"op": "replace", "path": "/address", "value": "no"}]`, 400, "Expected valid MAC address for address: no"},
		step{"alice", v, "PATCH", "/v1/ports/" + id, `[{"op": "replace", "path": "/node_uuid", "value": "` + foreign + `"}]`, 400, "could not be found"},
		step{"alice", v, "PATCH", "/v1/ports/" + id, `[{"op": "replace", "path": "/pxe_enabled", "value": false}]`, 200, ""},
		step{"alice", v, "PATCH", "/v1/ports/" + id, `[{"op": "add", "path": "/is_smartnic", "value": true}]`, 400, "Smart NIC port must have port_id and hostname"},
		step{"root", v, "GET", "/v1/ports?address=aa:bb:cc:dd:ee:01&node=n", "", 200, ""},
		step{"alice", v, "GET", "/v1/nodes/n/ports/detail", "", 200, ""},
	)
	for query, want := range map[string]int{"/v1/ports": 1, "/v1/ports?node=n": 1, "/v1/ports?node=f": 0, "/v1/ports?address=aa:bb:cc:dd:ee:09": 0, "/v1/nodes/n/ports": 1} {
		if got := c.ask("root", v, "GET", query, ""); len(got.body["ports"].([]any)) != want {
			t.Errorf("%s: %v", query, got.body)
		}
	}
	if got := c.ask("bob", v, "GET", "/v1/ports", ""); len(got.body["ports"].([]any)) != 0 {
		t.Errorf("bob sees %v", got.body)
	}
	c.exec(`UPDATE baremetal.nodes SET provision_state = 'active' WHERE uuid = $1`, node)
	c.play(
		step{"alice", v, "PATCH", "/v1/ports/" + id, `[{"op": "replace", "path": "/address", "value": "aa:bb:cc:dd:ee:03"}]`, 409, "is active or has instance UUID assigned"},
		step{"alice", v, "PATCH", "/v1/ports/" + id, `[{"op": "replace", "path": "/pxe_enabled", "value": true}]`, 409, "can not have any connectivity attributes"},
	)
	c.play(step{"alice", v, "DELETE", "/v1/ports/" + id, "", 204, ""}, step{"alice", v, "GET", "/v1/ports/" + id, "", 404, ""})
}

func TestDrivers(t *testing.T) {
	t.Parallel()
	c := newCloud(t, "redfish", "ipmi")
	c.play(
		step{"root", "1.115", "POST", "/v1/nodes", `{"driver": "fake-hardware"}`, 400, "No valid host was found."},
		step{"root", "1.115", "POST", "/v1/nodes", `{"driver": "ipmi", "power_interface": "redfish"}`, 400, "power interface implementation 'redfish' is not supported by hardware type ipmi."},
		step{"root", "1.115", "GET", "/v1/drivers/fake-hardware", "", 404, "Could not find the following driver(s) or hardware type(s): fake-hardware."},
		step{"root", "1.29", "GET", "/v1/drivers?type=dynamic", "", 406, ""},
		step{"root", "1.115", "GET", "/v1/drivers?type=x", "", 400, "must be one of"},
	)
	if got := c.ask("root", "1.115", "GET", "/v1/drivers", "").body["drivers"].([]any); len(got) != 2 {
		t.Errorf("%v", got)
	}
	one := c.ask("root", "1.115", "GET", "/v1/drivers/redfish", "").body
	if one["default_power_interface"] != "redfish" || one["type"] != "dynamic" || fmt.Sprint(one["enabled_management_interfaces"]) != "[redfish]" {
		t.Errorf("%v", one)
	}
	if _, old := c.ask("root", "1.29", "GET", "/v1/drivers/redfish", "").body["type"]; old {
		t.Error("1.29 knows no types")
	}
	if got := c.ask("root", "1.115", "GET", "/v1/drivers/redfish/properties", "").body; got["redfish_address"] == nil {
		t.Errorf("%v", got)
	}
}

func TestPortgroups(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	node := c.enroll("alice", `{"driver": "fake-hardware", "name": "n"}`)
	other := c.enroll("root", `{"driver": "fake-hardware", "name": "o"}`)
	const v = "1.115"
	made := c.ask("alice", v, "POST", "/v1/portgroups", `{"node_uuid": "`+node+`", "name": "bond0", "address": "AA:BB:CC:DD:EE:10", "standalone_ports_supported": "no"}`)
	if made.status != 201 || made.body["mode"] != "active-backup" || made.body["address"] != "aa:bb:cc:dd:ee:10" || made.body["standalone_ports_supported"] != false {
		t.Fatalf("%d %v", made.status, made.body)
	}
	id := made.body["uuid"].(string)
	member := `{"address": "aa:bb:cc:dd:ee:01", "node_uuid": "` + node + `", "portgroup_uuid": "` + id + `", "pxe_enabled": `
	c.play(
		step{"bob", v, "GET", "/v1/portgroups/" + id, "", 404, "Portgroup " + id + " could not be found."},
		step{"bob", v, "DELETE", "/v1/portgroups/bond0", "", 404, "Portgroup bond0 could not be found."},
		step{"bob", v, "PATCH", "/v1/portgroups/bond0", `[{"op": "add", "path": "/extra/a", "value": 1}]`, 404, "could not be found."},
		step{"bob", v, "GET", "/v1/portgroups/bond0/ports", "", 404, "Portgroup bond0 could not be found."},
		step{"bob", v, "GET", "/v1/ports?portgroup=bond0", "", 404, "Portgroup bond0 could not be found."},
		step{"bob", v, "GET", "/v1/ports?node=n", "", 404, "Node n could not be found."},
		step{"bob", v, "GET", "/v1/portgroups?node=n", "", 404, "Node n could not be found."},
		step{"member", v, "POST", "/v1/portgroups", `{"node_uuid": "` + node + `"}`, 403, "baremetal:portgroup:create"},
		step{"alice", v, "POST", "/v1/portgroups", `{"node_uuid": "` + node + `", "name": "bond0"}`, 409, "A portgroup with name bond0 already exists."},
		step{"alice", "1.25", "POST", "/v1/portgroups", `{"node_uuid": "` + node + `", "mode": "802.3ad"}`, 406, ""},
		step{"alice", v, "POST", "/v1/ports", member + `true}`, 409, "doesn't support standalone ports"},
		step{"alice", v, "POST", "/v1/ports", member + `false}`, 201, ""},
		step{"root", v, "POST", "/v1/ports", `{"address": "aa:bb:cc:dd:ee:02", "node_uuid": "` + other + `", "portgroup_uuid": "` + id + `"}`, 400, "portgroup belonging to a different node"},
		step{"alice", v, "DELETE", "/v1/portgroups/bond0", "", 400, "contains ports"},
		step{"alice", v, "PATCH", "/v1/portgroups/bond0", `[{"op": "remove", "path": "/mode"}]`, 400, "'mode' is a mandatory attribute"},
		step{"alice", v, "PATCH", "/v1/portgroups/bond0", `[{"op": "replace", "path": "/name", "value": "bad name"}]`, 400, "Cannot change name to invalid name 'bad name'"},
		step{"root", v, "PATCH", "/v1/portgroups/bond0", `[{"op": "replace", "path": "/node_uuid", "value": "` + other + `"}]`, 400, "contains ports"},
		step{"alice", v, "PATCH", "/v1/portgroups/bond0", `[{"op": "replace", "path": "/mode", "value": "802.3ad"}, {"op": "add", "path": "/properties/miimon", "value": 100}]`, 200, ""},
		step{"root", v, "GET", "/v1/ports?portgroup=bond0&node=n", "", 403, "Operation not permitted."},
	)
	for path, want := range map[string]int{"/v1/portgroups/bond0/ports": 1, "/v1/ports?portgroup=bond0": 1, "/v1/portgroups/bond0/ports/detail": 1} {
		if got := c.ask("alice", v, "GET", path, ""); len(got.body["ports"].([]any)) != want {
			t.Errorf("%s: %v", path, got.body)
		}
	}
	for path, want := range map[string]int{"/v1/portgroups": 1, "/v1/nodes/n/portgroups": 1, "/v1/portgroups?node=o": 0, "/v1/portgroups/detail?address=aa:bb:cc:dd:ee:10": 1} {
		if got := c.ask("root", v, "GET", path, ""); len(got.body["portgroups"].([]any)) != want {
			t.Errorf("%s: %v", path, got.body)
		}
	}
	port := c.ask("alice", v, "GET", "/v1/ports", "").body["ports"].([]any)[0].(map[string]any)["uuid"].(string)
	c.play(
		step{"alice", v, "PATCH", "/v1/ports/" + port, `[{"op": "remove", "path": "/portgroup_uuid"}]`, 200, ""},
		step{"alice", v, "DELETE", "/v1/portgroups/bond0", "", 204, ""},
		step{"alice", v, "GET", "/v1/portgroups/bond0", "", 404, "Portgroup bond0 could not be found."},
	)
	child := c.enroll("alice", `{"driver": "fake-hardware", "parent_node": "n"}`)
	if got := c.ask("alice", v, "GET", "/v1/nodes/n/children", "").body; fmt.Sprint(got["children"]) != "["+child+"]" {
		t.Errorf("%v", got)
	}
}

func TestDeployTemplates(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	const v = "1.115"
	stepOf := func(name, priority string) string {
		return `{"interface": "bios", "step": "` + name + `", "args": {}, "priority": ` + priority + `}`
	}
	made := c.ask("root", v, "POST", "/v1/deploy_templates", `{"name": "CUSTOM_A", "steps": [`+stepOf("x", `"7"`)+`, `+stepOf("z", "7.0")+`], "extra": {"a": 1}}`)
	if made.status != 201 || fmt.Sprint(made.body["steps"]) != "[map[args:map[] interface:bios priority:7 step:x] map[args:map[] interface:bios priority:7 step:z]]" {
		t.Fatalf("%d %v", made.status, made.body)
	}
	id := made.body["uuid"].(string)
	c.play(
		step{"alice", v, "POST", "/v1/deploy_templates", `{"name": "CUSTOM_B", "steps": [` + stepOf("x", "1") + `]}`, 403, "baremetal:deploy_template:create"},
		step{"root", v, "POST", "/v1/deploy_templates", `{"name": "CUSTOM_A", "steps": [` + stepOf("x", "1") + `]}`, 409, "A deploy template with name CUSTOM_A already exists."},
		step{"root", v, "POST", "/v1/deploy_templates", `{"name": "custom", "steps": [` + stepOf("x", "1") + `]}`, 400, "Schema error for template"},
		step{"root", v, "POST", "/v1/deploy_templates", `{"name": "CUSTOM_B", "steps": []}`, 400, "Schema error for template"},
		step{"root", v, "POST", "/v1/deploy_templates", `{"name": "CUSTOM_B", "steps": [` + stepOf("x", "-1") + `]}`, 400, "Schema error for template"},
		step{"root", v, "POST", "/v1/deploy_templates", `{"name": "CUSTOM_B", "steps": [` + stepOf("x", `"99999999999999999999"`) + `]}`, 400, "out of range"},
		step{"root", v, "POST", "/v1/deploy_templates", `{"name": "CUSTOM_B", "steps": [` + stepOf("x", "2147483648") + `]}`, 400, "Deploy template invalid: the priority 2147483648 is out of range."},
		step{"root", v, "POST", "/v1/deploy_templates", `{"name": "CUSTOM_B", "steps": [` + stepOf("x", "1") + strings.Repeat(", "+stepOf("x", "1"), 256) + `]}`, 400, "there are more than 256 steps."},
		step{"root", v, "POST", "/v1/deploy_templates", `{"name": "CUSTOM_B", "steps": [` + stepOf("x", "1") + `, ` + stepOf("x", "2") + `]}`, 400, "Duplicates: interface: bios, step: x."},
		step{"root", v, "PATCH", "/v1/deploy_templates/CUSTOM_A", `[{"op": "replace", "path": "/name", "value": "CUSTOM_C"}, {"op": "add", "path": "/steps/-", "value": ` + stepOf("y", "0") + `}]`, 200, ""},
		step{"root", v, "PATCH", "/v1/deploy_templates/CUSTOM_C", `[{"op": "remove", "path": "/steps"}]`, 400, "'steps' is a required property"},
		step{"root", v, "PATCH", "/v1/deploy_templates/CUSTOM_C", `[{"op": "replace", "path": "/uuid", "value": "x"}]`, 400, "Cannot patch /uuid."},
		step{"root", v, "GET", "/v1/deploy_templates/CUSTOM_A", "", 404, "Deploy template CUSTOM_A could not be found."},
		step{"root", v, "GET", "/v1/deploy_templates/" + id, "", 200, ""},
		step{"root", v, "GET", "/v1/deploy_templates?detail=true", "", 200, ""},
		step{"root", "1.54", "DELETE", "/v1/deploy_templates/" + id, "", 405, "The API version does not allow deploy templates"},
		step{"root", v, "DELETE", "/v1/deploy_templates/CUSTOM_C", "", 204, ""},
		step{"root", v, "DELETE", "/v1/deploy_templates/CUSTOM_C", "", 404, "could not be found"},
	)
}

func TestShards(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for _, shard := range []string{`"a"`, `"a"`, `null`} {
		c.enroll("root", `{"driver": "fake-hardware", "shard": `+shard+`}`)
	}
	got := c.ask("root", "1.82", "GET", "/v1/shards", "")
	if text := fmt.Sprint(got.body["shards"]); text != "[map[count:2 name:a] map[count:1 name:<nil>]]" {
		t.Error(text)
	}
	c.play(step{"root", "1.81", "GET", "/v1/shards", "", 404, "The API version does not allow shards"})
}

// The ports of a port group are on one physical network, which the first of them brings.
func TestPortsOfAGroupAreOnOneNetwork(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	node := c.enroll("root", `{"driver": "fake-hardware"}`)
	const v = "1.115"
	group := func(body string) string {
		return c.ask("root", v, "POST", "/v1/portgroups", `{"node_uuid": "`+node+`"`+body+`}`).body["uuid"].(string)
	}
	last := 0
	port := func(body string, status int, fault string) string {
		t.Helper()
		last++
		made := c.ask("root", v, "POST", "/v1/ports", fmt.Sprintf(`{"address": "52:54:00:00:00:%02x", "node_uuid": "%s"%s}`, last, node, body))
		if made.status != status || !strings.Contains(made.fault, fault) {
			t.Errorf("%s: %d %q, not %d %q", body, made.status, made.fault, status, fault)
		}
		id, _ := made.body["uuid"].(string)
		return id
	}
	in := func(group, network string) string {
		return `, "portgroup_uuid": "` + group + `", "physical_network": ` + network
	}
	change := func(port, path, value string, status int, fault string) {
		t.Helper()
		c.play(step{"root", v, "PATCH", "/v1/ports/" + port, `[{"op": "replace", "path": "` + path + `", "value": ` + value + `}]`, status, fault})
	}
	shows := func(group string, want any) {
		t.Helper()
		if got := c.ask("root", v, "GET", "/v1/portgroups/"+group, "").body["physical_network"]; got != want {
			t.Errorf("%v, not %v", got, want)
		}
	}

	free := group("")
	shows(free, nil)
	first := port(in(free, `"one"`), 201, "")
	shows(free, "one")
	port(in(free, `"two"`), 409, "Port with physical network two cannot become a member of port group "+free+" which has ports in physical network one.")
	port(in(free, `null`), 409, "Port with physical network None cannot become a member of port group "+free+" which has ports in physical network one.")
	second := port(in(free, `"one"`), 201, "")
	change(second, "/physical_network", `"two"`, 409, "which has ports in physical network one.")
	third := port(`, "physical_network": "two"`, 201, "")
	change(third, "/portgroup_uuid", `"`+free+`"`, 409, "which has ports in physical network one.")
	change(third, "/physical_network", `"one"`, 200, "")
	change(third, "/portgroup_uuid", `"`+free+`"`, 200, "")

	bound := group(`, "physical_network": "three"`)
	port(in(bound, `"one"`), 409, "which has ports in physical network three.")
	port(in(bound, `"three"`), 201, "")

	bare := group("")
	port(in(bare, `null`), 201, "")
	port(in(bare, `"one"`), 409, "which has ports in physical network None.")
	shows(bare, nil)
	if got := c.ask("root", v, "GET", "/v1/ports/"+first, "").body["physical_network"]; got != "one" {
		t.Errorf("the first is on %v", got)
	}
}

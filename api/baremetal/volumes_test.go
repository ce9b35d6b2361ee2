package baremetal_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/internal/contracttest"
)

// Connectors and targets come, are shown and changed and go, with the nodes that are off
// alone, and for those who may.
func TestVolumes(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	const v, none = "1.115", "00000000-0000-4000-8000-00000000dead"
	node, other := c.enroll("root", `{"driver": "fake-hardware", "name": "n", "owner": "a11ce"}`), c.enroll("root", `{"driver": "fake-hardware", "name": "other"}`)
	c.set(node, "power_state", "power off")
	made := c.ask("alice", v, "POST", "/v1/volume/connectors", `{"node_uuid": "`+node+`", "type": "iqn", "connector_id": "iqn.x"}`)
	connector, _ := made.body["uuid"].(string)
	if made.status != 201 || made.header.Get("Location") != "http://localhost/v1/volume/connectors/"+connector || fmt.Sprint(made.body["extra"]) != "map[]" {
		t.Fatalf("%d %v %v", made.status, made.body, made.header)
	}
	made = c.ask("alice", v, "POST", "/v1/volume/targets", `{"node_uuid": "`+node+`", "volume_type": "iscsi", "boot_index": 0, "volume_id": "v", "properties": {"target_iqn": "i", "auth_password": "s3cret"}}`)
	target, _ := made.body["uuid"].(string)
	if properties := fmt.Sprint(made.body["properties"]); made.status != 201 || properties != "map[auth_password:****** target_iqn:i]" {
		t.Fatalf("%d %v", made.status, made.body)
	}
	off := func(what, state string) string {
		return `The requested action "` + what + `" can not be performed on node "` + node + `" while it is in state "` + state + `".`
	}
	c.play(
		step{"root", "1.31", "GET", "/v1/volume", ``, 404, "The API is not supported for this version"},
		step{"root", "1.31", "POST", "/v1/volume/connectors", `{}`, 404, "The API is not supported for this version"},
		step{"root", v, "POST", "/v1/volume/connectors", `{"node_uuid": "` + node + `", "type": "iqn"}`, 400, "Schema error for connector: 'connector_id' is a required property"},
		step{"root", v, "POST", "/v1/volume/connectors", `{"node_uuid": "x", "type": "iqn", "connector_id": "y"}`, 400, "Expected UUID for node_uuid: x"},
		step{"root", v, "POST", "/v1/volume/connectors", `{"node_uuid": "` + none + `", "type": "iqn", "connector_id": "y"}`, 400, "Invalid input for field/attribute node_uuid. Value: '" + none + "'. "},
		step{"root", v, "POST", "/v1/volume/connectors", `{"node_uuid": "` + node + `", "type": "iqn", "connector_id": "iqn.x"}`, 409, "A volume connector with type iqn and connector ID iqn.x already exists."},
		step{"root", v, "POST", "/v1/volume/connectors", `{"node_uuid": "` + node + `", "type": "iqn", "connector_id": "y", "uuid": "` + connector + `"}`, 409, "A volume connector with UUID " + connector + " already exists."},
		step{"root", v, "POST", "/v1/volume/connectors", `{"node_uuid": "` + node + `", "type": "` + strings.Repeat("x", 33) + `", "connector_id": "y"}`, 400, "The value of type is longer than 32 characters"},
		step{"root", v, "POST", "/v1/volume/targets", `{"node_uuid": "` + node + `", "volume_type": "iscsi", "boot_index": "x", "volume_id": "v"}`, 400, "Schema error for target: 'x' is not of type 'integer'"},
		step{"root", v, "POST", "/v1/volume/targets", `{"node_uuid": "` + node + `", "volume_type": "iscsi", "boot_index": 99999999999, "volume_id": "v"}`, 400, "Invalid value for boot_index: 99999999999"},
		step{"root", v, "POST", "/v1/volume/targets", `{"node_uuid": "` + node + `", "volume_type": "iscsi", "boot_index": 0, "volume_id": "w"}`, 409, "A volume target with boot index '0' for the same node already exists."},
		step{"root", v, "POST", "/v1/volume/targets", `{"node_uuid": "` + other + `", "volume_type": "iscsi", "boot_index": 0, "volume_id": "w"}`, 201, ""},
		step{"root", v, "GET", "/v1/volume/connectors/x", ``, 400, "Expected UUID for connector_uuid: x"},
		step{"root", v, "GET", "/v1/volume/targets/" + none, ``, 404, "Volume target " + none + " could not be found."},
		step{"bob", v, "GET", "/v1/volume/targets/" + target, ``, 404, "Volume target " + target + " could not be found."},
		step{"bob", v, "POST", "/v1/volume/connectors", `{"node_uuid": "` + node + `", "type": "iqn", "connector_id": "y"}`, 403, ""},
		step{"root", v, "GET", "/v1/volume/connectors?sort_key=extra", ``, 400, "The sort_key value extra is an invalid field for sorting"},
		step{"root", v, "PATCH", "/v1/volume/connectors/" + connector, `[{"op": "replace", "path": "/uuid", "value": "` + none + `"}]`, 400, ""},
		step{"root", v, "PATCH", "/v1/volume/connectors/" + connector, `[{"op": "remove", "path": "/type"}]`, 400, ""},
		step{"root", v, "PATCH", "/v1/volume/connectors/" + connector, `[{"op": "replace", "path": "/connector_id", "value": "iqn.y"}]`, 200, ""},
		step{"root", v, "PATCH", "/v1/volume/targets/" + target, `[{"op": "replace", "path": "/boot_index", "value": 1}, {"op": "add", "path": "/properties/auth_username", "value": "u"}]`, 200, ""},
	)
	var row, sealed string
	if err := c.db.Pool.QueryRow(t.Context(), `SELECT to_jsonb(t)::text, encode(secrets, 'hex') FROM baremetal.volume_targets t WHERE uuid = $1`, target).Scan(&row, &sealed); err != nil || strings.Contains(row, "s3cret") {
		t.Errorf("%s, %v", row, err)
	}
	if err := c.opens(target, "s3cret"); err != nil {
		t.Error(err)
	}
	// What is on is left as it is.
	c.set(node, "power_state", "power on")
	c.set(node, "provision_state", "active")
	c.play(
		step{"root", v, "PATCH", "/v1/volume/connectors/" + connector, `[{"op": "replace", "path": "/type", "value": "x"}]`, 400, off("volume connector update", "power on")},
		step{"root", v, "PATCH", "/v1/volume/targets/" + target, `[{"op": "replace", "path": "/boot_index", "value": 2}]`, 400, off("volume target update", "power on")},
		step{"root", v, "DELETE", "/v1/volume/connectors/" + connector, ``, 400, off("volume connector deletion", "power on")},
		step{"root", v, "DELETE", "/v1/volume/targets/" + target, ``, 400, off("volume target deletion", "power on")},
	)
	c.set(node, "power_state", "power off")
	c.set(node, "reservation", "conductor-1")
	c.play(step{"root", v, "DELETE", "/v1/volume/targets/" + target, ``, 409, "Node " + node + " is locked by host conductor-1, please retry after the current operation is completed."})
	c.set(node, "reservation", nil)
	c.play(
		step{"alice", v, "DELETE", "/v1/volume/connectors/" + connector, ``, 204, ""},
		step{"alice", v, "DELETE", "/v1/volume/targets/" + target, ``, 204, ""},
		step{"root", v, "DELETE", "/v1/nodes/" + other, ``, 204, ""},
	)
	if got := c.ask("root", v, "GET", "/v1/volume/targets", ""); fmt.Sprint(got.body) != "map[targets:[]]" {
		t.Errorf("%v", got.body)
	}
}

// Lists show what the caller may see, of one node where its path or the query names it, and
// each field from the version on that has it.
func TestVolumesListed(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	ids := map[string]string{}
	for _, name := range []string{"a", "b"} {
		ids[name] = c.enroll("root", `{"driver": "fake-hardware", "name": "`+name+`", "owner": "`+map[string]string{"a": "a11ce", "b": "b0b"}[name]+`"}`)
		c.play(step{"root", "1.115", "POST", "/v1/volume/connectors", `{"node_uuid": "` + ids[name] + `", "type": "iqn", "connector_id": "` + name + `"}`, 201, ""},
			step{"root", "1.115", "POST", "/v1/volume/targets", `{"node_uuid": "` + ids[name] + `", "volume_type": "iscsi", "boot_index": 0, "volume_id": "` + name + `", "properties": {"x": 1}}`, 201, ""})
	}
	for query, want := range map[string]string{
		"root /v1/volume/connectors":               "a b",
		"root /v1/volume/connectors?node=b":        "b",
		"root /v1/nodes/a/volume/connectors":       "a",
		"alice /v1/volume/connectors":              "a",
		"bob /v1/volume/targets":                   "b",
		"root /v1/volume/targets?sort_dir=desc":    "b a",
		"root /v1/nodes/b/volume/targets":          "b",
		"root /v1/volume/targets?limit=1":          "a",
		"root /v1/volume/targets?fields=volume_id": "a b",
	} {
		token, path, _ := strings.Cut(query, " ")
		got := c.ask(token, "1.115", "GET", path, "")
		var found []string
		for _, many := range []string{"connectors", "targets"} {
			rows, _ := got.body[many].([]any)
			for _, row := range rows {
				one := row.(map[string]any)
				for _, name := range []string{"connector_id", "volume_id"} {
					if text, ok := one[name].(string); ok {
						found = append(found, text)
					}
				}
			}
		}
		if got.status != 200 || strings.Join(found, " ") != want {
			t.Errorf("%s: %d %v", query, got.status, got.body)
		}
	}
	var contract versioned
	contracttest.Read(t, "baremetal/versioned-fields.json", &contract)
	for resource, many := range map[string]string{"volume_connector": "connectors", "volume_target": "targets"} {
		listed := c.ask("root", "1.32", "GET", "/v1/volume/"+many, "").body[many].([]any)[0].(map[string]any)
		detailed := c.ask("root", "1.32", "GET", "/v1/volume/"+many+"?detail=true", "").body[many].([]any)[0].(map[string]any)
		if len(contract.Resources[resource].Fields) == 0 {
			t.Fatalf("the contract knows no %s", resource)
		}
		for _, f := range contract.Resources[resource].Fields {
			_, inList := listed[f.Name]
			if _, inDetail := detailed[f.Name]; !inDetail || inList != f.Listed {
				t.Errorf("%s %s: listed %t, in detail %t", resource, f.Name, inList, inDetail)
			}
			if got := c.ask("root", "1.115", "GET", "/v1/volume/"+many+"?sort_key="+f.Name, ""); (got.status == 200) != f.Sortable {
				t.Errorf("%s sort_key=%s: %d", resource, f.Name, got.status)
			}
		}
	}
	// Whoever may not see them is shown none of a target's properties.
	got := c.ask("reader", "1.115", "GET", "/v1/volume/targets?detail=true", "").body["targets"].([]any)[0].(map[string]any)
	if properties := fmt.Sprint(got["properties"]); !strings.HasPrefix(properties, "map[redacted_contents:** Value redacted: Requires permission baremetal:volume:view_target_properties") {
		t.Errorf("%s", properties)
	}
	if root := c.ask("root", "1.32", "GET", "/v1/nodes/a/volume", ""); root.status != 200 || root.body["targets"].([]any)[1].(map[string]any)["href"] != "http://localhost/nodes/a/volume/targets" {
		t.Errorf("%d %v", root.status, root.body)
	}
}

package baremetal_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// free makes nodes that can be allocated, and gives their ids.
func (c *cloud) free(class string, names ...string) []string {
	c.t.Helper()
	ids := make([]string, len(names))
	for i, name := range names {
		ids[i] = c.enroll("root", fmt.Sprintf(`{"driver": "fake-hardware", "name": %q, "resource_class": %q}`, name, class))
		c.exec(`UPDATE baremetal.nodes SET provision_state = 'available', power_state = 'power off' WHERE uuid = $1`, ids[i])
	}
	return ids
}

func TestAllocations(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	const v = "1.115"
	ids := c.free("gold", "n1", "n2", "n3")
	c.play(step{"root", v, "PUT", "/v1/nodes/n2/traits", `{"traits": ["CUSTOM_A", "CUSTOM_B"]}`, 204, ""})
	made := c.ask("root", v, "POST", "/v1/allocations", `{"name": "a1", "resource_class": "gold", "traits": ["CUSTOM_A"], "candidate_nodes": ["n2", "n1"], "extra": {"k": 1}}`)
	if made.status != 201 || made.body["state"] != "allocating" || made.body["node_uuid"] != nil || !strings.HasSuffix(made.header.Get("Location"), "/v1/allocations/"+made.body["uuid"].(string)) {
		t.Fatalf("%d %v", made.status, made.body)
	}
	got := c.ask("root", v, "GET", "/v1/allocations/a1", "").body
	if got["state"] != "active" || got["node_uuid"] != ids[1] || fmt.Sprint(got["candidate_nodes"]) != fmt.Sprint([]string{ids[1], ids[0]}) {
		t.Errorf("%v", got)
	}
	node := c.ask("root", v, "GET", "/v1/nodes/n2", "").body
	if node["allocation_uuid"] != got["uuid"] || node["instance_uuid"] != got["uuid"] || fmt.Sprint(node["instance_info"]) != "map[traits:[CUSTOM_A]]" {
		t.Errorf("%v", node)
	}
	// What is not to be had is said, and kept.
	for body, reason := range map[string]string{
		`{"name": "b1", "resource_class": "none"}`:                                        "no available nodes match the resource class none",
		`{"name": "b2", "resource_class": "gold", "traits": ["CUSTOM_C"]}`:                "no suitable nodes have the requested traits CUSTOM_C",
		`{"name": "b3", "resource_class": "gold", "candidate_nodes": ["` + ids[1] + `"]}`: "none of the requested nodes are available and match the resource class gold",
	} {
		c.play(step{"root", v, "POST", "/v1/allocations", body, 201, ""})
		failed := c.ask("root", v, "GET", "/v1/allocations/"+body[10:12], "").body
		if failed["state"] != "error" || failed["last_error"] != fmt.Sprintf("Failed to process allocation %s: %s.", failed["uuid"], reason) {
			t.Errorf("%v", failed)
		}
	}
	// A node of the allocation's own name comes first.
	c.play(step{"root", v, "POST", "/v1/allocations", `{"name": "n3", "resource_class": "gold"}`, 201, ""})
	if got := c.ask("root", v, "GET", "/v1/nodes/n3/allocation?fields=name,node_uuid", "").body; got["name"] != "n3" || got["node_uuid"] != ids[2] || len(got) != 3 {
		t.Errorf("%v", got)
	}
	c.play(
		step{"root", v, "POST", "/v1/allocations", `{}`, 400, "The resource_class field is mandatory when not backfilling"},
		step{"root", v, "POST", "/v1/allocations", `{"name": "a b", "resource_class": "x"}`, 400, "Cannot create allocation with invalid name 'a b'"},
		step{"root", v, "POST", "/v1/allocations", `{"name": "a1", "resource_class": "x"}`, 409, "An allocation with name a1 already exists."},
		step{"root", v, "POST", "/v1/allocations", `{"resource_class": "x", "candidate_nodes": ["nobody"]}`, 400, "Nodes cannot be found: nobody"},
		step{"root", v, "POST", "/v1/allocations", `{"resource_class": "x", "candidate_nodes": ["` + c.enroll("root", `{"driver": "fake-hardware"}`) + `", "None"]}`, 400, "Nodes cannot be found: None"},
		step{"root", v, "POST", "/v1/allocations", `{"resource_class": "x", "node": "nobody"}`, 400, "Node nobody could not be found."},
		step{"root", "1.57", "POST", "/v1/allocations", `{"resource_class": "x", "node": "n1"}`, 400, "Cannot set node when creating an allocation in this API version"},
		step{"root", "1.59", "POST", "/v1/allocations", `{"resource_class": "x", "owner": "a11ce"}`, 406, ""},
		step{"root", "1.51", "POST", "/v1/allocations", `{"resource_class": "x"}`, 405, "The API version does not allow allocations"},
		step{"root", "1.56", "PATCH", "/v1/allocations/a1", `[]`, 405, "The API version does not allow updating allocations"},
		step{"root", "1.51", "GET", "/v1/allocations", ``, 404, "The API version does not allow allocations"},
		step{"root", v, "GET", "/v1/allocations?detail=true", ``, 400, "Unexpected arguments: detail"},
		step{"root", v, "GET", "/v1/allocations?sort_key=traits", ``, 400, "is an invalid field for sorting"},
		step{"root", "1.59", "GET", "/v1/allocations?owner=x", ``, 406, ""},
		step{"root", v, "GET", "/v1/allocations?node=nobody", ``, 400, "Node nobody could not be found."},
		step{"root", v, "PATCH", "/v1/allocations/a1", `[{"op": "replace", "path": "/extra", "value": {}}, {"op": "replace", "path": "/name", "value": "a2"}]`, 200, ""},
		step{"root", v, "PATCH", "/v1/allocations/a2", `[{"op": "replace", "path": "/resource_class", "value": "x"}]`, 400, "Only the following can be updated: name, extra"},
		step{"root", v, "PATCH", "/v1/allocations/a2", `[{"op": "replace", "path": "/name", "value": "a b"}]`, 400, "Cannot update allocation with invalid name 'a b'"},
		step{"root", v, "GET", "/v1/nodes/n1/allocation", ``, 404, "Allocation for node n1 was not found"},
		step{"root", v, "DELETE", "/v1/nodes/n1/allocation", ``, 404, "Allocation for node n1 was not found"},
		step{"root", v, "GET", "/v1/allocations/nobody", ``, 404, "Allocation nobody could not be found."},
	)
	for query, want := range map[string]string{"state=active&sort_key=name": "[a2 n3]", "resource_class=none": "[b1]", "node=n3": "[n3]", "sort_key=node_uuid&sort_dir=desc&limit=2&fields=name": "", "limit=1": "[a2]"} {
		list := c.ask("root", v, "GET", "/v1/allocations?"+query, "")
		names := []any{}
		for _, one := range list.body["allocations"].([]any) {
			names = append(names, one.(map[string]any)["name"])
		}
		if want != "" && fmt.Sprint(names) != want || list.body["next"] == nil == strings.Contains(query, "limit") {
			t.Errorf("%s: %v", query, list.body)
		}
	}
	// An active node keeps its allocation; a free one gives it back.
	c.exec(`UPDATE baremetal.nodes SET provision_state = 'active' WHERE uuid = $1`, ids[1])
	c.play(step{"root", v, "DELETE", "/v1/allocations/a2", ``, 409, "because the node is active (and maintenance mode is off)"})
	c.exec(`UPDATE baremetal.nodes SET provision_state = 'deploying', target_provision_state = 'active' WHERE uuid = $1`, ids[1])
	c.play(step{"root", v, "DELETE", "/v1/nodes/n2/allocation", ``, 409, "because the node is in state deploying where updates are not allowed"})
	c.exec(`UPDATE baremetal.nodes SET maintenance = true WHERE uuid = $1`, ids[1])
	c.play(
		step{"root", v, "DELETE", "/v1/allocations/a2", ``, 204, ""},
		step{"root", v, "GET", "/v1/allocations/a2", ``, 404, ""},
		step{"root", v, "PATCH", "/v1/nodes/n3", `[{"op": "remove", "path": "/instance_uuid"}]`, 200, ""},
		step{"root", v, "GET", "/v1/allocations/n3", ``, 404, ""},
	)
	if node := c.ask("root", v, "GET", "/v1/nodes/n2", "").body; node["allocation_uuid"] != nil || node["instance_uuid"] != nil {
		t.Errorf("%v", node)
	}
}

// A node that has an instance already gets its allocation afterwards.
func TestBackfilledAllocations(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	const v, instance = "1.115", "6d1ab2e6-8a6a-4a4c-9a11-0a4a3e3f5d02"
	id := c.free("gold", "n1")[0]
	c.exec(`UPDATE baremetal.nodes SET instance_uuid = $2 WHERE uuid = $1`, id, instance)
	c.play(step{"root", v, "POST", "/v1/allocations", `{"node": "n1"}`, 409, `Node must be in the "active" state, but the current state is "available"`})
	c.exec(`UPDATE baremetal.nodes SET provision_state = 'active' WHERE uuid = $1`, id)
	c.play(
		step{"root", v, "POST", "/v1/allocations", `{"node": "n1", "resource_class": "silver"}`, 409, "Resource class gold does not match the requested resource class silver"},
		step{"root", v, "POST", "/v1/allocations", `{"node": "n1", "traits": ["CUSTOM_A"]}`, 409, "does not match the requested traits"},
		step{"root", v, "POST", "/v1/allocations", `{"node": "n1", "uuid": "1be26c0b-03f2-4d2e-ae87-c02d7f33c781"}`, 409, "is associated with instance"},
	)
	got := c.ask("root", v, "POST", "/v1/allocations", `{"node": "n1"}`)
	if got.status != 201 || got.body["uuid"] != instance || got.body["state"] != "active" || got.body["node_uuid"] != id || got.body["resource_class"] != "gold" {
		t.Errorf("%d %v", got.status, got.body)
	}
	if list := c.ask("root", v, "GET", "/v1/allocations", "").body["allocations"].([]any); len(list) != 1 {
		t.Errorf("%v", list)
	}
}

// Of many who ask at once each has a node of its own.
func TestNoNodeIsAllocatedTwice(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	nodes := c.free("gold", "n1", "n2", "n3", "n4", "n5", "n6")
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			if got := c.ask("root", "1.115", "POST", "/v1/allocations", fmt.Sprintf(`{"name": "a%d", "resource_class": "gold"}`, i)); got.status != 201 {
				t.Errorf("%d %v", got.status, got.body)
			}
		})
	}
	all.Wait()
	had, states := map[any]bool{}, map[any]int{}
	for _, one := range c.ask("root", "1.115", "GET", "/v1/allocations", "").body["allocations"].([]any) {
		a := one.(map[string]any)
		states[a["state"]]++
		if a["node_uuid"] != nil && had[a["node_uuid"]] {
			t.Errorf("%v has two", a["node_uuid"])
		}
		had[a["node_uuid"]] = true
	}
	if states["active"] != len(nodes) || states["error"] != 4 {
		t.Errorf("%v", states)
	}
}

// A project's allocations are its own, and of its own nodes.
func TestAllocationsOfOthersAreNotThere(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	const v = "1.115"
	ids := c.free("gold", "n1", "n2")
	c.exec(`UPDATE baremetal.nodes SET owner = 'a11ce' WHERE uuid = $1`, ids[0])
	c.play(
		step{"viewer", v, "POST", "/v1/allocations", `{"resource_class": "gold"}`, 403, ""},
		step{"member", v, "POST", "/v1/allocations", `{"name": "mine", "resource_class": "gold"}`, 201, ""},
		step{"member", v, "POST", "/v1/allocations", `{"name": "more", "resource_class": "gold"}`, 201, ""},
		step{"member", v, "POST", "/v1/allocations", `{"resource_class": "gold", "owner": "b0b"}`, 403, "not matching the requester Project ID a11ce"},
		step{"member", v, "POST", "/v1/allocations", `{"resource_class": "gold", "candidate_nodes": ["n2"]}`, 400, "Nodes cannot be found: n2"},
		step{"bob", v, "POST", "/v1/allocations", `{"resource_class": "gold", "node": "n1"}`, 400, "Node n1 could not be found."},
		step{"bob", v, "GET", "/v1/allocations/mine", ``, 404, "Allocation mine could not be found."},
		step{"bob", v, "PATCH", "/v1/allocations/mine", `[]`, 404, "Allocation mine could not be found."},
		step{"bob", v, "DELETE", "/v1/allocations/mine", ``, 404, "Allocation mine could not be found."},
		step{"bob", v, "GET", "/v1/nodes/n1/allocation", ``, 400, "Node n1 could not be found."},
		step{"bob", v, "GET", "/v1/nodes/nobody/allocation", ``, 400, "Node nobody could not be found."},
		step{"bob", v, "GET", "/v1/allocations?owner=a11ce", ``, 403, ""},
	)
	mine := c.ask("member", v, "GET", "/v1/allocations/mine", "").body
	more := c.ask("member", v, "GET", "/v1/allocations/more", "").body
	if mine["owner"] != "a11ce" || mine["node_uuid"] != ids[0] || more["state"] != "error" {
		t.Errorf("%v %v", mine, more)
	}
	if list := c.ask("bob", v, "GET", "/v1/allocations", "").body["allocations"].([]any); len(list) != 0 {
		t.Errorf("%v", list)
	}
}

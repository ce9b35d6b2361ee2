package baremetal_test

import (
	"fmt"
	"strings"
	"testing"
)

const aStep = `[{"interface": "bios", "step": "apply_configuration", "args": {"password": "c4n4ry"}, "order": "1"}]`

func TestRunbooks(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	const v = "1.115"
	ordered := func(order string) string {
		return `{"interface": "bios", "step": "apply_configuration", "args": {}, "order": ` + order + `}`
	}
	c.play(
		step{"root", v, "POST", "/v1/runbooks", `{"name": "open", "public": true, "steps": ` + aStep + `}`, 201, ""},
		step{"alice", v, "POST", "/v1/runbooks", `{"name": "x", "steps": ` + aStep + `}`, 201, ""},
		step{"alice", v, "POST", "/v1/runbooks", `{"name": "y", "owner": "b0b", "steps": ` + aStep + `}`, 400, "with an owner other than your own project"},
		step{"alice", v, "POST", "/v1/runbooks", `{"name": "y", "public": true, "steps": ` + aStep + `}`, 400, "Cannot create a public runbook as a project scoped admin."},
		step{"root", "1.111", "POST", "/v1/runbooks", `{"name": "small", "steps": ` + aStep + `}`, 400, "does not match '^CUSTOM_[A-Z0-9_]+$'"},
		step{"root", "1.111", "POST", "/v1/runbooks", `{"name": "CUSTOM_A", "description": "d", "steps": ` + aStep + `}`, 400, "'description' was unexpected"},
		step{"root", "1.111", "POST", "/v1/runbooks", `{"name": "CUSTOM_A", "steps": ` + aStep + `}`, 201, ""},
		step{"root", v, "POST", "/v1/runbooks", `{"name": "open", "steps": ` + aStep + `}`, 409, "A runbook with name open already exists."},
		step{"root", v, "POST", "/v1/runbooks", `{"name": "z", "traits": [], "steps": ` + aStep + `}`, 400, "'traits' was unexpected"},
		step{"root", v, "POST", "/v1/runbooks", `{"name": "z", "steps": []}`, 400, ""},
		step{"root", v, "POST", "/v1/runbooks", `{"name": "z", "steps": [` + ordered("2147483648") + `]}`, 400, "Runbook invalid: the order 2147483648 is out of range."},
		step{"root", v, "POST", "/v1/runbooks", `{"name": "z", "steps": [` + ordered("1") + strings.Repeat(", "+ordered("1"), 256) + `]}`, 400, "Runbook invalid: there are more than 256 steps."},
		step{"root", v, "POST", "/v1/runbooks", `{"name": "z", "steps": [{"interface": "bios", "step": "a", "order": 1}, {"interface": "bios", "step": "a", "order": 2}]}`, 400, "Duplicate deploy steps"},
		step{"root", v, "POST", "/v1/runbooks", `{"name": "z", "steps": [{"interface": "bios", "step": "a", "order": "99999999999"}]}`, 400, "out of range"},
		step{"viewer", v, "POST", "/v1/runbooks", `{"name": "z", "steps": ` + aStep + `}`, 403, ""},
		// A stranger sees what is public, and changes nothing.
		step{"bob", v, "GET", "/v1/runbooks/open", ``, 200, ""},
		step{"bob", v, "PATCH", "/v1/runbooks/open", `[{"op": "add", "path": "/extra/a", "value": 1}]`, 403, ""},
		step{"bob", v, "DELETE", "/v1/runbooks/open", ``, 403, ""},
		step{"bob", v, "GET", "/v1/runbooks/x", ``, 404, "Runbook x could not be found."},
		step{"bob", v, "PATCH", "/v1/runbooks/x", `[]`, 404, "Runbook x could not be found."},
		step{"bob", v, "DELETE", "/v1/runbooks/x", ``, 404, "Runbook x could not be found."},
		step{"bob", v, "PUT", "/v1/runbooks/x/traits/CUSTOM_A", ``, 404, "Runbook x could not be found."},
		step{"alice", v, "PATCH", "/v1/runbooks/x", `[{"op": "replace", "path": "/public", "value": true}]`, 403, "baremetal:runbook:update:public"},
		step{"alice", v, "PATCH", "/v1/runbooks/x", `[{"op": "replace", "path": "/owner", "value": "b0b"}]`, 403, "baremetal:runbook:update:owner"},
		step{"alice", "1.111", "PATCH", "/v1/runbooks/x", `[{"op": "add", "path": "/description", "value": "d"}]`, 406, ""},
		step{"root", v, "PATCH", "/v1/runbooks/open", `[{"op": "replace", "path": "/owner", "value": "b0b"}]`, 400, "There cannot be an owner for a public runbook"},
		step{"root", v, "PATCH", "/v1/runbooks/open", `[{"op": "remove", "path": "/steps"}]`, 400, "'steps' is a required property"},
		step{"root", v, "PATCH", "/v1/runbooks/open", `[{"op": "replace", "path": "/public", "value": false}, {"op": "replace", "path": "/owner", "value": "b0b"}, {"op": "add", "path": "/description", "value": "d"}]`, 200, ""},
		step{"root", v, "PATCH", "/v1/runbooks/x", `[{"op": "replace", "path": "/public", "value": true}]`, 200, ""},
		step{"root", "1.91", "GET", "/v1/runbooks", ``, 404, "The API version does not allow runbooks"},
		step{"root", "1.91", "DELETE", "/v1/runbooks/x", ``, 405, "The API version does not allow runbooks"},
		step{"root", v, "PUT", "/v1/runbooks/x/traits", `{"traits": ["CUSTOM_B", "CUSTOM_A", "CUSTOM_B"]}`, 204, ""},
		step{"root", v, "PUT", "/v1/runbooks/x/traits/CUSTOM_C", ``, 204, ""},
		step{"root", v, "PUT", "/v1/runbooks/x/traits/small", ``, 400, ""},
		step{"root", v, "PUT", "/v1/runbooks/x/traits/CUSTOM_D", `{"a": 1}`, 400, "No body should be provided when adding a trait"},
		step{"root", v, "DELETE", "/v1/runbooks/x/traits/CUSTOM_Z", ``, 204, ""},
		step{"root", v, "DELETE", "/v1/runbooks/x/traits/CUSTOM_A", ``, 204, ""},
		step{"root", "1.111", "GET", "/v1/runbooks/x/traits", ``, 404, "The API version does not allow runbook traits"},
		step{"root", v, "DELETE", "/v1/runbooks/CUSTOM_A", ``, 204, ""},
	)
	x := c.ask("root", v, "GET", "/v1/runbooks/x", "").body
	if x["owner"] != nil || x["public"] != true || fmt.Sprint(x["traits"]) != "[CUSTOM_B CUSTOM_C]" || fmt.Sprint(x["steps"]) != "[map[args:map[password:******] interface:bios order:1 step:apply_configuration]]" {
		t.Errorf("%v", x)
	}
	open := c.ask("bob", v, "GET", "/v1/runbooks/open", "").body
	if open["owner"] != "b0b" || open["public"] != false || open["description"] != "d" {
		t.Errorf("%v", open)
	}
	for token, want := range map[string]int{"root": 2, "alice": 1, "bob": 2} {
		list := c.ask(token, v, "GET", "/v1/runbooks", "").body["runbooks"].([]any)
		if len(list) != want || len(list[0].(map[string]any)) != 3 {
			t.Errorf("%s: %v", token, list)
		}
	}
	if list := c.ask("root", "1.92", "GET", "/v1/runbooks?detail=true&limit=1", "").body; len(list["runbooks"].([]any)[0].(map[string]any)) != 10 || list["next"] == nil {
		t.Errorf("%v", list)
	}
}

func TestInspectionRules(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	const v, log = "1.115", `"actions": [{"op": "log", "args": {"msg": "m"}}]`
	made := c.ask("root", v, "POST", "/v1/inspection_rules", `{"description": "d", "priority": 7, `+log+`, "conditions": [{"op": "!eq", "args": {"values": [1, 2]}, "loop": [], "multiple": "any"}]}`)
	id, _ := made.body["uuid"].(string)
	if made.status != 201 || made.body["phase"] != "main" || made.body["sensitive"] != false || made.header.Get("Location") != "http://localhost/v1/inspection_rules/"+id {
		t.Fatalf("%d %v", made.status, made.body)
	}
	post := func(body, fault string) step {
		return step{"root", v, "POST", "/v1/inspection_rules", body, 400, fault}
	}
	c.play(
		post(`{}`, "'actions' is a required property"),
		post(`{"actions": [{"op": "fail", "args": {}}]}`, "missing required argument(s): msg"),
		post(`{"actions": [{"op": "fail", "args": {"msg": "x", "more": 1}}]}`, "unexpected argument(s): more"),
		post(`{"actions": [{"op": "set-attribute", "args": ["a"]}]}`, "Not enough arguments provided. Missing: value"),
		post(`{"actions": [{"op": "explode", "args": {}}]}`, "'explode' is not one of"),
		post(`{"phase": "late", `+log+`}`, "Invalid phase: late. Valid phases are: main"),
		post(`{"priority": 10000, `+log+`}`, "Priority must be between 0 and 9999 for user-defined rules."),
		post(`{"priority": -1, `+log+`}`, "-1 is less than the minimum of 0"),
		post(`{"priority": 5000.5, `+log+`}`, "5000.5 is not of type 'integer'"),
		step{"alice", v, "GET", "/v1/inspection_rules", ``, 403, ""},
		step{"viewer", v, "GET", "/v1/inspection_rules/" + id, ``, 200, ""},
		step{"viewer", v, "DELETE", "/v1/inspection_rules/" + id, ``, 403, ""},
		step{"root", "1.95", "GET", "/v1/inspection_rules", ``, 404, "The API version does not allow inspection rules"},
		step{"root", "1.95", "POST", "/v1/inspection_rules", `{}`, 405, "The API version does not allow inspection rules"},
		step{"root", v, "PATCH", "/v1/inspection_rules/" + id, `[{"op": "replace", "path": "/priority", "value": 9}, {"op": "replace", "path": "/sensitive", "value": true}]`, 200, ""},
		step{"root", v, "PATCH", "/v1/inspection_rules/" + id, `[{"op": "replace", "path": "/sensitive", "value": false}]`, 400, "Inspection rules cannot have the sensitive flag unset."},
		step{"root", v, "PATCH", "/v1/inspection_rules/" + id, `[{"op": "replace", "path": "/actions", "value": []}]`, 400, ""},
		step{"root", v, "GET", "/v1/inspection_rules/name", ``, 400, "Expected UUID for inspection_rule_uuid: name"},
		step{"root", v, "GET", "/v1/inspection_rules?phase=main&sort_key=priority", ``, 200, ""},
	)
	one := c.ask("root", v, "GET", "/v1/inspection_rules/"+id, "").body
	if one["priority"] != 9.0 || one["actions"] != nil || one["conditions"] != nil {
		t.Errorf("%v", one)
	}
	list := c.ask("root", v, "GET", "/v1/inspection_rules", "").body["inspection_rules"].([]any)[0].(map[string]any)
	if len(list) != 5 || list["links"].([]any)[0].(map[string]any)["href"] != "http://localhost/v1/inspection/"+id {
		t.Errorf("%v", list)
	}
	c.play(step{"root", v, "DELETE", "/v1/inspection_rules/" + id, ``, 204, ""}, step{"root", v, "DELETE", "/v1/inspection_rules/" + id, ``, 404, ""})
}

package inspection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
)

// parsed is an object as rules see it.
func parsed(t *testing.T, text string) *pyjson.Object {
	t.Helper()
	value, _, err := pyjson.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value.(*pyjson.Object)
}

// subject is a node on which rules are tried, and what they have said and asked.
func subject(t *testing.T) (*Subject, *[]string) {
	t.Helper()
	var said []string
	s := &Subject{UUID: "n", Fields: []string{"name", "driver_info", "properties", "extra"}, PortFields: []string{"extra", "physical_network"},
		Node: parsed(t, `{"uuid": "n", "name": null, "driver_info": {"ipmi_address": "192.0.2.7", "ipmi_password": "s3cret"}, "properties": {"capabilities": "a:b"},
			"extra": {"list": ["x"]}, "traits": ["CUSTOM_A"], "provision_state": "inspecting"}`),
		Ports:     map[string]*pyjson.Object{"p": parsed(t, `{"uuid": "p", "extra": {}, "physical_network": null}`)},
		Inventory: parsed(t, `{"bmc_address": "192.0.2.9", "cpu": {"count": 4, "flags": []}, "memory": {"physical_mb": 2048}, "bmc_password": "s3cret", "interfaces": [{"name": "a"}], "hostname": "Node-7", "none": null, "true": true}`),
		Plugin:    parsed(t, `{"root_disk": {"size": 10}, "password": "s3cret", "alone": {"x": 1}}`),
		Log:       func(level, text string) { said = append(said, level+" "+text) },
		Call: func(_ context.Context, c Call) error {
			said = append(said, fmt.Sprintf("GET %s %v %v %d %v", c.URL, c.Headers, c.Timeout, c.Retries, c.Backoff))
			if strings.Contains(c.URL, "nowhere") {
				return errors.New("it could not be reached")
			}
			return nil
		}}
	return s, &said
}

func operations(t *testing.T, text string) []Operation {
	t.Helper()
	all, err := ReadOperations([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestConditions(t *testing.T) {
	t.Parallel()
	for condition, want := range map[string]string{
		`{"op": "eq", "args": {"values": ["{inventory[cpu][count]}", "4"]}}`:                                 "true",
		`{"op": "eq", "args": {"values": ["{inventory[cpu][count]}", 4]}}`:                                   "false",
		`{"op": "eq", "args": {"values": ["{inventory[cpu][count]}", 4], "force_strings": true}}`:            "true",
		`{"op": "!eq", "args": [["a", "b"]]}`:                                                                "true",
		`{"op": "eq", "args": {"values": [1]}}`:                                                              "true",
		`{"op": "eq", "args": {"values": [1, 1.0, true]}}`:                                                   "true",
		`{"op": "lt", "args": {"values": [1, 2, 3]}}`:                                                        "true",
		`{"op": "gt", "args": {"values": [3, 2, 2]}}`:                                                        "false",
		`{"op": "gt", "args": {"values": ["b", "a"]}}`:                                                       "true",
		`{"op": "lt", "args": {"values": [1, "a"]}}`:                                                         "Failed to apply rule r to node n: '<' not supported between instances of 'int' and 'str'",
		`{"op": "eq", "args": {"values": "ab"}}`:                                                             "Inspection rule condition check failed. Reason: Failed to check condition: 'eq' on values: ab: Expected list for 'values', got: str",
		`{"op": "is-empty", "args": {"value": "{inventory[nothing]}"}}`:                                      "true",
		`{"op": "is-empty", "args": {"value": "{inventory[cpu][flags]}"}}`:                                   "true",
		`{"op": "is-empty", "args": {"value": "{inventory[cpu]}"}}`:                                          "false",
		`{"op": "!is-empty", "args": {"value": "{node.name}"}}`:                                              "false",
		`{"op": "is-none", "args": {"value": null}}`:                                                         "true",
		`{"op": "is-none", "args": {"value": "{inventory[none]}"}}`:                                          "false",
		`{"op": "is-true", "args": {"value": "{inventory[true]}"}}`:                                          "true",
		`{"op": "is-true", "args": {"value": 0}}`:                                                            "false",
		`{"op": "is-false", "args": {"value": "No"}}`:                                                        "true",
		`{"op": "is-false", "args": {"value": null}}`:                                                        "true",
		`{"op": "in-net", "args": {"address": "{inventory[bmc_address]}", "subnet": "192.0.2.0/28"}}`:        "true",
		`{"op": "in-net", "args": {"address": "192.0.2.99", "subnet": "192.0.2.0/28"}}`:                      "false",
		`{"op": "in-net", "args": {"address": "192.0.2.99", "subnet": "x"}}`:                                 "Inspection rule execution failed. Reason: invalid value: invalid IPNetwork x",
		`{"op": "in-net", "args": {"address": "x", "subnet": "192.0.2.1"}}`:                                  "Failed to apply rule r to node n: failed to detect a valid IP address from 'x'",
		`{"op": "matches", "args": {"value": "{inventory[hostname]}", "regex": "Node-[0-9]"}}`:               "true",
		`{"op": "matches", "args": {"value": "{inventory[hostname]}", "regex": "Node"}}`:                     "false",
		`{"op": "contains", "args": {"value": "{inventory[hostname]}", "regex": "de-"}}`:                     "true",
		`{"op": "one-of", "args": {"value": "{inventory[hostname]}", "values": ["a", "Node-7"]}}`:            "true",
		`{"op": "one-of", "args": {"value": "b", "values": "abc"}}`:                                          "true",
		`{"op": "one-of", "args": ["b"]}`:                                                                    "false",
		`{"op": "eq", "args": {"values": ["{item}", "b"]}, "loop": ["a", "b"]}`:                              "true",
		`{"op": "eq", "args": {"values": ["{item}", "b"]}, "loop": ["a", "b"], "multiple": "all"}`:           "false",
		`{"op": "eq", "args": {"values": ["{item}", "b"]}, "loop": ["a", "b"], "multiple": "last"}`:          "true",
		`{"op": "eq", "args": {"values": ["{item}", "b"]}, "loop": ["a", "b"], "multiple": "first"}`:         "true",
		`{"op": "eq", "args": {"values": ["{item[v]}", 4]}, "loop": {"v": "{inventory[cpu][count]}"}}`:       "true",
		`{"op": "eq", "args": {"values": ["{inventory[interfaces][0][name]!r}", "'a'"]}}`:                    "true",
		`{"op": "eq", "args": {"values": ["{inventory[interfaces][9][name]}", "{{inventory}}"]}}`:            "false",
		`{"op": "eq", "args": {"values": ["{inventory[bmc_password]} {plugin_data[password]}", "*** ***"]}}`: "true",
		`{"op": "eq", "args": {"values": ["{node.driver_info[ipmi_password]}", "s3cret"]}}`:                  "true",
		`{"op": "eq", "args": {"values": ["{inventory.cpu}", "{nobody}", "{", "}"]}}`:                        "false",
	} {
		s, said := subject(t)
		err := Carry(t.Context(), []Rule{{UUID: "r", Conditions: operations(t, "["+condition+"]"), Actions: operations(t, `[{"op": "log", "args": {"msg": "yes"}}]`)}}, s, MaskAlways)
		got := fmt.Sprint(len(*said) == 1)
		if err != nil {
			got = faults.As(err).Message
		}
		if got != want {
			t.Errorf("%s: %s, not %s", condition, got, want)
		}
	}
}

func TestActions(t *testing.T) {
	t.Parallel()
	const failed = "Inspection rule action execution failed. Reason: "
	for action, want := range map[string]string{
		`{"op": "fail", "args": {"msg": "no {inventory}"}}`:                                                                                                                    "Failed to inspect hardware. Reason: no {inventory}",
		`{"op": "log", "args": {"msg": "{node.uuid}: {inventory[memory][physical_mb]}", "level": "WARNING"}}`:                                                                  "warning n: 2048",
		`{"op": "log", "args": {"msg": "x", "level": "loud"}}`:                                                                                                                 "Inspection rule execution failed. Reason: Invalid log level: loud. Choose from {'debug', 'info', 'warning', 'error', 'critical'}",
		`{"op": "set-attribute", "args": {"path": "name", "value": "{inventory[hostname]}"}}`:                                                                                  `name "Node-7"`,
		`{"op": "set-attribute", "args": ["driver_info.ipmi_address", "{inventory[bmc_address]}"]}`:                                                                            `driver_info {"ipmi_address":"192.0.2.9","ipmi_password":"s3cret"}`,
		`{"op": "set-attribute", "args": {"path": "/extra/a/b/", "value": {"x": ["{inventory[cpu][count]}"]}}}`:                                                                `extra {"list":["x"],"a":{"b":{"x":["4"]}}}`,
		`{"op": "set-attribute", "args": {"path": "extra/list/x", "value": 1}}`:                                                                                                failed + "Failed to set attribute extra/list/x with value 1: 'list' object has no attribute 'setdefault'",
		`{"op": "set-attribute", "args": {"path": "provision_state", "value": "active"}}`:                                                                                      failed + "Failed to set attribute provision_state with value active: no rule changes 'provision_state'",
		`{"op": "set-attribute", "args": {"path": "{item[p]}", "value": "{item[v]}"}, "loop": [{"p": "extra/a", "v": "{inventory[cpu][count]}"}, {"p": "extra/b", "v": "2"}]}`: `extra {"list":["x"],"a":"4","b":"2"}`,
		`{"op": "extend-attribute", "args": {"path": "extra/list", "value": "y"}}`:                                                                                             `extra {"list":["x","y"]}`,
		`{"op": "extend-attribute", "args": {"path": "extra/list", "value": "x", "unique": true}}`:                                                                             ``,
		`{"op": "extend-attribute", "args": {"path": "extra", "value": "x"}}`:                                                                                                  failed + "Failed to extend attribute extra: " + failed + "Cannot extend non-list attribute extra with value x",
		`{"op": "del-attribute", "args": {"path": "extra/list"}}`:                                                                                                              `extra {}`,
		`{"op": "del-attribute", "args": {"path": "extra/nothing"}}`:                                                                                                           failed + "Failed to delete attribute at extra/nothing: 'nothing'",
		`{"op": "del-attribute", "args": {"path": "name"}}`:                                                                                                                    failed + "Failed to delete attribute at name: 'name' can't be deleted",
		`{"op": "set-capability", "args": {"name": "c", "value": "d"}}`:                                                                                                        `properties {"capabilities":"a:b,c:d"}`,
		`{"op": "set-capability", "args": {"name": "c", "value": 5}}`:                                                                                                          failed + "Failed to set capability c: sequence item 1: expected str instance, int found",
		`{"op": "unset-capability", "args": {"name": "a"}}`:                                                                                                                    `properties {"capabilities":""}`,
		`{"op": "add-trait", "args": {"name": "CUSTOM_B"}}`:                                                                                                                    `traits ["CUSTOM_A","CUSTOM_B"]`,
		`{"op": "add-trait", "args": {"name": "CUSTOM_A"}}`:                                                                                                                    ``,
		`{"op": "remove-trait", "args": {"name": "CUSTOM_A"}}`:                                                                                                                 `traits []`,
		`{"op": "remove-trait", "args": {"name": "CUSTOM_C"}}`:                                                                                                                 ``,
		`{"op": "set-plugin-data", "args": {"path": "a.b", "value": "{plugin_data[root_disk][size]}"}}`:                                                                        `plugin {"root_disk":{"size":10},"password":"s3cret","alone":{"x":1},"a":{"b":"10"}}`,
		`{"op": "extend-plugin-data", "args": {"path": ["a", "b"], "value": 1}}`:                                                                                               `plugin {"root_disk":{"size":10},"password":"s3cret","alone":{"x":1},"a":{"b":[1]}}`,
		`{"op": "extend-plugin-data", "args": {"path": "root_disk.size", "value": 1}}`:                                                                                         failed + "Failed to extend plugin data at root_disk.size: 'int' object has no attribute 'append'",
		`{"op": "unset-plugin-data", "args": {"path": "alone.x"}}`:                                                                                                             `plugin {"root_disk":{"size":10},"password":"s3cret"}`,
		`{"op": "unset-plugin-data", "args": {"path": "nothing.x"}}`:                                                                                                           ``,
		`{"op": "set-port-attribute", "args": {"port_id": "p", "path": "extra/x", "value": "{inventory[hostname]}"}}`:                                                          `port {"uuid":"p","extra":{"x":"Node-7"},"physical_network":null}`,
		`{"op": "set-port-attribute", "args": {"port_id": "q", "path": "extra/x", "value": 1}}`:                                                                                "Port q could not be found.",
		`{"op": "set-port-attribute", "args": {"port_id": "p", "path": "address", "value": 1}}`:                                                                                failed + "Failed to set attribute address for port p: no rule changes 'address'",
		`{"op": "extend-port-attribute", "args": {"port_id": "p", "path": "extra.l", "value": 1}}`:                                                                             `port {"uuid":"p","extra":{"l":[1]},"physical_network":null}`,
		`{"op": "del-port-attribute", "args": {"port_id": "p", "path": "extra/x"}}`:                                                                                            failed + "Failed to delete attribute extra/x for port p: 'x'",
		`{"op": "api-call", "args": {"url": "http://hooks/{node.uuid}", "headers": {"X": "1"}, "retries": "99"}}`:                                                              "GET http://hooks/n map[X:1] 5 10 0.3",
		`{"op": "api-call", "args": {"url": "http://nowhere"}}`:                                                                                                                failed + "Request to http://nowhere failed: it could not be reached",
		`{"op": "api-call", "args": {"url": "http://x", "timeout": 0}}`:                                                                                                        failed + "Invalid parameter: timeout must be greater than zero",
		`{"op": "api-call", "args": {"url": "http://x", "timeout": "soon"}}`:                                                                                                   failed + "Invalid parameter: could not convert string to float: 'soon'",
		`{"op": "api-call", "args": {"url": "http://x", "proxies": {}}}`:                                                                                                       failed + "Invalid parameter: this release makes requests by no proxies",
		`{"op": "dance", "args": {}}`:                                                                                                                                          "Failed to apply rule r to node n: Unsupported action: 'dance'.",
		`{"op": "fail", "args": {}}`:                                                                                                                                           "Inspection rule validation failed. Reason: missing required argument(s): msg",
	} {
		s, said := subject(t)
		before := shown(t, s)
		err := Carry(t.Context(), []Rule{{UUID: "r", Actions: operations(t, "["+action+"]")}}, s, MaskAlways)
		got := strings.Join(*said, "; ")
		if err != nil {
			got = faults.As(err).Message
		} else {
			for name, text := range shown(t, s) {
				if text != before[name] {
					got += name + " " + text
				}
			}
		}
		if got != want {
			t.Errorf("%s:\n%s\n%s", action, got, want)
		}
	}
}

// shown is all that rules may change, as text.
func shown(t *testing.T, s *Subject) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range s.Node.Keys() {
		value, _ := s.Node.Get(name)
		all[name] = text0(t, value)
	}
	all["plugin"], all["port"] = text0(t, s.Plugin), text0(t, s.Ports["p"])
	return all
}

func text0(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What one rule has changed the next one sees, and secrets only where they may be seen.
func TestRules(t *testing.T) {
	t.Parallel()
	first := Rule{UUID: "1", Actions: operations(t, `[{"op": "set-plugin-data", "args": {"path": "x", "value": "{inventory[bmc_password]}"}}]`)}
	second := Rule{UUID: "2", Conditions: operations(t, `[{"op": "eq", "args": {"values": ["{plugin_data[x]}", "s3cret"]}}]`), Actions: operations(t, `[{"op": "log", "args": {"msg": "seen"}}, {"op": "fail", "args": {"msg": "x"}}, {"op": "log", "args": {"msg": "late"}}]`)}
	for _, c := range []struct {
		mask      MaskSecrets
		sensitive bool
		seen      bool
	}{{MaskAlways, true, false}, {MaskSensitive, false, false}, {MaskSensitive, true, true}, {MaskNever, false, true}, {"", true, false}} {
		s, said := subject(t)
		first.Sensitive = c.sensitive
		err := Carry(t.Context(), []Rule{first, second}, s, c.mask)
		if (err != nil) != c.seen || slices.Contains(*said, "info seen") != c.seen || slices.Contains(*said, "info late") {
			t.Errorf("%+v: %v, %v", c, *said, err)
		}
	}
}

func FuzzFill(f *testing.F) {
	for _, seed := range []string{"{node.uuid}", "{inventory[cpu][count]!r}", "{{}}", "{", "}{", "{item[", "{node.", "{a!x}", "{inventory[interfaces][0]}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, _ := subject(t)
		c := &carrier{Subject: s, masked: true}
		if got := pyText(c.filler("item", true).fill(text)); strings.Contains(got, "s3cret") && !strings.Contains(text, "s3cret") && !strings.Contains(text, "node.") {
			t.Errorf("%q: %q", text, got)
		}
	})
}

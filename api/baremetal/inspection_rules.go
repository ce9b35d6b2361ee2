package baremetal

// Inspection rules: what is written down of what an inspection finds.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// mainPhase is the one in which rules can be carried out.
const mainPhase = "main"

var inspectionRules = kind[baremetal.InspectionRule]{
	resource: &inspectionRuleResource, table: baremetal.InspectionRules, rule: "baremetal:inspection_rule:", param: "rule", misnamed: "Expected UUID for inspection_rule_uuid: %s", what: "inspection_rule",
	schema:  "inspection_rule_create",
	filters: []filter{{name: "phase", since: 1}},
	fresh: func() *baremetal.InspectionRule {
		return &baremetal.InspectionRule{Phase: mainPhase, Conditions: json.RawMessage(`[]`)}
	},
	create: func(_ *API, _ *rest.Request, _ store.Tx, _ *pyjson.Object, rule *baremetal.InspectionRule) error {
		return soundRule(rule)
	},
	change: func(_ *API, _ *rest.Request, _ store.Tx, before, after *baremetal.InspectionRule, changes []change) error {
		if before.Sensitive && !after.Sensitive {
			return unpatchable(changes, "Inspection rules cannot have the sensitive flag unset.")
		}
		return soundRule(after)
	},
	dress: func(_ *rest.Request, rule *baremetal.InspectionRule, _ []string, shown map[string]any) {
		for _, name := range []string{"conditions", "actions"} {
			if _, ok := shown[name]; ok && rule.Sensitive {
				shown[name] = nil
			}
		}
	},
}

// arguments are those that an operator or an action needs, and those that it may
// have.
type arguments struct{ needed, also []string }

var (
	operators = map[string]arguments{
		"eq": {[]string{"values"}, []string{"force_strings"}}, "lt": {[]string{"values"}, []string{"force_strings"}}, "gt": {[]string{"values"}, []string{"force_strings"}},
		"is-empty": {[]string{"value"}, nil}, "in-net": {[]string{"address", "subnet"}, nil}, "matches": {[]string{"value", "regex"}, nil},
		"contains": {[]string{"value", "regex"}, nil}, "one-of": {[]string{"value"}, []string{"values"}}, "is-none": {[]string{"value"}, nil},
		"is-true": {[]string{"value"}, nil}, "is-false": {[]string{"value"}, nil},
	}
	actions = map[string]arguments{
		"fail": {[]string{"msg"}, nil}, "log": {[]string{"msg"}, []string{"level"}}, "set-attribute": {[]string{"path", "value"}, nil},
		"extend-attribute": {[]string{"path", "value"}, []string{"unique"}}, "del-attribute": {[]string{"path"}, nil},
		"set-capability": {[]string{"name", "value"}, nil}, "unset-capability": {[]string{"name"}, nil},
		"add-trait": {[]string{"name"}, nil}, "remove-trait": {[]string{"name"}, nil},
		"set-plugin-data": {[]string{"path", "value"}, []string{"plugin_data"}}, "extend-plugin-data": {[]string{"path", "value"}, []string{"plugin_data", "unique"}},
		"unset-plugin-data": {[]string{"path"}, []string{"plugin_data"}}, "set-port-attribute": {[]string{"port_id", "path", "value"}, nil},
		"extend-port-attribute": {[]string{"port_id", "path", "value"}, []string{"unique"}}, "del-port-attribute": {[]string{"port_id", "path"}, nil},
		"api-call": {[]string{"url"}, []string{"headers", "proxies", "timeout", "retries", "backoff_factor"}},
	}
)

// soundRule refuses a rule that can't be carried out; its schema is looked at
// before.
func soundRule(rule *baremetal.InspectionRule) error {
	for _, list := range []*json.RawMessage{&rule.Conditions, &rule.Actions} {
		if string(*list) == "{}" { // a list that was sent as null
			*list = json.RawMessage(`[]`)
		}
	}
	var reasons []string
	if rule.Phase != mainPhase {
		reasons = append(reasons, fmt.Sprintf("Invalid phase: %s. Valid phases are: %s", rule.Phase, mainPhase))
	}
	if rule.Priority > 9999 {
		reasons = append(reasons, "Priority must be between 0 and 9999 for user-defined rules.")
	}
	for _, of := range []struct {
		list  json.RawMessage
		known map[string]arguments
	}{{rule.Conditions, operators}, {rule.Actions, actions}} {
		var all []struct {
			Op   string
			Args any
		}
		if err := json.Unmarshal(of.list, &all); err != nil {
			return fmt.Errorf("an inspection rule: %w", err)
		}
		for _, one := range all {
			if err := of.known[strings.TrimPrefix(one.Op, "!")].fit(one.Args); err != nil {
				return err
			}
		}
	}
	switch len(reasons) {
	case 0:
		return nil
	case 1:
		return faults.New(faults.Invalid, "Invalid", "%s", reasons[0])
	}
	return faults.New(faults.Invalid, "Invalid", "Multiple validation errors occurred: %s", strings.Join(reasons, "; "))
}

// fit refuses what lacks an argument or has one too many; a list gives them in
// their order.
func (a arguments) fit(given any) error {
	refuse := func(format string, args ...any) error {
		return faults.New(faults.Invalid, "InspectionRuleValidationFailure", format, args...)
	}
	named, _ := given.(map[string]any)
	if list, ok := given.([]any); ok {
		if len(list) < len(a.needed) {
			return refuse("Not enough arguments provided. Missing: %s", strings.Join(a.needed[len(list):], ", "))
		}
		return nil
	}
	var missing, unexpected, reasons []string
	for _, name := range a.needed {
		if _, ok := named[name]; !ok {
			missing = append(missing, name)
		}
	}
	for name := range named {
		if !slices.Contains(a.needed, name) && !slices.Contains(a.also, name) {
			unexpected = append(unexpected, name)
		}
	}
	slices.Sort(unexpected)
	if len(missing) > 0 {
		reasons = append(reasons, "missing required argument(s): "+strings.Join(missing, ", "))
	}
	if len(unexpected) > 0 {
		reasons = append(reasons, "unexpected argument(s): "+strings.Join(unexpected, ", "))
	}
	if len(reasons) > 0 {
		return refuse("%s", strings.Join(reasons, "; "))
	}
	return nil
}

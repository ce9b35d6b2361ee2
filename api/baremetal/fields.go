package baremetal

// Fields: what clients of which version know of each resource
// (contracts: versioned-fields.json).

import (
	"encoding/json"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
)

// trait says where a field appears.
type trait int

const (
	// listed fields are shown in lists that don't say which they want.
	listed trait = 1 << iota
	// create fields may be given to a new one.
	create
	// sort fields may order a list.
	sort
)

// field is one of a resource's.
type field struct {
	name string
	// since is the first minor version that knows it.
	since  int
	traits trait
}

// resource is a kind of thing that the API keeps.
type resource struct {
	// one and many are its names: in texts, and in paths and lists.
	one, many string
	fields    []field
	// patchable are the fields that a patch may change, in the original's order.
	patchable []string
	// beside are links that a detailed view has, since when: the path below it.
	beside []field
	// below is what comes before many in paths; empty for nothing.
	below string
	// linked is the path of its links where that isn't the one of its list.
	linked string
	// key is the field that lists go on from; empty is the row's uuid.
	key string
	// whole lists show every field, and know no "detail".
	whole bool
	// fieldless lists know no "fields".
	fieldless bool
}

var chassisResource = resource{
	one: "chassis", many: "chassis",
	fields: []field{
		{"uuid", 1, listed | create | sort},
		{"created_at", 1, sort},
		{"updated_at", 1, sort},
		{"description", 1, listed | create | sort},
		{"extra", 1, create},
	},
	patchable: []string{"uuid", "extra", "description"},
}

var deployTemplateResource = resource{
	one: "template", many: "deploy_templates",
	fields: []field{
		{"uuid", 55, listed | create | sort},
		{"created_at", 55, sort},
		{"updated_at", 55, sort},
		{"name", 55, listed | create | sort},
		{"extra", 55, create},
		{"steps", 55, create},
	},
	patchable: []string{"extra", "name", "steps", "description"},
}

var nodeEventResource = resource{
	one: "history", many: "history",
	fields: []field{
		{"uuid", 78, listed | sort},
		{"created_at", 78, listed | sort},
		{"severity", 78, listed | sort},
		{"event_type", 78, sort},
		{"event", 78, listed | sort},
		{"conductor", 78, sort},
		{"user", 78, 0},
		{"project", 113, sort},
		{"state", 115, sort},
		{"target_provision_state", 115, sort},
		{"duration_seconds", 115, sort},
	},
	fieldless: true,
}

var biosSettingResource = resource{
	one: "bios", many: "bios",
	fields: []field{
		{"created_at", 40, listed},
		{"updated_at", 40, listed},
		{"name", 40, listed},
		{"value", 40, listed},
		{"attribute_type", 74, 0},
		{"allowable_values", 74, 0},
		{"lower_bound", 74, 0},
		{"max_length", 74, 0},
		{"min_length", 74, 0},
		{"read_only", 74, 0},
		{"reset_required", 74, 0},
		{"unique", 74, 0},
		{"upper_bound", 74, 0},
	},
}

var firmwareResource = resource{
	one: "firmware", many: "firmware",
	fields: []field{
		{"created_at", 86, listed},
		{"updated_at", 86, listed},
		{"component", 86, listed},
		{"initial_version", 86, listed},
		{"current_version", 86, listed},
		{"last_version_flashed", 86, listed},
		{"vendor", 114, listed},
		{"model", 114, listed},
		{"serial_number", 114, listed},
	},
}

var runbookResource = resource{
	one: "runbook", many: "runbooks",
	fields: []field{
		{"uuid", 92, listed | create | sort},
		{"created_at", 92, sort},
		{"updated_at", 92, sort},
		{"name", 92, listed | create | sort},
		{"extra", 92, create},
		{"public", 92, create | sort},
		{"owner", 92, create | sort},
		{"disable_ramdisk", 92, create | sort},
		{"description", 112, create | sort},
		{"steps", 92, create},
		{"traits", 112, 0},
	},
	patchable: []string{"disable_ramdisk", "extra", "name", "owner", "public", "steps", "description"},
}

var volumeConnectorResource = resource{
	one: "connector", many: "connectors", below: "volume",
	fields: []field{
		{"uuid", 32, listed | create | sort},
		{"created_at", 32, sort},
		{"updated_at", 32, sort},
		{"node_uuid", 32, listed | create | sort},
		{"type", 32, listed | create | sort},
		{"connector_id", 32, listed | create | sort},
		{"extra", 32, create},
	},
	patchable: []string{"connector_id", "extra", "node_uuid", "type"},
}

var volumeTargetResource = resource{
	one: "target", many: "targets", below: "volume",
	fields: []field{
		{"uuid", 32, listed | create | sort},
		{"created_at", 32, sort},
		{"updated_at", 32, sort},
		{"node_uuid", 32, listed | create | sort},
		{"volume_type", 32, listed | create | sort},
		{"boot_index", 32, listed | create | sort},
		{"volume_id", 32, listed | create | sort},
		{"properties", 32, create},
		{"extra", 32, create},
	},
	patchable: []string{"boot_index", "extra", "node_uuid", "properties", "volume_id", "volume_type"},
}

var inspectionRuleResource = resource{
	one: "inspection_rule", many: "inspection_rules",
	fields: []field{
		{"uuid", 96, listed | create | sort},
		{"created_at", 96, sort},
		{"updated_at", 96, sort},
		{"description", 96, listed | create | sort},
		{"priority", 96, listed | create | sort},
		{"sensitive", 96, create | sort},
		{"phase", 96, listed | create | sort},
		{"conditions", 96, create},
		{"actions", 96, create},
	},
	patchable: []string{"uuid", "description", "priority", "sensitive", "phase", "conditions", "actions"},
	linked:    "inspection",
}

var allocationResource = resource{
	one: "allocation", many: "allocations",
	fields: []field{
		{"uuid", 52, listed | create | sort},
		{"created_at", 52, listed | sort},
		{"updated_at", 52, listed | sort},
		{"candidate_nodes", 52, listed | create},
		{"extra", 52, listed | create},
		{"last_error", 52, listed | sort},
		{"name", 52, listed | create | sort},
		{"owner", 60, listed | create | sort},
		{"resource_class", 52, listed | create | sort},
		{"state", 52, listed | sort},
		{"traits", 52, listed | create},
		{"node_uuid", 52, listed | sort},
	},
	patchable: []string{"name", "extra"},
	whole:     true,
}

var portResource = resource{
	one: "port", many: "ports",
	fields: []field{
		{"uuid", 1, listed | create | sort},
		{"created_at", 1, sort},
		{"updated_at", 1, sort},
		{"address", 1, listed | create | sort},
		{"extra", 1, create},
		{"internal_info", 18, 0},
		{"is_smartnic", 53, create | sort},
		{"local_link_connection", 19, create},
		{"physical_network", 34, create | sort},
		{"pxe_enabled", 19, create | sort},
		{"node_uuid", 1, create | sort},
		{"name", 88, create | sort},
		{"description", 97, create | sort},
		{"vendor", 100, create | sort},
		{"category", 101, create | sort},
		{"available_for_dynamic_portgroup", 111, create | sort},
		{"portgroup_uuid", 24, create | sort},
	},
	patchable: []string{"address", "extra", "is_smartnic", "local_link_connection", "node_ident", "node_uuid", "physical_network",
		"portgroup_uuid", "pxe_enabled", "name", "description", "vendor", "category", "available_for_dynamic_portgroup"},
}

var portgroupResource = resource{
	one: "portgroup", many: "portgroups",
	fields: []field{
		{"uuid", 23, listed | create | sort},
		{"created_at", 23, sort},
		{"updated_at", 23, sort},
		{"address", 23, listed | create | sort},
		{"extra", 23, create},
		{"internal_info", 23, 0},
		{"mode", 26, create | sort},
		{"name", 23, listed | create | sort},
		{"properties", 26, create},
		{"standalone_ports_supported", 23, create | sort},
		{"node_uuid", 23, create | sort},
		{"physical_network", 102, create | sort},
		{"category", 103, create | sort},
		{"dynamic_portgroup", 111, sort},
	},
	patchable: []string{"address", "extra", "mode", "name", "node_uuid", "properties", "standalone_ports_supported", "physical_network", "category"},
	beside:    []field{{name: "ports", since: 23}},
}

var nodeResource = resource{
	one: "node", many: "nodes",
	fields: []field{
		{"uuid", 1, listed | create | sort},
		{"created_at", 1, sort},
		{"updated_at", 1, sort},
		{"automated_clean", 47, create | sort},
		{"bios_interface", 40, create | sort},
		{"boot_interface", 31, create | sort},
		{"boot_mode", 75, create | sort},
		{"clean_step", 7, 0},
		{"conductor_group", 46, create | sort},
		{"console_enabled", 1, create | sort},
		{"console_interface", 31, create | sort},
		{"disable_power_off", 95, create | sort},
		{"deploy_interface", 31, create | sort},
		{"deploy_step", 44, 0},
		{"description", 51, create | sort},
		{"driver", 1, create | sort},
		{"driver_info", 1, create},
		{"driver_internal_info", 3, 0},
		{"extra", 1, create},
		{"fault", 42, sort},
		{"firmware_interface", 86, create | sort},
		{"health", 109, sort},
		{"inspection_finished_at", 6, sort},
		{"inspection_started_at", 6, sort},
		{"inspect_interface", 31, create | sort},
		{"instance_info", 1, create},
		{"instance_name", 104, create | sort},
		{"instance_uuid", 1, listed | create | sort},
		{"last_error", 1, sort},
		{"lessee", 65, create | sort},
		{"maintenance", 1, listed | create | sort},
		{"maintenance_reason", 1, sort},
		{"management_interface", 31, create | sort},
		{"name", 5, listed | create | sort},
		{"network_data", 66, create},
		{"network_interface", 20, create | sort},
		{"owner", 50, create | sort},
		{"parent_node", 83, create | sort},
		{"power_interface", 31, create | sort},
		{"power_state", 1, listed | sort},
		{"properties", 1, create},
		{"protected", 48, sort},
		{"protected_reason", 48, sort},
		{"provision_state", 1, listed | sort},
		{"provision_updated_at", 1, sort},
		{"raid_config", 12, 0},
		{"raid_interface", 31, create | sort},
		{"rescue_interface", 38, create | sort},
		{"reservation", 1, sort},
		{"resource_class", 21, create | sort},
		{"retired", 61, create | sort},
		{"retired_reason", 61, create | sort},
		{"secure_boot", 75, create | sort},
		{"service_step", 87, 0},
		{"shard", 82, create | sort},
		{"storage_interface", 33, create | sort},
		{"target_power_state", 1, sort},
		{"target_provision_state", 1, sort},
		{"target_raid_config", 12, 0},
		{"traits", 37, 0},
		{"vendor_interface", 31, create | sort},
		{"allocation_uuid", 52, 0},
		{"chassis_uuid", 1, create},
		{"conductor", 49, 0},
	},
	patchable: []string{"automated_clean", "bios_interface", "boot_interface", "chassis_uuid", "conductor_group", "console_interface",
		"deploy_interface", "description", "disable_power_off", "driver", "driver_info", "extra", "inspect_interface", "instance_info",
		"instance_name", "instance_uuid", "lessee", "maintenance", "management_interface", "name", "network_data", "network_interface",
		"owner", "power_interface", "properties", "protected", "protected_reason", "raid_interface", "rescue_interface", "resource_class",
		"retired", "retired_reason", "shard", "storage_interface", "vendor_interface", "parent_node", "firmware_interface"},
	beside: []field{{name: "ports", since: 1}, {name: "states", since: 14}, {name: "portgroups", since: 24}},
}

// find gives a field by its name.
func (s *resource) find(name string) (field, bool) {
	i := slices.IndexFunc(s.fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return s.fields[i], true
}

// newer says whether a field is too new for a request.
func (f field) newer(r *rest.Request) bool { return !r.At(v(f.since)) }

// acceptable refuses a new one whose fields the request's version doesn't know;
// what was always sent, a name of null and a group of none, is let through.
func (s *resource) acceptable(r *rest.Request, body *pyjson.Object) error {
	for _, name := range body.Keys() {
		value, _ := body.Get(name)
		f, known := s.find(name)
		always := name == "name" && value == nil || name == "conductor_group" && value == ""
		if known && f.newer(r) && !always {
			return notAcceptable()
		}
	}
	return nil
}

// wanted are the fields that a request asks for by "fields"; nil for none.
// Errors: 406 for too new ones, 400 for what is none.
func (s *resource) wanted(r *rest.Request) ([]string, error) {
	if !r.Query.Has("fields") {
		return nil, nil
	}
	if !r.At(v(8)) {
		return nil, notAcceptable()
	}
	var names, unknown []string
	for part := range strings.SplitSeq(r.Query.Get("fields"), ",") {
		name := strings.ToLower(strings.TrimSpace(part))
		f, known := s.find(name)
		switch {
		case name == "links" || name == "" || slices.Contains(names, name):
			continue
		case !known:
			unknown = append(unknown, name)
		case f.newer(r):
			return nil, notAcceptable()
		}
		names = append(names, name)
	}
	if len(unknown) > 0 {
		return nil, invalid("Field(s) \"%s\" are not valid", strings.Join(unknown, ", "))
	}
	return names, nil
}

// listed are the fields of a list that names none.
func (s *resource) listed() []string {
	var names []string
	for _, f := range s.fields {
		if f.traits&listed != 0 {
			names = append(names, f.name)
		}
	}
	return names
}

// path is that of the resource's links.
func (s *resource) path() string {
	if s.linked != "" {
		return s.linked
	}
	return s.home()
}

// home is the path of its list.
func (s *resource) home() string { return path.Join(s.below, s.many) }

// known are the places of structs' fields.
var known sync.Map // reflect.Type -> map[string]int

// places are where a struct's fields are, by their names.
func places[T any]() map[string]int {
	of := reflect.TypeFor[T]()
	if at, ok := known.Load(of); ok {
		return at.(map[string]int)
	}
	at := map[string]int{}
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		at[name] = i
	}
	known.Store(of, at)
	return at
}

// view is what clients are shown of a row: the fields that they want, nil for
// all, as far as their version knows them, and links.
func view[T any](r *rest.Request, s *resource, row *T, id string, wanted []string) map[string]any {
	return viewer[T](r, s, wanted)(row, id)
}

// viewer is view for many rows: which fields are shown of them is settled once.
func viewer[T any](r *rest.Request, s *resource, wanted []string) func(row *T, id string) map[string]any {
	at := places[T]()
	fields := slices.DeleteFunc(slices.Clone(s.fields), func(f field) bool {
		return f.newer(r) || wanted != nil && !slices.Contains(wanted, f.name)
	})
	var beside []field
	if wanted == nil {
		beside = slices.DeleteFunc(slices.Clone(s.beside), func(f field) bool { return f.newer(r) })
	}
	return func(row *T, id string) map[string]any {
		value, shown := reflect.ValueOf(row).Elem(), make(map[string]any, len(fields)+len(beside)+1)
		for _, f := range fields {
			shown[f.name] = presented(value.Field(at[f.name]).Interface())
		}
		shown["links"] = links(r, s.path(), id)
		for _, b := range beside {
			shown[b.name] = links(r, s.many, id, b.name)
		}
		return shown
	}
}

// presented is a value as clients see it.
func presented(value any) any {
	switch x := value.(type) {
	case time.Time:
		return moment(x)
	case *time.Time:
		if x == nil {
			return nil
		}
		return moment(*x)
	case json.RawMessage:
		if len(x) == 0 {
			return map[string]any{}
		}
	case []string:
		if x == nil {
			return []string{}
		}
	}
	return value
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }

// boolean reads what the original takes for a truth value.
func boolean(name, value string) (bool, error) {
	truth, ok := pyjson.Truth(value)
	if !ok {
		return false, faults.New(faults.Invalid, "InvalidParameterValue", "Invalid %s: Unrecognized value '%s', acceptable values are: %s", name, value, pyjson.Truths)
	}
	return truth, nil
}

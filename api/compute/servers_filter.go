package compute

// The filters and orders of lists of servers: a table of query parameters, who
// may use each from which microversion on, and what it narrows.

import (
	"net/http"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store/compute"
)

// serverFilter is a store filter and whether anything can pass it.
type serverFilter struct {
	compute.ListFilter
	possible bool
}

// filterParameter is a row: a parameter, the microversions in which whoever may
// list may use it, and what it narrows by its last value. Administrators may use
// all of them; for others the rest is as if it hadn't been sent.
type filterParameter struct {
	name      string
	everybody microversion.Range
	narrow    func(f *serverFilter, value string) error
}

// nobody is a range without versions: an administrator's parameter.
var nobody = microversion.Range{Min: microversion.V(3, 0)}

var filterParameters = []filterParameter{
	{"name", microversion.From(1), matches("display_name")},
	{"image", microversion.From(1), func(f *serverFilter, v string) error { f.ImageID = lastPart(v); return nil }},
	{"flavor", microversion.From(1), func(f *serverFilter, v string) error { f.FlavorID = lastPart(v); return nil }},
	{"reservation_id", microversion.From(1), matches("reservation_id")},
	{"ip", microversion.From(1), func(f *serverFilter, v string) error { f.IPv4 = v; return nil }},
	{"ip6", microversion.From(5), func(f *serverFilter, v string) error { f.IPv6 = v; return nil }},
	{"tags", microversion.From(26), func(f *serverFilter, v string) error { f.AllTags = strings.Split(v, ","); return nil }},
	{"tags-any", microversion.From(26), func(f *serverFilter, v string) error { f.AnyTags = strings.Split(v, ","); return nil }},
	{"not-tags", microversion.From(26), func(f *serverFilter, v string) error { f.NotAllTags = strings.Split(v, ","); return nil }},
	{"not-tags-any", microversion.From(26), func(f *serverFilter, v string) error { f.NotAnyTags = strings.Split(v, ","); return nil }},
	{"locked", microversion.From(73), func(f *serverFilter, v string) error { return strictTruthInto(&f.Locked, v) }},
	{"availability_zone", microversion.From(83), matches("availability_zone")},
	{"config_drive", microversion.From(83), narrowByConfigDrive},
	{"key_name", microversion.From(83), matches("key_name")},
	{"created_at", microversion.From(83), matches("created_at")},
	{"launched_at", microversion.From(83), matches("launched_at")},
	{"terminated_at", microversion.From(83), matches("terminated_at")},
	{"user_id", microversion.From(83), func(f *serverFilter, v string) error { f.UserID = v; return nil }},
	{"progress", microversion.From(83), matches("progress")},
	{"power_state", microversion.From(83), matches("power_state")},
	{"vm_state", microversion.From(83), func(f *serverFilter, v string) error { f.VMStates = []servers.VMState{servers.VMState(v)}; return nil }},
	{"task_state", microversion.From(83), func(f *serverFilter, v string) error {
		f.TaskStates = []servers.TaskState{servers.TaskState(v)}
		return nil
	}},
	{"hostname", microversion.From(90), matches("hostname")},
	{"host", nobody, func(f *serverFilter, v string) error { f.Host = v; return nil }},
	{"node", nobody, matches("node")},
	{"display_name", nobody, matches("display_name")},
	{"description", nobody, matches("display_description")},
	{"display_description", nobody, matches("display_description")},
	{"image_ref", nobody, func(f *serverFilter, v string) error { f.ImageID = v; return nil }},
	{"kernel_id", nobody, matches("kernel_id")},
	{"ramdisk_id", nobody, matches("ramdisk_id")},
	{"launch_index", nobody, matches("launch_index")},
	{"locked_by", nobody, matches("locked_by")},
	{"access_ip_v4", nobody, matches("access_ip_v4")},
	{"access_ip_v6", nobody, matches("access_ip_v6")},
	{"auto_disk_config", nobody, matches("auto_disk_config")},
	{"uuid", nobody, func(f *serverFilter, v string) error { f.IDs = []string{v}; return nil }},
	{"deleted", nobody, func(f *serverFilter, v string) error { deleted, _ := parseTruth(v); f.Deleted = &deleted; return nil }},
	{"soft_deleted", nobody, func(f *serverFilter, v string) error { soft, _ := parseTruth(v); f.SoftDeleted = &soft; return nil }},
}

// refusedFilters are names of the original's tables that its clients may not
// narrow by.
var refusedFilters = []string{"block_device_mapping", "services", "metadata", "system_metadata", "info_cache", "security_groups", "pci_devices"}

// matches narrows by a regular expression.
func matches(pattern string) func(*serverFilter, string) error {
	return func(f *serverFilter, value string) error {
		if f.Match == nil {
			f.Match = map[string]string{}
		}
		f.Match[pattern] = value
		return nil
	}
}

// narrowByConfigDrive: what is neither true nor false no server has.
func narrowByConfigDrive(f *serverFilter, value string) error {
	drive, ok := parseTruth(value)
	f.ConfigDrive, f.possible = &drive, f.possible && ok
	return nil
}

// filter reads the query.
func (a *API) filter(r *rest.Request, rule string) (serverFilter, error) {
	f := serverFilter{possible: true}
	f.ProjectID, f.Marker = r.Identity.ProjectID, last(r.Query["marker"])
	privileged := r.Allows("os_compute_api:servers:allow_all_filters", nil)
	if privileged {
		for name := range r.Query {
			if slices.Contains(refusedFilters, name) || strings.HasPrefix(name, "_") {
				return f, faults.New(faults.Invalid, "InvalidFilter", "Invalid filter field: %s.", name)
			}
		}
	}
	for _, p := range filterParameters {
		values := r.Query[p.name]
		if len(values) == 0 || !privileged && !p.everybody.Has(r.Version) {
			continue
		}
		if err := p.narrow(&f, last(values)); err != nil {
			return f, err
		}
	}
	var err error
	if f.Limit, err = pageSize(r.Query, a.MaxPageSize); err != nil {
		return f, err
	}
	f.possible = f.possible && f.Limit > 0
	if f.ChangesSince, f.ChangesBefore, err = changes(r); err != nil {
		return f, err
	}
	for _, read := range []func(*rest.Request, *serverFilter) error{readStatus, readSort} {
		if err := read(r, &f); err != nil {
			return f, err
		}
	}
	return f, allProjects(r, rule, privileged, &f)
}

// readStatus turns the words that clients see into states. Unknown ones are
// refused from 2.38 on; before, nothing has them.
func readStatus(r *rest.Request, f *serverFilter) error {
	words, sent := r.Query["status"]
	if !sent {
		return nil
	}
	vms, tasks := servers.FromStatus(words...)
	switch {
	case len(vms) == 0 && r.Has(38):
		return faults.New(faults.Invalid, "InvalidStatus", "Invalid status value")
	case len(vms) == 0:
		f.possible = false
	case len(vms) == 1 && vms[0] == servers.VMDeleted:
		if !r.Identity.IsAdmin {
			return rest.NewFault(http.StatusForbidden, "Only administrators may list deleted instances")
		}
		deleted := true
		f.Deleted = &deleted
	}
	f.VMStates = vms
	if tasks != nil {
		f.TaskStates = tasks
	}
	return nil
}

// sortKeysOfAdmins tell where servers run.
var sortKeysOfAdmins = []string{"host", "node"}

// ignoredSortKeys were taken once and are no order.
var ignoredSortKeys = []string{"architecture", "cell_name", "cleaned", "default_ephemeral_device", "default_swap_device", "deleted", "deleted_at",
	"disable_terminate", "ephemeral_gb", "ephemeral_key_uuid", "id", "key_data", "launched_on", "memory_mb", "os_type", "reservation_id", "root_gb",
	"shutdown_terminate", "user_data", "vcpus", "vm_mode"}

// readSort pairs sort_key with sort_dir; a key without a direction has the first.
func readSort(r *rest.Request, f *serverFilter) error {
	keys, directions := r.Query["sort_key"], r.Query["sort_dir"]
	if len(keys) == 0 {
		keys = []string{"created_at"}
	}
	first := "desc"
	for i, key := range keys {
		direction := first
		if i < len(directions) {
			direction = directions[i]
		}
		switch {
		case slices.Contains(ignoredSortKeys, key), key == "locked" && !r.Has(73):
			continue
		case slices.Contains(sortKeysOfAdmins, key) && !r.Identity.IsAdmin:
			return rest.NewFault(http.StatusForbidden, "Only administrators can sort servers by %s", key)
		case len(f.Sort) == 0:
			first = direction
		}
		f.Sort = append(f.Sort, compute.SortKey{Key: key, Ascending: direction == "asc"})
	}
	switch {
	case slices.ContainsFunc(directions, func(word string) bool { return word != "asc" && word != "desc" }):
		return faults.New(faults.Invalid, "InvalidSort", "Invalid input received: Unknown sort direction, must be 'desc' or 'asc'")
	case len(directions) > len(keys):
		return faults.New(faults.Invalid, "InvalidSort", "Invalid input received: Sort direction size exceeds sort key size")
	}
	return nil
}

// lastPart is an id, of itself or of a URL that ends in it.
func lastPart(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// strictTruthInto refuses in the words of the originals' strict reader.
func strictTruthInto(into **bool, word string) error {
	value, ok := parseTruth(word)
	if !ok {
		return faults.New(faults.Invalid, "InvalidTruth",
			"Unrecognized value '%s', acceptable values are: '0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'", word)
	}
	*into = &value
	return nil
}

// last is the value that counts of a parameter sent more than once; "" of none.
func last(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

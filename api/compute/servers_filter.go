package compute

// The filters and orders of lists of servers: a table of query parameters, who
// may use each from which microversion on, and what it narrows.

import (
	"net/http"
	"slices"
	"strconv"
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
// list may use it, and what it narrows. Administrators may use all of them; for
// others the rest is as if it hadn't been sent.
type filterParameter struct {
	name      string
	everybody microversion.Range
	narrow    func(f *serverFilter, values []string) error
}

// nobody is a range without versions: an administrator's parameter.
var nobody = microversion.Range{Min: microversion.V(3, 0)}

var filterParameters = []filterParameter{
	{"name", microversion.From(1), func(f *serverFilter, v []string) error { f.Name = v[0]; return nil }},
	{"image", microversion.From(1), func(f *serverFilter, v []string) error { f.ImageID = lastPart(v[0]); return nil }},
	{"flavor", microversion.From(1), func(f *serverFilter, v []string) error { f.FlavorID = lastPart(v[0]); return nil }},
	{"reservation_id", microversion.From(1), func(f *serverFilter, v []string) error { f.ReservationID = v[0]; return nil }},
	{"ip", microversion.From(1), func(f *serverFilter, v []string) error { f.IPv4 = v[0]; return nil }},
	{"ip6", microversion.From(5), func(f *serverFilter, v []string) error { f.IPv6 = v[0]; return nil }},
	{"tags", microversion.From(26), func(f *serverFilter, v []string) error { f.AllTags = commas(v); return nil }},
	{"tags-any", microversion.From(26), func(f *serverFilter, v []string) error { f.AnyTags = commas(v); return nil }},
	{"not-tags", microversion.From(26), func(f *serverFilter, v []string) error { f.NotAllTags = commas(v); return nil }},
	{"not-tags-any", microversion.From(26), func(f *serverFilter, v []string) error { f.NotAnyTags = commas(v); return nil }},
	{"locked", microversion.From(73), func(f *serverFilter, v []string) error { return strictTruthInto(&f.Locked, v[0]) }},
	{"availability_zone", microversion.From(83), func(f *serverFilter, v []string) error { f.AvailabilityZone = v[0]; return nil }},
	{"config_drive", microversion.From(83), func(f *serverFilter, v []string) error { return truthInto(&f.ConfigDrive, "config_drive", v[0]) }},
	{"key_name", microversion.From(83), func(f *serverFilter, v []string) error { f.KeyName = v[0]; return nil }},
	{"user_id", microversion.From(83), func(f *serverFilter, v []string) error { f.UserID = v[0]; return nil }},
	{"progress", microversion.From(83), func(f *serverFilter, v []string) error { return numberInto(&f.Progress, "progress", v[0]) }},
	{"power_state", microversion.From(83), func(f *serverFilter, v []string) error {
		var n *int
		err := numberInto(&n, "power_state", v[0])
		if err == nil {
			state := servers.PowerState(*n)
			f.PowerState = &state
		}
		return err
	}},
	{"vm_state", microversion.From(83), func(f *serverFilter, v []string) error {
		f.VMStates = append(f.VMStates, asStates[servers.VMState](v)...)
		return nil
	}},
	{"task_state", microversion.From(83), func(f *serverFilter, v []string) error { f.TaskStates = asStates[servers.TaskState](v); return nil }},
	{"host", nobody, func(f *serverFilter, v []string) error { f.Host = v[0]; return nil }},
	{"node", nobody, func(f *serverFilter, v []string) error { f.Host = v[0]; return nil }},
	{"hostname", nobody, func(f *serverFilter, v []string) error { f.Hostname = v[0]; return nil }},
	{"description", nobody, func(f *serverFilter, v []string) error { f.Description = v[0]; return nil }},
	{"uuid", nobody, func(f *serverFilter, v []string) error { f.IDs = v; return nil }},
	{"deleted", nobody, func(f *serverFilter, v []string) error { f.Deleted, _ = parseTruth(v[0]); return nil }},
}

// filter reads the query.
func (a *API) filter(r *rest.Request, rule string) (serverFilter, error) {
	f := serverFilter{possible: true}
	f.ProjectID, f.Marker = r.Identity.ProjectID, last(r.Query["marker"])
	privileged := r.Allows("os_compute_api:servers:allow_all_filters", nil)
	for _, p := range filterParameters {
		values := r.Query[p.name]
		if len(values) == 0 || !privileged && !p.everybody.Has(r.Version) {
			continue
		}
		if err := p.narrow(&f, values); err != nil {
			return f, err
		}
	}
	var err error
	if f.Limit, err = pageSize(r.Query, a.MaxPageSize); err != nil {
		return f, err
	}
	f.possible = f.Limit > 0
	if f.ChangesSince, f.ChangesBefore, err = changes(r); err != nil {
		return f, err
	}
	for _, read := range []func(*rest.Request, *serverFilter) error{readStatus, readSort} {
		if err := read(r, &f); err != nil {
			return f, err
		}
	}
	return f, allProjects(r, rule, &f)
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
	case slices.Contains(vms, servers.VMDeleted):
		if !r.Identity.IsAdmin {
			return rest.NewFault(http.StatusForbidden, "Only administrators may list deleted instances")
		}
		f.Deleted = true
	}
	f.VMStates = append(f.VMStates, vms...)
	if tasks != nil {
		f.TaskStates = tasks
	}
	return nil
}

// sortKeysOfAdmins tell where servers run.
var sortKeysOfAdmins = []string{"host", "node"}

// readSort pairs sort_key with sort_dir; a key without a direction descends.
func readSort(r *rest.Request, f *serverFilter) error {
	directions := r.Query["sort_dir"]
	if slices.ContainsFunc(directions, func(word string) bool { return word != "asc" && word != "desc" }) {
		return faults.New(faults.Invalid, "InvalidSort", "Invalid input received: Unknown sort direction, must be 'desc' or 'asc'")
	}
	for i, key := range r.Query["sort_key"] {
		if slices.Contains(sortKeysOfAdmins, key) && !r.Identity.IsAdmin {
			return rest.NewFault(http.StatusForbidden, "Only administrators can sort servers by %s", key)
		}
		f.Sort = append(f.Sort, compute.SortKey{Key: key, Ascending: i < len(directions) && directions[i] == "asc"})
	}
	return nil
}

// lastPart is an id, of itself or of a URL that ends in it.
func lastPart(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

func commas(values []string) []string { return strings.Split(strings.Join(values, ","), ",") }

func asStates[S ~string](words []string) []S {
	states := make([]S, len(words))
	for i, word := range words {
		states[i] = S(word)
	}
	return states
}

func truthInto(into **bool, name, word string) error {
	value, ok := parseTruth(word)
	if !ok {
		return faults.New(faults.Invalid, "InvalidFilter", "Invalid filter field: %s.", name)
	}
	*into = &value
	return nil
}

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

func numberInto(into **int, name, word string) error {
	value, err := strconv.Atoi(word)
	if err != nil {
		return faults.New(faults.Invalid, "InvalidFilter", "Invalid filter field: %s.", name)
	}
	*into = &value
	return nil
}

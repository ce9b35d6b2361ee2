package compute

// What clients are shown of a server: a table of fields by microversion.
// Sources: contracts/compute/response-schemas.json (servers.show_response*) and
// microversions.json.

import (
	"encoding/base64"
	"net/http"
	"slices"
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store/compute"
)

// serverView is a server about to be shown to somebody.
type serverView struct {
	*compute.Server
	*viewer
	// groups and userData are what the server's own row doesn't have; only
	// views has them.
	groups   []openstack.SecurityGroup
	userData []byte
	// serverGroups are read for a server that is shown alone.
	serverGroups []string
}

// viewer is who looks, the same for all servers of an answer.
type viewer struct {
	request   *rest.Request
	downAfter time.Duration
	tables    *tables
	// asked are the policies that were asked about, and whether they let.
	asked map[string]bool
}

// may asks each policy once.
func (v *viewer) may(rule string) bool {
	let, known := v.asked[rule]
	if !known {
		let = v.request.Allows(rule, nil)
		v.asked[rule] = let
	}
	return let
}

// views are servers with all that is shown of them: one question to the
// database and two to Neutron, however many servers there are.
func (a *API) views(r *rest.Request, servers ...*compute.Server) ([]serverView, error) {
	t, err := embedded()
	if err != nil {
		return nil, err
	}
	who := &viewer{request: r, downAfter: a.HostDownAfter, tables: t, asked: map[string]bool{}}
	var userData map[string][]byte
	if r.Has(3) && who.may(policyAttributes) {
		if userData, err = compute.UserData(r.Context(), a.DB.Pool, a.Secrets, idsOf(servers)...); err != nil {
			return nil, err
		}
	}
	groups := a.groupsOf(r, servers...)
	all := make([]serverView, len(servers))
	for i, s := range servers {
		all[i] = serverView{s, who, groups[s.ID], userData[s.ID], []string{}}
	}
	return all, nil
}

// viewAlone is a server that isn't one of a list: its server group is shown, from
// 2.71 on.
func (a *API) viewAlone(r *rest.Request, s *compute.Server) (serverView, error) {
	views, err := a.views(r, s)
	if err != nil {
		return serverView{}, err
	}
	if r.Has(71) {
		groups, err := compute.GroupsOf(r.Context(), a.DB.Pool, s.ID)
		if err != nil {
			return serverView{}, err
		}
		if id, ok := groups[s.ID]; ok {
			views[0].serverGroups = append(views[0].serverGroups, id)
		}
	}
	return views[0], nil
}

func idsOf(servers []*compute.Server) []string {
	ids := make([]string, len(servers))
	for i, s := range servers {
		ids[i] = s.ID
	}
	return ids
}

// field is one row: a name, the microversions that show it, the policy that it
// takes (none: whoever may see the server), and its value. A value of absent
// leaves the field out.
type field struct {
	name     string
	versions microversion.Range
	policy   string
	value    func(serverView) any
}

type absentValue struct{}

var absent absentValue

// Policies that fields take.
const (
	policyAttributes  = "os_compute_api:os-extended-server-attributes"
	policyHostStatus  = "os_compute_api:servers:show:host_status"
	policyHostUnknown = "os_compute_api:servers:show:host_status:unknown-only"
	policyExtraSpecs  = "os_compute_api:servers:show:flavor-extra-specs"
)

var serverFields = []field{
	{name: "id", value: func(v serverView) any { return v.ID }},
	{name: "name", value: func(v serverView) any { return v.Name }},
	{name: "status", value: func(v serverView) any { return v.Status() }},
	{name: "tenant_id", value: func(v serverView) any { return v.ProjectID }},
	{name: "user_id", value: func(v serverView) any { return v.UserID }},
	{name: "metadata", value: func(v serverView) any { return orEmpty(v.Metadata) }},
	{name: "hostId", value: func(v serverView) any { return v.hostID() }},
	{name: "image", value: func(v serverView) any { return v.image() }},
	{name: "flavor", versions: microversion.Until(46), value: func(v serverView) any { return v.flavorLink() }},
	{name: "flavor", versions: microversion.From(47), value: func(v serverView) any { return v.flavorCopy() }},
	{name: "created", value: func(v serverView) any { return second(v.CreatedAt) }},
	{name: "updated", value: func(v serverView) any { return second(v.UpdatedAt) }},
	{name: "addresses", value: func(v serverView) any { return v.addresses() }},
	{name: "accessIPv4", value: func(v serverView) any { return v.AccessIPv4 }},
	{name: "accessIPv6", value: func(v serverView) any { return v.AccessIPv6 }},
	{name: "links", value: func(v serverView) any { return selfLinks(v.request, "servers", v.ID) }},
	{name: "progress", value: func(v serverView) any { return v.progress() }},
	{name: "fault", value: func(v serverView) any { return v.fault() }},
	{name: "OS-DCF:diskConfig", value: func(v serverView) any { return v.DiskConfig }},
	{name: "OS-EXT-AZ:availability_zone", value: func(v serverView) any { return v.zone() }},
	{name: "config_drive", value: func(v serverView) any { return pythonTrue(v.ConfigDrive) }},
	{name: "key_name", value: func(v serverView) any { return v.KeyName }},
	{name: "OS-SRV-USG:launched_at", value: func(v serverView) any { return microsecond(v.LaunchedAt) }},
	{name: "OS-SRV-USG:terminated_at", value: func(v serverView) any { return microsecond(v.TerminatedAt) }},
	{name: "OS-EXT-STS:task_state", value: func(v serverView) any { return nullIfEmpty(string(v.TaskState)) }},
	{name: "OS-EXT-STS:vm_state", value: func(v serverView) any { return v.VMState }},
	{name: "OS-EXT-STS:power_state", value: func(v serverView) any { return v.PowerState }},
	{name: "security_groups", value: func(v serverView) any { return v.groupNames() }},
	{name: "os-extended-volumes:volumes_attached", versions: microversion.Until(2), value: func(v serverView) any { return v.attachedIDs() }},
	{name: "os-extended-volumes:volumes_attached", versions: microversion.From(3), value: func(v serverView) any { return v.attached() }},
	{name: "OS-EXT-SRV-ATTR:host", policy: policyAttributes, value: func(v serverView) any { return nullIfEmpty(v.hostName()) }},
	{name: "OS-EXT-SRV-ATTR:hypervisor_hostname", policy: policyAttributes, value: func(v serverView) any { return nullIfEmpty(v.hostName()) }},
	{name: "OS-EXT-SRV-ATTR:instance_name", policy: policyAttributes, value: func(v serverView) any { return servers.InstanceName(v.ID) }},
	{name: "OS-EXT-SRV-ATTR:reservation_id", versions: microversion.From(3), policy: policyAttributes, value: func(v serverView) any { return v.ReservationID }},
	{name: "OS-EXT-SRV-ATTR:launch_index", versions: microversion.From(3), policy: policyAttributes, value: func(v serverView) any { return v.LaunchIndex }},
	{name: "OS-EXT-SRV-ATTR:kernel_id", versions: microversion.From(3), policy: policyAttributes, value: func(v serverView) any { return v.ImageProperties["kernel_id"] }},
	{name: "OS-EXT-SRV-ATTR:ramdisk_id", versions: microversion.From(3), policy: policyAttributes, value: func(v serverView) any { return v.ImageProperties["ramdisk_id"] }},
	{name: "OS-EXT-SRV-ATTR:root_device_name", versions: microversion.From(3), policy: policyAttributes, value: func(v serverView) any { return v.rootDevice() }},
	{name: "OS-EXT-SRV-ATTR:user_data", versions: microversion.From(3), policy: policyAttributes, value: func(v serverView) any { return v.userDataText() }},
	{name: "OS-EXT-SRV-ATTR:hostname", versions: microversion.Between(3, 89), policy: policyAttributes, value: func(v serverView) any { return v.Hostname }},
	{name: "OS-EXT-SRV-ATTR:hostname", versions: microversion.From(90), value: func(v serverView) any { return v.Hostname }},
	{name: "locked", versions: microversion.From(9), value: func(v serverView) any { return v.Locked }},
	{name: "host_status", versions: microversion.From(16), value: func(v serverView) any { return v.hostStatus() }},
	{name: "description", versions: microversion.From(19), value: func(v serverView) any { return v.Description }},
	{name: "tags", versions: microversion.From(26), value: func(v serverView) any { return append([]string{}, v.Tags...) }},
	{name: "trusted_image_certificates", versions: microversion.From(63), value: func(v serverView) any { return v.TrustedCertificates }},
	{name: "server_groups", versions: microversion.From(71), value: func(v serverView) any { return v.serverGroups }},
	{name: "locked_reason", versions: microversion.From(73), value: func(v serverView) any { return v.LockedReason }},
	{name: "pinned_availability_zone", versions: microversion.From(96), value: func(v serverView) any { return nullIfEmpty(v.AvailabilityZone) }},
	{name: "scheduler_hints", versions: microversion.From(100), value: func(v serverView) any { return orEmpty(v.Placement.Hints) }},
}

// detail is the server as shown alone.
func (v serverView) detail() map[string]any {
	shown := make(map[string]any, len(serverFields))
	for _, f := range serverFields {
		if !f.versions.Has(v.request.Version) || f.policy != "" && !v.may(f.policy) {
			continue
		}
		if value := f.value(v); value != absent {
			shown[f.name] = value
		}
	}
	return shown
}

type link struct {
	Rel  string `json:"rel"`
	Href string `json:"href"`
}

// selfLinks are the links of a thing by its id.
func selfLinks(r *rest.Request, collection, id string) []link {
	return []link{{"self", r.Link(collection, id)}, {"bookmark", r.Bookmark(collection, id)}}
}

func (v serverView) hostName() string {
	if v.Host == nil {
		return ""
	}
	return v.Host.Name
}

// hostID tells a project which of its servers share a host, and no more.
func (v serverView) hostID() string {
	return hostIDOf(v.ProjectID, v.hostName())
}

func (v serverView) zone() string {
	if v.Host != nil {
		return v.Host.AvailabilityZone
	}
	return v.AvailabilityZone
}

// addresses are hidden while the server is built.
func (v serverView) addresses() map[string][]address {
	if v.VMState == servers.VMBuilding {
		return map[string][]address{}
	}
	return addressesOf(v.Server)
}

// hostStatus is what administrators see of the server's host; some see it only
// where it is not known.
func (v serverView) hostStatus() any {
	status := v.wordOfHost()
	if v.may(policyHostStatus) || status == "UNKNOWN" && v.may(policyHostUnknown) {
		return status
	}
	return absent
}

func (v serverView) wordOfHost() string {
	switch {
	case v.Host == nil:
		return ""
	case v.Host.ForcedDown:
		return "DOWN"
	case !v.Host.Up(v.downAfter):
		return "UNKNOWN"
	case v.Host.Disabled:
		return "MAINTENANCE"
	}
	return "UP"
}

func (v serverView) image() any {
	if v.ImageID == "" {
		return ""
	}
	image := map[string]any{"id": v.ImageID, "links": []link{{"bookmark", v.request.Bookmark("images", v.ImageID)}}}
	if v.request.Has(98) {
		properties := map[string]string{}
		for name, value := range v.ImageProperties {
			if v.tables.imageProperties[name] {
				properties[name] = value
			}
		}
		image["properties"] = properties
	}
	return image
}

// userDataText is base64, as it was sent.
func (v serverView) userDataText() any {
	if v.userData == nil {
		return nil
	}
	return base64.StdEncoding.EncodeToString(v.userData)
}

func (v serverView) flavorLink() any {
	return map[string]any{"id": v.Flavor.ID, "links": []link{{"bookmark", v.request.Bookmark("flavors", v.Flavor.ID)}}}
}

// flavorCopy is the flavor as it was when the server was made.
func (v serverView) flavorCopy() any {
	shown := map[string]any{
		"original_name": v.Flavor.Name,
		"vcpus":         v.Flavor.VCPUs,
		"ram":           v.Flavor.MemoryMB,
		"disk":          v.Flavor.RootGB,
		"ephemeral":     v.Flavor.EphemeralGB,
		"swap":          v.Flavor.SwapMB,
	}
	if v.may(policyExtraSpecs) {
		shown["extra_specs"] = orEmpty(v.Flavor.ExtraSpecs)
	}
	return shown
}

// progressStatuses are those that show how far an operation has come.
var progressStatuses = []string{"ACTIVE", "BUILD", "REBUILD", "RESIZE", "VERIFY_RESIZE", "MIGRATING"}

func (v serverView) progress() any {
	if !slices.Contains(progressStatuses, v.Status()) {
		return absent
	}
	return v.Progress
}

// fault is why the server is in ERROR or was deleted from it; details are the
// administrator's, and of faults that are not the user's own.
func (v serverView) fault() any {
	if v.Fault == nil || v.VMState != servers.VMError && v.VMState != servers.VMDeleted {
		return absent
	}
	fault := map[string]any{"code": v.Fault.Code, "created": second(v.Fault.CreatedAt), "message": v.Fault.Message}
	if v.Fault.Details != "" && (v.request.Identity.IsAdmin || v.Fault.Code != http.StatusInternalServerError) {
		fault["details"] = v.Fault.Details
	}
	return fault
}

func second(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// microsecond is the form of usage times: no zone, six digits; null if never.
func microsecond(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000")
}

func nullIfEmpty(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// pythonTrue is "True" or nothing, as the original shows config_drive.
func pythonTrue(b bool) string {
	if b {
		return "True"
	}
	return ""
}

func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

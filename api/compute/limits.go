package compute

// GET /limits: what the caller's project may use and does use.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/store/compute"
)

// limitField shows a limit or a use of a resource (contracts:
// quotas-and-limits.json, limits_absolute and limits_used).
type limitField struct {
	name, resource string
	versions       microversion.Range
}

var maxFields = []limitField{
	{name: "maxTotalRAMSize", resource: "ram"},
	{name: "maxTotalInstances", resource: "instances"},
	{name: "maxTotalCores", resource: "cores"},
	{name: "maxTotalKeypairs", resource: "key_pairs"},
	{name: "maxServerMeta", resource: "metadata_items"},
	{name: "maxImageMeta", resource: "metadata_items", versions: microversion.Until(38)},
	{name: "maxPersonality", resource: "injected_files", versions: microversion.Until(56)},
	{name: "maxPersonalitySize", resource: "injected_file_content_bytes", versions: microversion.Until(56)},
	{name: "maxTotalFloatingIps", resource: "floating_ips", versions: microversion.Until(35)},
	{name: "maxSecurityGroups", resource: "security_groups", versions: microversion.Until(35)},
	{name: "maxSecurityGroupRules", resource: "security_group_rules", versions: microversion.Until(35)},
	{name: "maxServerGroups", resource: "server_groups"},
	{name: "maxServerGroupMembers", resource: "server_group_members"},
}

var usedFields = []limitField{
	{name: "totalRAMUsed", resource: "ram"},
	{name: "totalCoresUsed", resource: "cores"},
	{name: "totalInstancesUsed", resource: "instances"},
	{name: "totalServerGroupsUsed", resource: "server_groups"},
	{name: "totalFloatingIpsUsed", resource: "floating_ips", versions: microversion.Until(35)},
	{name: "totalSecurityGroupsUsed", resource: "security_groups", versions: microversion.Until(35)},
}

func (a *API) showLimits(r *rest.Request) (*rest.Response, error) {
	project := r.Identity.ProjectID
	if asked := r.Query.Get("tenant_id"); asked != "" && asked != project {
		if err := r.Enforce("os_compute_api:limits:other_project", nil); err != nil {
			return nil, err
		}
		project = asked
	}
	limits, err := compute.Limits(r.Context(), a.DB.Pool, project)
	if err != nil {
		return nil, err
	}
	used, err := compute.Used(r.Context(), a.DB.Pool, project)
	if err != nil {
		return nil, err
	}
	absolute := map[string]int64{}
	for _, f := range maxFields {
		if f.versions.Has(r.Version) {
			absolute[f.name] = limits[f.resource]
		}
	}
	for _, f := range usedFields {
		if f.versions.Has(r.Version) {
			absolute[f.name] = used[f.resource]
		}
	}
	return rest.JSON(map[string]any{"limits": map[string]any{"rate": []any{}, "absolute": absolute}}), nil
}

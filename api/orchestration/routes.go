package orchestration

// The table of operations (contracts: orchestration/operations.json).

import (
	"net/http"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/stacks"
)

const (
	// stackPath is the path of one stack, servicesPath that of the control workers.
	stackPath    = "/{tenant_id}/stacks/{stack_name}/{stack_id}"
	servicesPath = "/{tenant_id}/services"
)

func (a *API) operations() []rest.Operation {
	rows := []rest.Operation{
		{Method: "POST", Path: "/{tenant_id}/stacks", Policy: "stacks:create", Success: 201, Handler: a.createStack},
		{Method: "POST", Path: "/{tenant_id}/stacks/preview", Policy: "stacks:preview", Success: 200, Handler: a.previewStack},
		{Method: "PUT", Path: stackPath + "/preview", Policy: "stacks:preview_update", Success: 200, Handler: a.previewUpdate(anew)},
		{Method: "PATCH", Path: stackPath + "/preview", Policy: "stacks:preview_update_patch", Success: 200, Handler: a.previewUpdate(stacks.ParsePatch)},
		{Method: "GET", Path: "/{tenant_id}/stacks", Policy: "stacks:index", Success: 200, Handler: a.listStacks},
		{Method: "GET", Path: "/{tenant_id}/stacks/detail", Policy: "stacks:detail", Success: 200, Handler: a.detailStacks},
		{Method: "GET", Path: stackPath, Policy: "stacks:show", Success: 200, Handler: a.showStack},
		{Method: "PUT", Path: stackPath, Policy: "stacks:update", Success: 202, Handler: a.updateStack},
		{Method: "PATCH", Path: stackPath, Policy: "stacks:update_patch", Targeted: true, Success: 202, Handler: a.patchStack},
		{Method: "DELETE", Path: stackPath, Policy: "stacks:delete", Success: 204, Handler: a.deleteStack},
		{Method: "DELETE", Path: stackPath + "/abandon", Policy: "stacks:abandon", Success: 200, Handler: a.abandonStack},
		{Method: "GET", Path: stackPath + "/export", Policy: "stacks:export", Success: 200, Handler: a.exportStack},
		{Method: "POST", Path: stackPath + "/actions", Targeted: true, Success: 200, Handler: a.act},
		{Method: "POST", Path: stackPath + "/snapshots", Policy: "stacks:snapshot", Success: 200, Handler: a.createSnapshot},
		{Method: "GET", Path: stackPath + "/snapshots", Policy: "stacks:list_snapshots", Success: 200, Handler: a.listSnapshots},
		{Method: "GET", Path: stackPath + "/snapshots/{snapshot_id}", Policy: "stacks:show_snapshot", Success: 200, Handler: a.showSnapshot},
		{Method: "DELETE", Path: stackPath + "/snapshots/{snapshot_id}", Policy: "stacks:delete_snapshot", Success: 204, Handler: a.deleteSnapshot},
		{Method: "POST", Path: stackPath + "/snapshots/{snapshot_id}/restore", Policy: "stacks:restore_snapshot", Success: 202, Handler: a.restoreSnapshot},
		{Method: "GET", Path: stackPath + "/graph", Policy: "stacks:show", Success: 200, Handler: a.drawStack},
		{Method: "GET", Path: stackPath + "/template", Policy: "stacks:template", Success: 200, Handler: a.shownAs(templateOf)},
		{Method: "GET", Path: stackPath + "/environment", Policy: "stacks:environment", Success: 200, Handler: a.showEnvironment},
		{Method: "GET", Path: stackPath + "/files", Policy: "stacks:files", Success: 200, Handler: a.shownAs(filesOf)},
		{Method: "GET", Path: stackPath + "/outputs", Policy: "stacks:list_outputs", Success: 200, Handler: a.listOutputs},
		{Method: "GET", Path: stackPath + "/outputs/{output_key}", Policy: "stacks:show_output", Success: 200, Handler: a.showOutput},
		{Method: "GET", Path: stackPath + "/resources", Policy: "resource:index", Success: 200, Handler: a.listResources},
		{Method: "GET", Path: stackPath + "/resources/{resource_name}", Policy: "resource:show", Success: 200, Handler: a.showResource},
		{Method: "PATCH", Path: stackPath + "/resources/{resource_name}", Policy: "resource:mark_unhealthy", Success: 200, Handler: a.markUnhealthy},
		{Method: "GET", Path: stackPath + "/resources/{resource_name}/metadata", Policy: "resource:metadata", Success: 200, Handler: a.showMetadata},
		{Method: "POST", Path: stackPath + "/resources/{resource_name}/signal", Policy: "resource:signal", Success: 200, Handler: a.signal},
		{Method: "GET", Path: stackPath + "/events", Policy: "events:index", Success: 200, Handler: a.listEvents},
		{Method: "GET", Path: stackPath + "/resources/{resource_name}/events", Policy: "events:index", Success: 200, Handler: a.listResourceEvents},
		{Method: "GET", Path: stackPath + "/resources/{resource_name}/events/{event_id}", Policy: "events:show", Success: 200, Handler: a.showEvent},
		{Method: "GET", Path: "/{tenant_id}/build_info", Policy: "build_info:build_info", Success: 200, Handler: a.buildInfo},
		{Method: "GET", Path: "/{tenant_id}/resource_types", Policy: "stacks:list_resource_types", Success: 200, Handler: a.listTypes},
		{Method: "GET", Path: "/{tenant_id}/resource_types/{type_name}", Policy: "stacks:resource_schema", Success: 200, Handler: a.showType},
		{Method: "GET", Path: "/{tenant_id}/resource_types/{type_name}/template", Policy: "stacks:generate_template", Success: 200, Handler: a.showTypeTemplate},
		{Method: "GET", Path: "/{tenant_id}/template_versions", Policy: "stacks:list_template_versions", Success: 200, Handler: a.listVersions},
		{Method: "GET", Path: "/{tenant_id}/template_versions/{template_version}/functions", Policy: "stacks:list_template_functions", Success: 200, Handler: a.listFunctions},
		{Method: "GET", Path: "/{tenant_id}/software_configs", Policy: "software_configs:index", Success: 200, Handler: a.listConfigs},
		{Method: "POST", Path: "/{tenant_id}/software_configs", Policy: "software_configs:create", Success: 200, Handler: a.createConfig},
		{Method: "GET", Path: "/{tenant_id}/software_configs/{config_id}", Policy: "software_configs:show", Success: 200, Handler: a.showConfig},
		{Method: "DELETE", Path: "/{tenant_id}/software_configs/{config_id}", Policy: "software_configs:delete", Success: 204, Handler: a.deleteConfig},
		{Method: "POST", Path: "/{tenant_id}/validate", Policy: "stacks:validate_template", Success: 200, Handler: a.validateTemplate},
		{Method: "GET", Path: servicesPath, Policy: "service:index", Success: 200, Handler: a.listServices},
		{Method: "GET", Path: "/", Anonymous: true, Success: 200, Handler: listAPIVersions},
		{Method: "GET", Path: "/versions", Anonymous: true, Success: 200, Handler: listAPIVersions},
	}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		rows = append(rows, rest.Operation{Method: method, Path: "/{tenant_id}/stacks/{stack_name}", Policy: "stacks:lookup", Success: 200, Handler: a.lookup})
	}
	for i := range rows {
		if !rows[i].Anonymous {
			rows[i] = ofProject(rows[i])
		}
	}
	return append(rows, a.refused(rows)...)
}

// ofProject keeps callers to the project of their token; the path of an administrator
// who has one may name any, and means the token's. As in the original, only then is the
// row's rule asked.
func ofProject(row rest.Operation) rest.Operation {
	handle, targeted := row.Handler, row.Targeted
	row.Targeted = true
	row.Handler = func(r *rest.Request) (*rest.Response, error) {
		project := r.Identity.ProjectID
		if r.Param("tenant_id") != project && (project == "" || !r.Identity.IsAdmin) {
			return nil, errForbidden
		}
		if row.Policy != "" && !targeted {
			if err := r.Enforce(row.Policy, nil); err != nil {
				return nil, err
			}
		}
		return handle(r)
	}
	return row
}

package compute

// /os-migrations and /servers/{server_id}/migrations: moves of servers between
// hosts, from the rows that the moves write.

import (
	"net/url"
	"slices"
	"strconv"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/compute"
)

const policyMigrations = "os_compute_api:os-migrations:index"

// listMigrations narrows by the query's last word where one is said twice, as
// the original does.
func (a *API) listMigrations(r *rest.Request) (*rest.Response, error) {
	project := last(r.Query["project_id"])
	if project == "" || project != r.Identity.ProjectID {
		if err := r.Enforce(policyMigrations+":all_projects", nil); err != nil {
			return nil, err
		}
	}
	f := compute.MigrationFilter{
		Host: last(r.Query["host"]), ServerID: last(r.Query["instance_uuid"]), ProjectID: project, UserID: last(r.Query["user_id"]),
		Type: servers.MigrationType(last(r.Query["migration_type"])), OldestFirst: !r.Has(59),
	}
	if f.Host == "" {
		f.Source = last(r.Query["source_compute"])
	}
	if status := last(r.Query["status"]); status != "" {
		f.Statuses = []servers.MigrationStatus{servers.MigrationStatus(status)}
	}
	var err error
	if r.Has(59) {
		if f.ChangesSince, f.ChangesBefore, err = changes(r); err != nil {
			return nil, err
		}
		if f.Limit, err = pageSize(r.Query, a.MaxPageSize); err != nil {
			return nil, err
		}
		f.Marker = r.Query.Get("marker")
	}
	var found []*compute.Migration
	// There are no hidden ones; limit=0 asks for none.
	if !asksForHidden(r.Query) && !(r.Has(59) && f.Limit == 0) {
		if found, err = compute.ListMigrations(r.Context(), a.DB.Pool, f); err != nil {
			return nil, err
		}
	}
	v := migrationView{Request: r, hosts: r.Enforce(policyMigrations+":host", nil) == nil}
	shown := make([]map[string]any, len(found))
	for i, m := range found {
		shown[i] = v.listed(m)
	}
	body := map[string]any{"migrations": shown}
	if r.Has(59) && len(found) > 0 {
		if links := nextLinks(r, "os-migrations", len(found), f.Limit, found[len(found)-1].UUID); links != nil {
			body["migrations_links"] = links
		}
	}
	return rest.JSON(body), nil
}

func asksForHidden(query url.Values) bool {
	hidden, err := strconv.ParseBool(last(query["hidden"]))
	return err == nil && hidden
}

// listServerMigrations shows the live migration of a server that is under way.
func (a *API) listServerMigrations(r *rest.Request) (*rest.Response, error) {
	server, err := a.serverOf(r, "os_compute_api:servers:migrations:index")
	if err != nil {
		return nil, err
	}
	found, err := compute.ListMigrations(r.Context(), a.DB.Pool, compute.MigrationFilter{
		ServerID: server.ID, Type: servers.LiveMigration, Statuses: compute.InProgress})
	if err != nil {
		return nil, err
	}
	v := migrationView{Request: r, hosts: r.Enforce("os_compute_api:servers:migrations:index:host", serverTarget(server)) == nil}
	shown := make([]map[string]any, len(found))
	for i, m := range found {
		shown[i] = v.ofServer(m, a.progressOf(r, m))
	}
	return rest.JSON(map[string]any{"migrations": shown}), nil
}

// showServerMigration shows one; only a live migration under way is there.
func (a *API) showServerMigration(r *rest.Request) (*rest.Response, error) {
	server, err := a.serverOf(r, "os_compute_api:servers:migrations:show")
	if err != nil {
		return nil, err
	}
	asked := r.Param("id")
	missing := func(format string) error {
		return faults.New(faults.NotFound, "MigrationNotFound", format, asked, server.ID)
	}
	id, err := strconv.ParseInt(asked, 10, 32)
	if err != nil {
		return nil, missing("In-progress live migration %s is not found for server %s.")
	}
	m, err := compute.ServerMigration(r.Context(), a.DB.Pool, server.ID, id)
	switch {
	case faults.Is(err, faults.NotFound):
		return nil, missing("In-progress live migration %s is not found for server %s.")
	case err != nil:
		return nil, err
	case m.Type != servers.LiveMigration:
		return nil, missing("Migration %s for server %s is not live-migration.")
	case !slices.Contains(compute.InProgress, m.Status):
		return nil, missing("Live migration %s for server %s is not in progress.")
	}
	return rest.JSON(map[string]any{"migration": migrationView{Request: r, hosts: true}.ofServer(m, a.progressOf(r, m))}), nil
}

// migrationView shows migrations to a caller; hosts says whether with the names
// of their hosts.
type migrationView struct {
	*rest.Request
	hosts bool
}

// common is what both documents have.
func (v migrationView) common(m *compute.Migration) map[string]any {
	shown := map[string]any{
		"id": m.ID, "status": m.Status, "created_at": microsecond(&m.CreatedAt), "updated_at": microsecond(m.UpdatedAt),
		"source_compute": nil, "source_node": nil, "dest_compute": nil, "dest_node": nil, "dest_host": nil,
	}
	if v.hosts {
		shown["source_compute"], shown["source_node"] = nullIfEmpty(m.Source), nullIfEmpty(m.Source)
		shown["dest_compute"], shown["dest_node"] = nullIfEmpty(m.Dest), nullIfEmpty(m.Dest)
		shown["dest_host"] = nullIfEmpty(m.DestAddress)
	}
	if v.Has(59) {
		shown["uuid"] = m.UUID
	}
	if v.Has(80) {
		shown["user_id"], shown["project_id"] = m.UserID, m.ProjectID
	}
	return shown
}

func (v migrationView) listed(m *compute.Migration) map[string]any {
	shown := v.common(m)
	shown["instance_uuid"], shown["old_instance_type_id"], shown["new_instance_type_id"] = m.ServerID, m.OldNumber, m.NewNumber
	if v.Has(23) {
		shown["migration_type"] = m.Type
		if m.Type == servers.LiveMigration && slices.Contains(compute.InProgress, m.Status) {
			shown["links"] = selfLinks(v.Request, "servers/"+m.ServerID+"/migrations", strconv.FormatInt(m.ID, 10))
		}
	}
	return shown
}

// ofServer is a live migration under way, as far as it has come; nil is unknown.
func (v migrationView) ofServer(m *compute.Migration, p *steps.MoveProgress) map[string]any {
	shown := v.common(m)
	shown["server_uuid"] = m.ServerID
	for _, field := range moveProgress {
		shown[field.name] = nil
		if p != nil {
			shown[field.name] = field.of(p)
		}
	}
	return shown
}

var moveProgress = []struct {
	name string
	of   func(*steps.MoveProgress) int64
}{
	{"memory_total_bytes", func(p *steps.MoveProgress) int64 { return p.MemoryTotal }},
	{"memory_processed_bytes", func(p *steps.MoveProgress) int64 { return p.MemoryProcessed }},
	{"memory_remaining_bytes", func(p *steps.MoveProgress) int64 { return p.MemoryRemaining }},
	{"disk_total_bytes", func(p *steps.MoveProgress) int64 { return p.DiskTotal }},
	{"disk_processed_bytes", func(p *steps.MoveProgress) int64 { return p.DiskProcessed }},
	{"disk_remaining_bytes", func(p *steps.MoveProgress) int64 { return p.DiskRemaining }},
}

// progressOf asks the host that a guest leaves how far it has come; nil if nobody
// knows: the host can't be reached, or has nothing to say.
func (a *API) progressOf(r *rest.Request, m *compute.Migration) *steps.MoveProgress {
	if m.Status != servers.MigrationRunning || m.SourceID == "" {
		return nil
	}
	host, err := compute.GetHost(r.Context(), a.DB.Pool, m.SourceID)
	if err != nil {
		return nil
	}
	p, err := a.Consoles.Progress(r.Context(), host.ID, host.LinkAddress, m.ServerID)
	if err != nil {
		return nil
	}
	return &p
}

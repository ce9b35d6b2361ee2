package volume

// The rows, and how the API shows them.

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// record is a row of volume.volumes.
type record struct {
	ID            string
	Number        int64
	ProjectID     string
	UserID        string
	Name          *string
	Description   *string
	Size          int
	Status        string
	Bootable      bool
	Multiattach   bool
	Readonly      bool
	TypeID        string
	Zone          string
	ImageID       *string
	SnapshotID    *string
	SourceVolid   *string
	Metadata      map[string]string
	ImageMetadata map[string]string
	CreatedAt     time.Time
	UpdatedAt     time.Time
	TypeName      string
	UploadTo      *string // the image that it becomes
	// MigrationStatus is as Cinder has it, NameID the other name of its file.
	MigrationStatus, NameID *string
}

// snapshot is a row of volume.snapshots.
type snapshot struct {
	ID          string
	Number      int64
	VolumeID    string
	ProjectID   string
	UserID      string
	Name        *string
	Description *string
	Size        int
	Status      string
	Metadata    map[string]string
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// attachment is a row of volume.attachments.
type attachment struct {
	ID             string
	Number         int64
	VolumeID       string
	ProjectID      string
	Instance       *string
	Status         string
	Mode           *string
	Mountpoint     *string
	Host           *string
	Connector      map[string]any
	ConnectionInfo map[string]any
	AttachedAt     *time.Time
}

const (
	volumeColumns = `SELECT v.*, t.name AS type_name FROM volume.volumes v JOIN volume.types t ON t.id = v.type_id WHERE `
	snapColumns   = `SELECT v.* FROM volume.snapshots v WHERE `
	attachColumns = `SELECT v.* FROM volume.attachments v WHERE `
	held          = ` FOR UPDATE OF v`
)

func rows[T any](ctx context.Context, q querier, sql string, args ...any) ([]*T, error) {
	found, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowToAddrOfStructByName[T])
}

// find reads a row of the caller's project by id; an administrator reads any.
func find[T any](ctx context.Context, q querier, caller *service.Caller, columns, what, id, lock string) (*T, error) {
	missing := service.Fail(http.StatusNotFound, "%s %s could not be found.", what, bounded(id))
	if _, err := uuid.Parse(id); err != nil {
		return nil, missing
	}
	found, err := rows[T](ctx, q, columns+`v.id = $1::text::uuid AND ($2 OR v.project_id = $3)`+lock, id, caller.Admin(), caller.ProjectID())
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, missing
	}
	return found[0], nil
}

func findVolume(ctx context.Context, q querier, caller *service.Caller, id, lock string) (*record, error) {
	return find[record](ctx, q, caller, volumeColumns, "Volume", id, lock)
}

func findSnapshot(ctx context.Context, q querier, caller *service.Caller, id, lock string) (*snapshot, error) {
	return find[snapshot](ctx, q, caller, snapColumns, "Snapshot", id, lock)
}

func findAttachment(ctx context.Context, q querier, caller *service.Caller, id, lock string) (*attachment, error) {
	return find[attachment](ctx, q, caller, attachColumns, "Volume attachment", id, lock)
}

func bounded(text string) string {
	const longest = 255
	return text[:min(len(text), longest)]
}

const longestPage = 1000

// page is what a list asks for.
type page[T any] struct {
	items []*T
	more  bool
	count int
}

// list reads a page of the caller's rows. filters are SQL columns by parameter.
func list[T any](r *http.Request, q querier, caller *service.Caller, columns string, filters map[string]string) (page[T], error) {
	var none page[T]
	if err := inPath(r, caller); err != nil {
		return none, err
	}
	query := r.URL.Query()
	all := caller.Admin() && truth(query.Get("all_tenants"))
	args := []any{all, caller.ProjectID()}
	sql := columns + `($1 OR v.project_id = $2)`
	arg := func(value any) string {
		args = append(args, value)
		return "$" + strconv.Itoa(len(args))
	}
	for name, column := range filters {
		if values, given := query[name]; given {
			sql += fmt.Sprintf(" AND coalesce(%s::text, '') = %s", column, arg(filterValue(values[0])))
		}
	}
	counted, err := q.Query(r.Context(), `SELECT count(*) FROM (`+sql+`) c`, args...)
	if err != nil {
		return none, err
	}
	if none.count, err = pgx.CollectExactlyOneRow(counted, pgx.RowTo[int]); err != nil {
		return none, err
	}
	limit, offset, err := bounds(query)
	if err != nil {
		return none, err
	}
	if marker := query.Get("marker"); marker != "" {
		sql += ` AND v.number < (SELECT number FROM (` + columns + `true) m WHERE m.id::text = ` + arg(marker) + `)`
	}
	items, err := rows[T](r.Context(), q, sql+fmt.Sprintf(` ORDER BY v.number DESC LIMIT %d OFFSET %d`, limit+1, offset), args...)
	if err != nil {
		return none, err
	}
	none.more = len(items) > limit
	none.items = items[:min(len(items), limit)]
	return none, nil
}

func bounds(query url.Values) (limit, offset int, err error) {
	limit = longestPage
	for name, into := range map[string]*int{"limit": &limit, "offset": &offset} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return 0, 0, service.Fail(http.StatusBadRequest, "%s param must be an integer of 0 or more, not '%s'", name, bounded(text))
		}
		*into = n
	}
	return min(limit, longestPage), offset, nil
}

func filterValue(text string) string {
	switch strings.ToLower(text) {
	case "true", "false":
		return strings.ToLower(text)
	}
	return text
}

func truth(text string) bool {
	flag, err := strconv.ParseBool(strings.ToLower(text))
	return err == nil && flag
}

// stamp is how Cinder writes a time.
func stamp(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000")
}

func selfLinks(r *http.Request, caller *service.Caller, plural, id string) []any {
	base := service.BaseURL(r)
	return []any{
		map[string]any{"rel": "self", "href": base + "/v3/" + caller.ProjectID() + "/" + plural + "/" + id},
		map[string]any{"rel": "bookmark", "href": base + "/" + caller.ProjectID() + "/" + plural + "/" + id},
	}
}

// shown is a volume as microversion minor shows it to the caller.
func shown(r *http.Request, caller *service.Caller, v *record, attached []*attachment) map[string]any {
	list := []any{}
	for _, a := range attached {
		if a.Status != statusAttached {
			continue
		}
		entry := map[string]any{"id": v.ID, "attachment_id": a.ID, "volume_id": v.ID, "server_id": a.Instance, "host_name": nil,
			"device": a.Mountpoint, "attached_at": stamp(a.AttachedAt)}
		if caller.Admin() {
			entry["host_name"] = a.Host
		}
		list = append(list, entry)
	}
	view := map[string]any{
		"id": v.ID, "name": v.Name, "description": v.Description, "size": v.Size, "status": v.Status, "user_id": v.UserID,
		"volume_type": v.TypeName, "availability_zone": v.Zone, "bootable": strconv.FormatBool(v.Bootable), "encrypted": false,
		"multiattach": v.Multiattach, "attachments": list, "metadata": v.Metadata, "snapshot_id": v.SnapshotID, "source_volid": v.SourceVolid,
		"consistencygroup_id": nil, "replication_status": nil, "created_at": stamp(&v.CreatedAt), "updated_at": stamp(&v.UpdatedAt),
		"links": selfLinks(r, caller, "volumes", v.ID),
	}
	if v.Readonly {
		view["metadata"] = withKey(v.Metadata, "readonly", "True")
	}
	if caller.Admin() {
		view["migration_status"] = v.MigrationStatus
	}
	for since, fields := range map[int]map[string]any{
		13: {"group_id": nil}, 48: {"service_uuid": nil, "shared_targets": false}, 61: {"cluster_name": nil},
		63: {"volume_type_id": v.TypeID}, 65: {"consumes_quota": true},
	} {
		if minorOf(r) >= since && (since != 61 || caller.Admin()) {
			for name, value := range fields {
				view[name] = value
			}
		}
	}
	return view
}

// described is a volume with what Cinder's extensions add where a volume is
// looked at, but not in the answer to a change.
func described(r *http.Request, caller *service.Caller, v *record, attached []*attachment) map[string]any {
	view := shown(r, caller, v, attached)
	view["os-vol-tenant-attr:tenant_id"] = v.ProjectID
	if len(v.ImageMetadata) > 0 {
		view["volume_image_metadata"] = v.ImageMetadata
	}
	if caller.Admin() {
		view["os-vol-host-attr:host"] = hostName
		view["os-vol-mig-status-attr:migstat"], view["os-vol-mig-status-attr:name_id"] = v.MigrationStatus, v.NameID
	}
	return view
}

func withKey(m map[string]string, key, value string) map[string]string {
	all := map[string]string{key: value}
	for k, v := range m {
		if k != key {
			all[k] = v
		}
	}
	return all
}

func snapshotView(r *http.Request, s *snapshot) map[string]any {
	view := map[string]any{
		"id": s.ID, "name": s.Name, "description": s.Description, "volume_id": s.VolumeID, "size": s.Size, "status": s.Status, "metadata": s.Metadata,
		"created_at": stamp(&s.CreatedAt), "updated_at": stamp(&s.UpdatedAt),
	}
	if minorOf(r) >= 14 {
		view["group_snapshot_id"] = nil
	}
	if minorOf(r) >= 41 {
		view["user_id"] = s.UserID
	}
	if minorOf(r) >= 65 {
		view["consumes_quota"] = true
	}
	return view
}

// snapshotDetail is what is shown of one that is asked for, and in detailed lists.
func snapshotDetail(r *http.Request, s *snapshot) map[string]any {
	view := snapshotView(r, s)
	view["os-extended-snapshot-attributes:project_id"], view["os-extended-snapshot-attributes:progress"] = s.ProjectID, progress(s.Status)
	return view
}

func progress(status string) string {
	if status == statusAvailable {
		return "100%"
	}
	return "0%"
}

func attachmentView(a *attachment) map[string]any {
	info := a.ConnectionInfo
	if info == nil {
		info = map[string]any{}
	}
	mode := ""
	if a.Mode != nil {
		mode = *a.Mode
	}
	view := map[string]any{"id": a.ID, "volume_id": a.VolumeID, "instance": a.Instance, "status": a.Status, "attach_mode": mode,
		"attached_at": "", "detached_at": "", "connection_info": info}
	if a.AttachedAt != nil {
		view["attached_at"] = stamp(a.AttachedAt)
	}
	return view
}

func nextLink(r *http.Request, id string) []any {
	query := r.URL.Query()
	query.Set("marker", id)
	return []any{map[string]any{"rel": "next", "href": service.BaseURL(r) + r.URL.Path + "?" + query.Encode()}}
}

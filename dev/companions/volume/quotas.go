package volume

// Quotas and limits.

import (
	"context"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// quotaDefaults are Cinder's; -1 is without bound.
var quotaDefaults = map[string]int64{
	"volumes": 10, "snapshots": 10, "gigabytes": 1000, "per_volume_gigabytes": -1, "backups": 10, "backup_gigabytes": 1000, "groups": 10,
}

func quotasOf(ctx context.Context, q querier, project string) (map[string]int64, error) {
	all := map[string]int64{}
	for resource, most := range quotaDefaults {
		all[resource] = most
	}
	type row struct {
		Resource string
		Max      int64
	}
	found, err := rows[row](ctx, q, `SELECT resource, max FROM volume.quotas WHERE project_id = $1`, project)
	for _, one := range found {
		all[one.Resource] = one.Max
	}
	return all, err
}

// usage is what a project has; snapshots count towards its gigabytes.
type usage struct{ Volumes, Snapshots, Gigabytes int64 }

func (u usage) of(resource string) int64 {
	return map[string]int64{"volumes": u.Volumes, "snapshots": u.Snapshots, "gigabytes": u.Gigabytes}[resource]
}

func used(ctx context.Context, q querier, project string) (usage, error) {
	found, err := rows[usage](ctx, q, `SELECT v.n AS volumes, s.n AS snapshots, v.size + s.size AS gigabytes
		FROM (SELECT count(*) n, coalesce(sum(size), 0) size FROM volume.volumes WHERE project_id = $1) v,
		     (SELECT count(*) n, coalesce(sum(size), 0) size FROM volume.snapshots WHERE project_id = $1) s`, project)
	if err != nil {
		return usage{}, err
	}
	return *found[0], nil
}

// withinQuota refuses more than allowed. Changes of a project's usage take
// turns.
func withinQuota(ctx context.Context, tx pgx.Tx, project string, volumes, snapshots, gigabytes int) error {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, "volume/"+project); err != nil {
		return err
	}
	most, err := quotasOf(ctx, tx, project)
	if err != nil {
		return err
	}
	has, err := used(ctx, tx, project)
	if err != nil {
		return err
	}
	over := func(resource string, add int) bool {
		return add > 0 && most[resource] >= 0 && has.of(resource)+int64(add) > most[resource]
	}
	switch {
	case most["per_volume_gigabytes"] >= 0 && int64(gigabytes) > most["per_volume_gigabytes"]:
		return service.Fail(http.StatusRequestEntityTooLarge, "VolumeSizeExceedsLimit: Requested volume size %dG is larger than maximum allowed limit %dG.", gigabytes, most["per_volume_gigabytes"])
	case over("volumes", volumes):
		return service.Fail(http.StatusRequestEntityTooLarge, "VolumeLimitExceeded: Maximum number of volumes allowed (%d) exceeded for quota 'volumes'.", most["volumes"])
	case over("snapshots", snapshots):
		return service.Fail(http.StatusRequestEntityTooLarge, "SnapshotLimitExceeded: Maximum number of snapshots allowed (%d) exceeded", most["snapshots"])
	case over("gigabytes", gigabytes):
		return service.Fail(http.StatusRequestEntityTooLarge, "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota. Requested %dG, quota is %dG and %dG has been consumed.",
			gigabytes, most["gigabytes"], has.Gigabytes)
	}
	return nil
}

func (s *Service) showLimits(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	project := caller.ProjectID()
	if other := r.URL.Query().Get("project_id"); other != "" && caller.Admin() {
		project = other
	}
	most, err := quotasOf(r.Context(), s.Pool, project)
	if err != nil {
		return err
	}
	has, err := used(r.Context(), s.Pool, project)
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, map[string]any{"limits": map[string]any{"rate": []any{}, "absolute": map[string]any{
		"maxTotalVolumes": most["volumes"], "maxTotalSnapshots": most["snapshots"], "maxTotalVolumeGigabytes": most["gigabytes"],
		"maxTotalBackups": most["backups"], "maxTotalBackupGigabytes": most["backup_gigabytes"],
		"totalVolumesUsed": has.Volumes, "totalSnapshotsUsed": has.Snapshots, "totalGigabytesUsed": has.Gigabytes,
		"totalBackupsUsed": 0, "totalBackupGigabytesUsed": 0}}})
}

func (s *Service) showQuota(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	project := r.PathValue("project")
	if !caller.Admin() && project != caller.ProjectID() {
		return forbidden("volume_extension:quotas:show")
	}
	most, err := quotasOf(r.Context(), s.Pool, project)
	if err != nil {
		return err
	}
	has, err := used(r.Context(), s.Pool, project)
	if err != nil {
		return err
	}
	set := map[string]any{"id": project}
	for resource, limit := range most {
		set[resource] = limit
		if truth(r.URL.Query().Get("usage")) {
			set[resource] = map[string]any{"limit": limit, "in_use": has.of(resource), "reserved": 0}
		}
	}
	return service.JSON(w, http.StatusOK, map[string]any{"quota_set": set})
}

func (s *Service) defaultQuota(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if !caller.Admin() && r.PathValue("project") != caller.ProjectID() {
		return forbidden("volume_extension:quotas:show")
	}
	set := map[string]any{"id": r.PathValue("project")}
	for resource, limit := range quotaDefaults {
		set[resource] = limit
	}
	return service.JSON(w, http.StatusOK, map[string]any{"quota_set": set})
}

// notQuotas may stand in a quota set beside the resources.
var notQuotas = map[string]bool{"tenant_id": true, "force": true, "id": true}

func (s *Service) setQuota(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if !caller.Admin() {
		return forbidden("volume_extension:quotas:update")
	}
	var body struct {
		Set map[string]any `json:"quota_set"`
	}
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	const most = 1<<31 - 1
	limits := map[string]int64{}
	var unknown []string
	for resource, value := range body.Set {
		if _, known := quotaDefaults[resource]; !known {
			if !notQuotas[resource] {
				unknown = append(unknown, bounded(resource))
			}
			continue
		}
		n, ok := value.(float64)
		if !ok || n < -1 || n > most || n != float64(int64(n)) {
			return service.Fail(http.StatusBadRequest, "Invalid input for field/attribute %s. It must be an integer from -1 to %d.", resource, most)
		}
		limits[resource] = int64(n)
	}
	if len(unknown) > 0 {
		return service.Fail(http.StatusBadRequest, "Bad key(s) in quota set: %s", strings.Join(unknown, ","))
	}
	err := s.write(r.Context(), func(tx pgx.Tx) error {
		for resource, n := range limits {
			if _, err := tx.Exec(r.Context(), `INSERT INTO volume.quotas (project_id, resource, max) VALUES ($1, $2, $3)
				ON CONFLICT (project_id, resource) DO UPDATE SET max = excluded.max`, r.PathValue("project"), resource, n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.showQuota(w, r, caller)
}

func (s *Service) resetQuota(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if !caller.Admin() {
		return forbidden("volume_extension:quotas:delete")
	}
	err := s.write(r.Context(), func(tx pgx.Tx) error {
		_, err := tx.Exec(r.Context(), `DELETE FROM volume.quotas WHERE project_id = $1`, r.PathValue("project"))
		return err
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

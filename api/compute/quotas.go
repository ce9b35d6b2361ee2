package compute

// /os-quota-sets and /os-quota-class-sets: what projects may use.

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// quotaResource is a resource and the microversions that show it in the quotas
// of projects and of classes.
type quotaResource struct {
	name              string
	projects, classes microversion.Range
}

var quotaResources = []quotaResource{
	{name: "cores"},
	{name: "fixed_ips", projects: microversion.Until(35), classes: microversion.Until(49)},
	{name: "floating_ips", projects: microversion.Until(35), classes: microversion.Until(49)},
	{name: "injected_file_content_bytes", projects: microversion.Until(56), classes: microversion.Until(56)},
	{name: "injected_file_path_bytes", projects: microversion.Until(56), classes: microversion.Until(56)},
	{name: "injected_files", projects: microversion.Until(56), classes: microversion.Until(56)},
	{name: "instances"},
	{name: "key_pairs"},
	{name: "metadata_items"},
	{name: "ram"},
	{name: "security_group_rules", projects: microversion.Until(35), classes: microversion.Until(49)},
	{name: "security_groups", projects: microversion.Until(35), classes: microversion.Until(49)},
	{name: "server_group_members", classes: microversion.From(50)},
	{name: "server_groups", classes: microversion.From(50)},
}

// quotaSet shows what a microversion shows of limits; of is its value.
func quotaSet(r *rest.Request, id string, of func(resource string) any) map[string]any {
	shown := map[string]any{}
	for _, q := range quotaResources {
		if q.projects.Has(r.Version) {
			shown[q.name] = of(q.name)
		}
	}
	if id != "" {
		shown["id"] = id
	}
	return shown
}

// projectTarget is what a rule is asked about a project's things.
func projectTarget(id string) map[string]any { return map[string]any{"project_id": id} }

func (a *API) showQuotas(r *rest.Request) (*rest.Response, error) {
	project := r.Param("id")
	if err := r.Enforce("os_compute_api:os-quota-sets:show", projectTarget(project)); err != nil {
		return nil, err
	}
	limits, err := compute.UserLimits(r.Context(), a.DB.Pool, project, r.Query.Get("user_id"))
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"quota_set": quotaSet(r, project, func(name string) any { return limits[name] })}), nil
}

func (a *API) showQuotasDetail(r *rest.Request) (*rest.Response, error) {
	project := r.Param("id")
	if err := r.Enforce("os_compute_api:os-quota-sets:detail", projectTarget(project)); err != nil {
		return nil, err
	}
	limits, err := compute.UserLimits(r.Context(), a.DB.Pool, project, r.Query.Get("user_id"))
	if err != nil {
		return nil, err
	}
	used, err := compute.UserUsed(r.Context(), a.DB.Pool, project, r.Query.Get("user_id"))
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"quota_set": quotaSet(r, project, func(name string) any {
		return map[string]int64{"limit": limits[name], "in_use": used[name], "reserved": 0}
	})}), nil
}

func (a *API) showQuotaDefaults(r *rest.Request) (*rest.Response, error) {
	limits, err := compute.Limits(r.Context(), a.DB.Pool, "")
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"quota_set": quotaSet(r, r.Param("id"), func(name string) any { return limits[name] })}), nil
}

// quotaNumbers reads the limits of a body; "force" is told apart.
func quotaNumbers(r *rest.Request, name string) (limits map[string]int64, force bool, err error) {
	sent, err := readBody[map[string]json.RawMessage](r, name)
	if err != nil {
		return nil, false, err
	}
	limits = map[string]int64{}
	for key, raw := range *sent {
		if key == "force" {
			var forced truth
			if err := forced.UnmarshalJSON(raw); err != nil {
				return nil, false, err
			}
			force = bool(forced)
			continue
		}
		if key == "tenant_id" || key == "id" || key == "class_name" {
			continue
		}
		var limit whole
		if err := limit.UnmarshalJSON(raw); err != nil {
			return nil, false, invalidField(key, raw, "%s is not of type 'integer', 'string'", rest.PyRepr(raw))
		}
		if limit < -1 || limit > math.MaxInt32 {
			return nil, false, invalidField(key, raw, "%d is out of its range", limit)
		}
		limits[key] = int64(limit)
	}
	return limits, force, nil
}

func (a *API) updateQuotas(r *rest.Request) (*rest.Response, error) {
	project, user := r.Param("id"), r.Query.Get("user_id")
	asked, force, err := quotaNumbers(r, "quota_set")
	if err != nil {
		return nil, err
	}
	var limits map[string]int64
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		may, err := settable(r, tx, project, user)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(asked)) {
			if !force {
				if err := may.check(name, asked[name]); err != nil {
					return err
				}
			}
			if err := compute.SetUserLimit(r.Context(), tx, project, user, name, asked[name]); err != nil {
				return err
			}
		}
		limits, err = compute.UserLimits(r.Context(), tx, project, user)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"quota_set": quotaSet(r, "", func(name string) any { return limits[name] })}), nil
}

// settableLimits is how low and how high limits may be set; high is nil for
// those of projects.
type settableLimits struct{ low, high map[string]int64 }

// settable: limits of a project hold what is used and what its users were
// promised, those of a user what the user has and no more than is left.
func settable(r *rest.Request, tx store.Tx, project, user string) (s settableLimits, err error) {
	if s.low, err = compute.UserUsed(r.Context(), tx, project, user); err != nil {
		return s, err
	}
	promised, err := compute.PromisedToUsers(r.Context(), tx, project, user)
	if err != nil {
		return s, err
	}
	if user == "" {
		for name, sum := range promised {
			s.low[name] = max(s.low[name], sum)
		}
		return s, nil
	}
	s.high, err = compute.Limits(r.Context(), tx, project)
	for name, limit := range s.high {
		if limit >= 0 {
			s.high[name] = max(0, limit-promised[name])
		}
	}
	return s, err
}

// check says whether a resource's limit may be set; -1 is no limit.
func (s settableLimits) check(name string, limit int64) error {
	if low := s.low[name]; limit >= 0 && limit < low {
		return faults.New(faults.Invalid, "QuotaBelowUsage",
			"Quota limit %d for %s must be greater than or equal to already used and reserved %d.", limit, name, low)
	}
	if high, bound := s.high[name]; bound && high >= 0 && (limit < 0 || limit > high) {
		return faults.New(faults.Invalid, "QuotaAboveProject", "Quota limit %d for %s must be less than or equal to %d.", limit, name, high)
	}
	return nil
}

func (a *API) deleteQuotas(r *rest.Request) (*rest.Response, error) {
	return nil, a.DB.InTx(r.Context(), func(tx store.Tx) error {
		return compute.ClearLimits(r.Context(), tx, r.Param("id"), r.Query.Get("user_id"))
	})
}

func (a *API) showQuotaClass(r *rest.Request) (*rest.Response, error) {
	limits, err := compute.ClassLimits(r.Context(), a.DB.Pool, r.Param("id"))
	if err != nil {
		return nil, err
	}
	return quotaClass(r, r.Param("id"), limits), nil
}

func (a *API) updateQuotaClass(r *rest.Request) (*rest.Response, error) {
	asked, _, err := quotaNumbers(r, "quota_class_set")
	if err != nil {
		return nil, err
	}
	var limits map[string]int64
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		for _, name := range slices.Sorted(maps.Keys(asked)) {
			if err := compute.SetClassLimit(r.Context(), tx, r.Param("id"), name, asked[name]); err != nil {
				return err
			}
		}
		limits, err = compute.ClassLimits(r.Context(), tx, r.Param("id"))
		return err
	})
	if err != nil {
		return nil, err
	}
	return quotaClass(r, "", limits), nil
}

// quotaClass shows a class's limits; the answer to an update has no id.
func quotaClass(r *rest.Request, id string, limits map[string]int64) *rest.Response {
	shown := map[string]any{}
	for _, q := range quotaResources {
		if q.classes.Has(r.Version) {
			shown[q.name] = limits[q.name]
		}
	}
	if id != "" {
		shown["id"] = id
	}
	return rest.JSON(map[string]any{"quota_class_set": shown})
}

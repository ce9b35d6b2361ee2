package compute

// Quotas: what a project may use, and what it uses.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// DefaultQuotas are the limits of a project that has none of its own, -1 is no
// limit (contracts: quotas-and-limits.json). A change of the configuration is
// made at start, before the first request.
var DefaultQuotas = map[string]int64{
	"instances":                   10,
	"cores":                       20,
	"ram":                         51200,
	"metadata_items":              128,
	"injected_files":              5,
	"injected_file_content_bytes": 10240,
	"injected_file_path_bytes":    255,
	"key_pairs":                   100,
	"server_groups":               10,
	"server_group_members":        10,
	"fixed_ips":                   -1,
	"floating_ips":                -1,
	"security_groups":             -1,
	"security_group_rules":        -1,
}

// Delta is an amount of the resources that servers are counted in: a change of
// what a project uses, what it uses, or its limits.
type Delta struct {
	Instances int64
	Cores     int64
	// RAMMB is MiB.
	RAMMB int64
}

// Delta is what the server counts for in its project's quota.
func (s *Server) Delta() Delta { return Delta{Instances: 1, Cores: int64(s.VCPUs), RAMMB: s.MemoryMB} }

// times is for n of a size. No part overflows: no quota has room for so many.
func (d Delta) times(n int64) Delta {
	n = min(n, math.MaxInt32)
	return Delta{d.Instances * n, d.Cores * n, d.RAMMB * n}
}

// parts are a delta's numbers under the names of counted, in the same order,
// which is the one of the original's messages.
func (d Delta) parts() [3]int64 { return [3]int64{d.Cores, d.Instances, d.RAMMB} }

var counted = [3]string{"cores", "instances", "ram"}

// ChargeQuota adds d to what the project uses, or changes nothing and says
// faults.OverLimit with the original's text. It locks the project's usage row
// until the transaction ends. A part that gives back is never refused.
func ChargeQuota(ctx context.Context, tx store.Tx, projectID string, d Delta) error {
	limits, used, err := lockUsage(ctx, tx, projectID)
	if err != nil {
		return err
	}
	if howMany(limits, used, d, 1) < 1 {
		return overQuota(limits, used, d, strconv.FormatInt(d.Instances, 10))
	}
	return addUsage(ctx, tx, projectID, d)
}

// MaxServersAtOnce is how many servers one request makes at most, whatever the quota.
const MaxServersAtOnce = 1000

// ChargeServers charges as many servers of one size as the quotas of the project
// and of its user have room for, at most most, and says how many. With room for
// fewer than least it changes nothing and is faults.OverLimit with the
// original's text; with room for a least beyond MaxServersAtOnce, faults.Invalid.
func ChargeServers(ctx context.Context, tx store.Tx, projectID, userID string, each Delta, least, most int) (int, error) {
	// Others wait for the project's row from here on: what can be asked before is.
	own, some, err := ownLimits(ctx, tx, projectID, userID)
	if err != nil {
		return 0, err
	}
	limits, used, err := lockUsage(ctx, tx, projectID)
	if err != nil {
		return 0, err
	}
	n := howMany(limits, used, each, int64(most))
	if some && n >= int64(least) {
		limits = own
		if used, err = userUsage(ctx, tx, projectID, userID); err != nil {
			return 0, err
		}
		n = min(n, howMany(limits, used, each, int64(most)))
	}
	if n < int64(least) {
		asked := strconv.Itoa(most)
		if least != most {
			asked = strconv.Itoa(least) + "-" + asked
		}
		return 0, overQuota(limits, used, each.times(int64(most)), asked)
	}
	if least > MaxServersAtOnce {
		return 0, faults.New(faults.Invalid, "TooManyAtOnce", "min_count must be <= %d", MaxServersAtOnce)
	}
	n = min(n, MaxServersAtOnce)
	return int(n), addUsage(ctx, tx, projectID, each.times(n))
}

// howMany of each, at most most, fit under the limits.
func howMany(limits, used, each Delta, most int64) int64 {
	n := most
	for i, limit := range limits.parts() {
		if per := each.parts()[i]; per > 0 && limit >= 0 {
			n = min(n, max(0, limit-used.parts()[i])/per)
		}
	}
	return n
}

// overQuota lists what d goes beyond, as the original words it (contracts:
// errors.json, TooManyInstances).
func overQuota(limits, used, d Delta, askedInstances string) error {
	var overs, asked, have, allowed []string
	for i, limit := range limits.parts() {
		part := d.parts()[i]
		if part <= 0 || limit < 0 || used.parts()[i]+part <= limit {
			continue
		}
		overs = append(overs, counted[i])
		if counted[i] == "instances" {
			asked = append(asked, askedInstances)
		} else {
			asked = append(asked, strconv.FormatInt(part, 10))
		}
		have = append(have, strconv.FormatInt(used.parts()[i], 10))
		allowed = append(allowed, strconv.FormatInt(limit, 10))
	}
	list := func(words []string) string { return strings.Join(words, ", ") }
	return faults.New(faults.OverLimit, "TooManyInstances", "Quota exceeded for %s: Requested %s, but already used %s of %s %s",
		list(overs), list(asked), list(have), list(allowed), list(overs))
}

// ownLimits are the limits that a user of the project has of their own, -1 where
// there is none, and whether there is one at all.
func ownLimits(ctx context.Context, q store.Queryer, projectID, userID string) (own Delta, some bool, err error) {
	const limit = `COALESCE(max(hard_limit) FILTER (WHERE resource = '%s'), -1)`
	err = q.QueryRow(ctx, `SELECT `+fmt.Sprintf(limit, "instances")+`, `+fmt.Sprintf(limit, "cores")+`, `+fmt.Sprintf(limit, "ram")+`,
		count(*) > 0 FROM compute.quota_limits WHERE project_id = $1 AND user_id = $2 AND user_id <> '' AND class = ''`, projectID, userID).
		Scan(&own.Instances, &own.Cores, &own.RAMMB, &some)
	return own, some, store.Translate(err)
}

// userUsage counts a user's servers. It holds where the project's usage row is
// locked: servers come and go under that lock.
func userUsage(ctx context.Context, q store.Queryer, projectID, userID string) (used Delta, err error) {
	err = q.QueryRow(ctx, `SELECT count(*), COALESCE(sum(`+charged("vcpus")+`), 0), COALESCE(sum(`+charged("memory_mb")+`), 0)::bigint
		FROM `+chargedServers+` WHERE s.project_id = $1 AND s.user_id = $2 AND s.deleted_at IS NULL AND s.soft_deleted_at IS NULL`, projectID, userID).
		Scan(&used.Instances, &used.Cores, &used.RAMMB)
	return used, store.Translate(err)
}

// lockUsage locks the project's usage row, made if need be.
func lockUsage(ctx context.Context, tx store.Tx, projectID string) (limits, used Delta, err error) {
	limits, used, err = usage(ctx, tx, projectID, "FOR UPDATE OF u")
	if !errors.Is(err, pgx.ErrNoRows) {
		return limits, used, store.Translate(err)
	}
	_, err = tx.Exec(ctx, `INSERT INTO compute.quota_usages (project_id) VALUES ($1) ON CONFLICT DO NOTHING`, projectID)
	if err != nil {
		return limits, used, store.Translate(err)
	}
	limits, used, err = usage(ctx, tx, projectID, "FOR UPDATE OF u")
	return limits, used, store.Translate(err)
}

// Usage is what a project may use and does use, without a lock.
func Usage(ctx context.Context, q store.Queryer, projectID string) (limits, used Delta, err error) {
	limits, used, err = usage(ctx, q, projectID, "")
	if errors.Is(err, pgx.ErrNoRows) {
		own, err := Limits(ctx, q, projectID)
		return Delta{own["instances"], own["cores"], own["ram"]}, Delta{}, err
	}
	return limits, used, store.Translate(err)
}

// usage reads the row and, beside it, the limits: the project's own before the
// default class's before the configuration's.
func usage(ctx context.Context, q store.Queryer, projectID, lock string) (limits, used Delta, err error) {
	const limit = `COALESCE((SELECT hard_limit FROM compute.quota_limits l WHERE l.resource = '%s' AND l.user_id = ''
		AND (l.project_id, l.class) IN ((u.project_id, ''), ('', 'default')) ORDER BY l.project_id DESC LIMIT 1), %s)`
	err = q.QueryRow(ctx, `SELECT u.instances, u.cores, u.ram_mb, `+
		fmt.Sprintf(limit, "instances", "$2")+`, `+fmt.Sprintf(limit, "cores", "$3")+`, `+fmt.Sprintf(limit, "ram", "$4")+`
		FROM compute.quota_usages u WHERE u.project_id = $1 `+lock,
		projectID, DefaultQuotas["instances"], DefaultQuotas["cores"], DefaultQuotas["ram"],
	).Scan(&used.Instances, &used.Cores, &used.RAMMB, &limits.Instances, &limits.Cores, &limits.RAMMB)
	return limits, used, err
}

func addUsage(ctx context.Context, tx store.Tx, projectID string, d Delta) error {
	_, err := tx.Exec(ctx, `UPDATE compute.quota_usages SET instances = instances + $2, cores = cores + $3,
		ram_mb = ram_mb + $4, updated_at = now() WHERE project_id = $1`, projectID, d.Instances, d.Cores, d.RAMMB)
	return store.Translate(err)
}

package compute

// What policies let the caller do and see.

import (
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
)

// everybodys are the rules for whoever has a token that handlers ask about;
// all other rules that they ask about are an administrator's.
var everybodys = []string{
	policyFlavorExtraSpecs,
	"os_compute_api:servers:create:attach_network",
	"os_compute_api:servers:create:attach_volume",
	"os_compute_api:servers:create:trusted_certs",
	"os_compute_api:servers:show:flavor-extra-specs",
}

// allowed says whether a rule lets the caller, for what depends on a rule
// without being refused by it.
func allowed(r *rest.Request, rule string) bool {
	return r.Identity.IsAdmin || slices.Contains(everybodys, rule)
}

// demand refuses what a rule doesn't let the caller do.
func demand(r *rest.Request, rule string) error {
	if allowed(r, rule) {
		return nil
	}
	return forbidden(rule)
}

// demandProject is demand for the things of a project, which its own members
// may see.
func demandProject(r *rest.Request, rule, projectID string) error {
	if projectID == r.Identity.ProjectID {
		return nil
	}
	return demand(r, rule)
}

// demandUser is demand for the things of a user, which are the user's own.
func demandUser(r *rest.Request, rule, userID string) error {
	if userID == r.Identity.UserID {
		return nil
	}
	return demand(r, rule)
}

func forbidden(rule string) error {
	return faults.New(faults.Forbidden, "PolicyNotAuthorized", "Policy doesn't allow %s to be performed.", rule)
}

// guarded has every row whose rule is an administrator's answer only those.
func guarded(rows []rest.Operation) []rest.Operation {
	for i, row := range rows {
		if administrative(row.Policy) {
			rows[i].Handler = func(r *rest.Request) (*rest.Response, error) {
				if err := demand(r, row.Policy); err != nil {
					return nil, err
				}
				return row.Handler(r)
			}
		}
	}
	return rows
}

// administrators are the beginnings of the rules that are theirs.
var administrators = []string{
	"os_compute_api:os-flavor-manage:", "os_compute_api:os-flavor-access",
	"os_compute_api:os-flavor-extra-specs:create", "os_compute_api:os-flavor-extra-specs:update", "os_compute_api:os-flavor-extra-specs:delete",
	"os_compute_api:os-services:", "os_compute_api:os-hypervisors:", "os_compute_api:os-availability-zone:detail",
	"os_compute_api:os-quota-sets:update", "os_compute_api:os-quota-sets:delete", "os_compute_api:os-quota-class-sets:",
	"os_compute_api:os-server-external-events:", "os_compute_api:os-admin-actions:",
}

func administrative(rule string) bool {
	return slices.ContainsFunc(administrators, func(begin string) bool { return strings.HasPrefix(rule, begin) })
}

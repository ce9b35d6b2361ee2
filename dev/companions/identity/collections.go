package identity

// The things that are merely kept, as data.

import (
	"context"
	"net/http"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// DefaultDomain is the id of the domain "Default".
const DefaultDomain = "default"

func (s *Service) collections() []*collection {
	name := field{name: "name", required: true, filter: true}
	described := field{name: "description", initial: ""}
	enabled := field{name: "enabled", kind: flag, initial: true, filter: true}
	options := field{name: "options", kind: object, initial: document{}}
	domain := field{name: "domain_id", initial: DefaultDomain, fixed: true, filter: true}
	tags := field{name: "tags", kind: list, initial: []any{}}
	return []*collection{
		{
			db: s.db, path: "domains", one: "domain", ownID: true,
			get: overseerOrOfDomain, all: overseer, write: adminOnly,
			fields:  []field{name, described, enabled, tags, options},
			prepare: domainStays, release: domainIsDisabled,
		},
		{
			db: s.db, path: "projects", one: "project", ownID: true,
			get: overseerOrInProject, all: overseer, write: adminOnly,
			fields: []field{name, described, enabled, domain, tags, options,
				{name: "is_domain", kind: flag, initial: false, fixed: true, filter: true},
				{name: "parent_id", kind: optionalText, fixed: true, filter: true}},
			prepare: projectParent, release: projectIsLeaf,
		},
		{
			db: s.db, path: "users", one: "user", ownID: true,
			get: overseerOrSelf, all: overseer, write: adminOnly,
			fields: []field{name, enabled, domain, options,
				{name: "description", kind: optionalText}, {name: "email", kind: optionalText},
				{name: "default_project_id", kind: optionalText}, {name: "password", kind: optionalText}},
			prepare: userPassword,
		},
		{
			db: s.db, path: "groups", one: "group",
			get: overseer, all: overseer, write: adminOnly,
			fields: []field{name, described, domain},
		},
		{
			db: s.db, path: "roles", one: "role", ownID: true,
			get: overseer, all: overseer, write: adminOnly,
			fields: []field{name, {name: "description", kind: optionalText}, {name: "domain_id", kind: optionalText, fixed: true}, options},
		},
		{
			db: s.db, path: "regions", one: "region", ownID: true,
			get: anybody, all: anybody, write: adminOnly,
			fields: []field{described, {name: "parent_region_id", kind: optionalText, filter: true}},
		},
		{
			db: s.db, path: "services", one: "service",
			get: overseer, all: overseer, write: adminOnly,
			fields: []field{{name: "type", required: true, filter: true}, {name: "name", initial: "", filter: true},
				{name: "description", kind: optionalText}, enabled},
		},
		{
			db: s.db, path: "endpoints", one: "endpoint",
			get: overseer, all: overseer, write: adminOnly,
			fields: []field{{name: "service_id", required: true, filter: true}, {name: "region_id", kind: optionalText, filter: true},
				{name: "interface", required: true, filter: true}, {name: "url", required: true}, enabled},
			prepare: endpointRegion,
		},
	}
}

// collection is the one at path.
func (s *Service) collection(path string) *collection {
	all := s.collections()
	return all[slices.IndexFunc(all, func(c *collection) bool { return c.path == path })]
}

// domainStays keeps the domain that everything else hangs on.
func domainStays(_ context.Context, _ pgx.Tx, id string, d document) error {
	if id == DefaultDomain && d["enabled"] == false {
		return service.Fail(http.StatusForbidden, "Cannot disable the default domain.")
	}
	return nil
}

func domainIsDisabled(ctx context.Context, tx pgx.Tx, id string) error {
	var enabled bool
	err := tx.QueryRow(ctx, `SELECT enabled FROM identity.domains WHERE id = $1 FOR UPDATE`, id).Scan(&enabled)
	if service.Missing(err) {
		return notFound("domain", id)
	}
	if err == nil && enabled {
		return service.Fail(http.StatusForbidden, "Cannot delete a domain that is enabled, please disable it first.")
	}
	return err
}

// projectParent fills in and checks the parent, which is the domain unless the
// client names a project of the same domain.
func projectParent(ctx context.Context, tx pgx.Tx, id string, d document) error {
	if id != "" {
		return nil
	}
	if d["is_domain"] == true {
		return service.Fail(http.StatusBadRequest, "A project that acts as a domain is created as a domain.")
	}
	if d["parent_id"] == nil {
		d["parent_id"] = d["domain_id"]
	}
	if d["parent_id"] == d["domain_id"] {
		return nil
	}
	var domain string
	err := tx.QueryRow(ctx, `SELECT domain_id FROM identity.projects WHERE id = $1 FOR KEY SHARE`, d["parent_id"]).Scan(&domain)
	if service.Missing(err) {
		return notFound("project", d["parent_id"].(string))
	}
	if err == nil && domain != d["domain_id"] {
		return service.Fail(http.StatusBadRequest, "The parent of a project is in the same domain.")
	}
	return err
}

func projectIsLeaf(ctx context.Context, tx pgx.Tx, id string) error {
	var parent bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM identity.projects WHERE parent_id = $1)`, id).Scan(&parent)
	if err == nil && parent {
		return service.Fail(http.StatusForbidden, "Cannot delete the project %s since it is not a leaf in the hierarchy.", id)
	}
	return err
}

// userPassword turns the password into its hash. A new password or a disabled
// user ends the user's tokens.
func userPassword(ctx context.Context, tx pgx.Tx, id string, d document) error {
	password, given := d["password"]
	delete(d, "password")
	if id != "" && (given || d["enabled"] == false) {
		if _, err := tx.Exec(ctx, `DELETE FROM identity.tokens WHERE user_id = $1`, id); err != nil {
			return err
		}
	}
	if !given || password == nil {
		return nil
	}
	hash, err := hashPassword(ctx, password.(string))
	d["password_hash"] = hash
	return err
}

// endpointRegion takes the old name of region_id too, and checks what the
// catalog relies on.
func endpointRegion(_ context.Context, _ pgx.Tx, _ string, d document) error {
	extra := d["extra"].(document)
	if region, ok := extra["region"].(string); ok && d["region_id"] == nil {
		d["region_id"] = region
	}
	delete(extra, "region")
	switch d["interface"] {
	case nil, "public", "internal", "admin":
		return nil
	}
	return service.Fail(http.StatusBadRequest, "Invalid input for field 'interface': it is public, internal or admin.")
}

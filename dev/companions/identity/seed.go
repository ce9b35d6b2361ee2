package identity

// What a new cloud has: a domain, projects, users with roles, the catalog.

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// Seed is what is to be there. What is there already is left, but for
// passwords and addresses, which are set.
type Seed struct {
	Region   string
	Projects []string
	Users    []SeedUser
	Services []SeedService
	// Roles are further ones.
	Roles   []string
	Domains []SeedDomain
}

// SeedDomain is a domain beside the default one, with an administrator.
type SeedDomain struct{ Name, Admin, Password string }

// SeedUser is a user of the default domain with roles on projects.
type SeedUser struct {
	Name, Password string
	DefaultProject string
	// Roles by the name of the project; "" is the system.
	Roles map[string][]string
	// Inherited are roles on every project of the default domain.
	Inherited []string
}

// SeedService is a service with one address for all its interfaces.
type SeedService struct{ Type, Name, URL string }

// roleNames are Keystone's own, and service and manager as 2026.2 makes them.
// Each of the first four implies the next.
var roleNames = []string{"admin", "manager", "member", "reader", "service"}

// Seed puts it there, in one transaction.
func (s *Service) Seed(ctx context.Context, seed Seed) error {
	return pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO identity.domains VALUES ($1, 'Default', 'The default domain', true, '{}', '{}', '{}') ON CONFLICT DO NOTHING`, DefaultDomain); err != nil {
			return err
		}
		roles := map[string]string{}
		for i, name := range roleNames {
			id, err := seedRole(ctx, tx, name)
			if err != nil {
				return err
			}
			roles[name] = id
			if i == 0 || name == "service" {
				continue
			}
			if _, err := tx.Exec(ctx, `INSERT INTO identity.implied_roles VALUES ($1, $2) ON CONFLICT DO NOTHING`, roles[roleNames[i-1]], id); err != nil {
				return err
			}
		}
		for _, name := range seed.Roles {
			if _, err := seedRole(ctx, tx, name); err != nil {
				return err
			}
		}
		projects := map[string]*string{"": nil}
		for _, name := range seed.Projects {
			id, err := ensure(ctx, tx, `INSERT INTO identity.projects VALUES ($1, $2, $2, $3, '', true, false, '{}', '{}', '{}')
				ON CONFLICT (domain_id, name) DO UPDATE SET name = EXCLUDED.name RETURNING id`, newID(), DefaultDomain, name)
			if err != nil {
				return err
			}
			projects[name] = &id
		}
		for _, user := range seed.Users {
			if err := seedUser(ctx, tx, user, roles, projects); err != nil {
				return err
			}
		}
		for _, domain := range seed.Domains {
			if err := seedDomain(ctx, tx, domain, roles["admin"]); err != nil {
				return err
			}
		}
		return seedCatalog(ctx, tx, seed)
	})
}

func seedRole(ctx context.Context, tx pgx.Tx, name string) (id string, err error) {
	return ensure(ctx, tx, `INSERT INTO identity.roles (id, name, options, extra) VALUES ($1, $2, '{}', '{}')
		ON CONFLICT (name) DO UPDATE SET name = EXCLUDED.name RETURNING id`, newID(), name)
}

func seedDomain(ctx context.Context, tx pgx.Tx, domain SeedDomain, admin string) error {
	id, err := ensure(ctx, tx, `INSERT INTO identity.domains VALUES ($1, $2, '', true, '{}', '{}', '{}')
		ON CONFLICT (name) DO UPDATE SET name = EXCLUDED.name RETURNING id`, newID(), domain.Name)
	if err != nil {
		return err
	}
	hash, err := hashPassword(ctx, domain.Password)
	if err != nil {
		return err
	}
	user, err := ensure(ctx, tx, insertUser, newID(), id, domain.Admin, nil, hash)
	if err == nil {
		_, err = tx.Exec(ctx, `INSERT INTO identity.grants (role_id, user_id, domain_id, inherited) VALUES ($1, $2, $3, false) ON CONFLICT DO NOTHING`, admin, user, id)
	}
	return err
}

// insertUser has a user be there with a password.
const insertUser = `INSERT INTO identity.users (id, domain_id, name, enabled, default_project_id, password_hash, options, extra)
	VALUES ($1, $2, $3, true, $4, $5, '{}', '{}')
	ON CONFLICT (domain_id, name) DO UPDATE SET password_hash = EXCLUDED.password_hash RETURNING id`

// ensure inserts a row or finds it, and gives its id.
func ensure(ctx context.Context, tx pgx.Tx, statement string, args ...any) (id string, err error) {
	err = tx.QueryRow(ctx, statement, args...).Scan(&id)
	return id, err
}

func seedUser(ctx context.Context, tx pgx.Tx, user SeedUser, roles map[string]string, projects map[string]*string) error {
	hash, err := hashPassword(ctx, user.Password)
	if err != nil {
		return err
	}
	id, err := ensure(ctx, tx, insertUser, newID(), DefaultDomain, user.Name, projects[user.DefaultProject], hash)
	if err != nil {
		return err
	}
	grant := func(name string, project, domain *string) error {
		if roles[name] == "" {
			return notFound("role", name)
		}
		_, err := tx.Exec(ctx, `INSERT INTO identity.grants (role_id, user_id, project_id, domain_id, inherited)
			VALUES ($1, $2, $3, $4::text, $4::text IS NOT NULL) ON CONFLICT DO NOTHING`, roles[name], id, project, domain)
		return err
	}
	for _, name := range user.Inherited {
		if err := grant(name, nil, new(DefaultDomain)); err != nil {
			return err
		}
	}
	for project, names := range user.Roles {
		place, ok := projects[project]
		if !ok {
			return notFound("project", project)
		}
		for _, name := range names {
			if err := grant(name, place, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func seedCatalog(ctx context.Context, tx pgx.Tx, seed Seed) error {
	if _, err := tx.Exec(ctx, `INSERT INTO identity.regions VALUES ($1, '', NULL, '{}') ON CONFLICT DO NOTHING`, seed.Region); err != nil {
		return err
	}
	for _, entry := range seed.Services {
		var id string
		err := tx.QueryRow(ctx, `SELECT id FROM identity.services WHERE type = $1 AND name = $2`, entry.Type, entry.Name).Scan(&id)
		if service.Missing(err) {
			id = newID()
			_, err = tx.Exec(ctx, `INSERT INTO identity.services VALUES ($1, $2, $3, NULL, true, '{}')`, id, entry.Type, entry.Name)
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM identity.endpoints WHERE service_id = $1 AND region_id = $2`, id, seed.Region); err != nil {
			return err
		}
		for _, face := range []string{"public", "internal", "admin"} {
			if _, err := tx.Exec(ctx, `INSERT INTO identity.endpoints VALUES ($1, $2, $3, $4, $5, true, '{}')`, newID(), id, seed.Region, face, entry.URL); err != nil {
				return err
			}
		}
	}
	return nil
}

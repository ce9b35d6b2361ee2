-- +goose Up
-- A role that is inherited from a domain is held on its projects, not on the domain.
ALTER TABLE identity.grants
    ADD COLUMN inherited boolean NOT NULL DEFAULT false,
    ADD CHECK (NOT inherited OR domain_id IS NOT NULL),
    DROP CONSTRAINT grants_user_id_group_id_project_id_domain_id_role_id_key,
    ADD UNIQUE NULLS NOT DISTINCT (user_id, group_id, project_id, domain_id, role_id, inherited);

-- What is held where, inherited roles at each place that inherits them.
CREATE VIEW identity.held AS
    SELECT role_id, user_id, group_id, project_id, domain_id FROM identity.grants WHERE NOT inherited
    UNION ALL
    SELECT g.role_id, g.user_id, g.group_id, p.id, NULL
    FROM identity.grants g JOIN identity.projects p ON p.domain_id = g.domain_id WHERE g.inherited;

-- +goose Down
DROP VIEW identity.held;
DELETE FROM identity.grants WHERE inherited;
ALTER TABLE identity.grants DROP COLUMN inherited,
    ADD UNIQUE NULLS NOT DISTINCT (user_id, group_id, project_id, domain_id, role_id);

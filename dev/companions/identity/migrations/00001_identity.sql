-- +goose Up
CREATE SCHEMA identity;

CREATE TABLE identity.domains (
    id text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    description text NOT NULL,
    enabled boolean NOT NULL,
    tags text[] NOT NULL,
    options jsonb NOT NULL,
    extra jsonb NOT NULL
);

CREATE TABLE identity.projects (
    id text PRIMARY KEY,
    domain_id text NOT NULL REFERENCES identity.domains ON DELETE CASCADE,
    parent_id text NOT NULL, -- another project, or the domain
    name text NOT NULL,
    description text NOT NULL,
    enabled boolean NOT NULL,
    is_domain boolean NOT NULL,
    tags text[] NOT NULL,
    options jsonb NOT NULL,
    extra jsonb NOT NULL,
    UNIQUE (domain_id, name)
);

CREATE TABLE identity.users (
    id text PRIMARY KEY,
    domain_id text NOT NULL REFERENCES identity.domains ON DELETE CASCADE,
    name text NOT NULL,
    description text,
    email text,
    enabled boolean NOT NULL,
    default_project_id text,
    password_hash text, -- null: the user can't log in by password
    password_expires_at timestamptz,
    options jsonb NOT NULL,
    extra jsonb NOT NULL,
    UNIQUE (domain_id, name)
);

CREATE TABLE identity.groups (
    id text PRIMARY KEY,
    domain_id text NOT NULL REFERENCES identity.domains ON DELETE CASCADE,
    name text NOT NULL,
    description text NOT NULL,
    extra jsonb NOT NULL,
    UNIQUE (domain_id, name)
);

CREATE TABLE identity.group_members (
    group_id text NOT NULL REFERENCES identity.groups ON DELETE CASCADE,
    user_id text NOT NULL REFERENCES identity.users ON DELETE CASCADE,
    PRIMARY KEY (group_id, user_id)
);
CREATE INDEX ON identity.group_members (user_id);

CREATE TABLE identity.roles (
    id text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    description text,
    domain_id text,
    options jsonb NOT NULL,
    extra jsonb NOT NULL
);

CREATE TABLE identity.implied_roles (
    prior_id text NOT NULL REFERENCES identity.roles ON DELETE CASCADE,
    implied_id text NOT NULL REFERENCES identity.roles ON DELETE CASCADE,
    PRIMARY KEY (prior_id, implied_id)
);

-- A user or a group holds a role on a project, on a domain or on the system.
CREATE TABLE identity.grants (
    role_id text NOT NULL REFERENCES identity.roles ON DELETE CASCADE,
    user_id text REFERENCES identity.users ON DELETE CASCADE,
    group_id text REFERENCES identity.groups ON DELETE CASCADE,
    project_id text REFERENCES identity.projects ON DELETE CASCADE,
    domain_id text REFERENCES identity.domains ON DELETE CASCADE,
    CHECK (num_nonnulls(user_id, group_id) = 1),
    CHECK (num_nonnulls(project_id, domain_id) <= 1), -- neither: the system
    UNIQUE NULLS NOT DISTINCT (user_id, group_id, project_id, domain_id, role_id)
);
CREATE INDEX ON identity.grants (group_id);
CREATE INDEX ON identity.grants (project_id);
CREATE INDEX ON identity.grants (domain_id);

CREATE TABLE identity.application_credentials (
    id text PRIMARY KEY,
    user_id text NOT NULL REFERENCES identity.users ON DELETE CASCADE,
    project_id text NOT NULL REFERENCES identity.projects ON DELETE CASCADE,
    name text NOT NULL,
    description text,
    secret_hash text NOT NULL,
    role_ids text[] NOT NULL,
    expires_at timestamptz,
    unrestricted boolean NOT NULL,
    -- A list of {path, method, service}; null: any request.
    access_rules jsonb,
    UNIQUE (user_id, name)
);

CREATE TABLE identity.trusts (
    id text PRIMARY KEY,
    trustor_user_id text NOT NULL REFERENCES identity.users ON DELETE CASCADE,
    trustee_user_id text NOT NULL REFERENCES identity.users ON DELETE CASCADE,
    project_id text NOT NULL REFERENCES identity.projects ON DELETE CASCADE,
    impersonation boolean NOT NULL,
    role_ids text[] NOT NULL,
    expires_at timestamptz,
    remaining_uses integer -- null: without limit
);

CREATE TABLE identity.credentials (
    id text PRIMARY KEY,
    user_id text NOT NULL REFERENCES identity.users ON DELETE CASCADE,
    project_id text,
    trust_id text REFERENCES identity.trusts ON DELETE CASCADE,
    type text NOT NULL,
    blob text NOT NULL
);
CREATE INDEX ON identity.credentials (user_id);

-- A token is known by its SHA-256. What it is worth is found at each use from
-- the rows that it names, so it falls with any of them.
CREATE TABLE identity.tokens (
    hash bytea PRIMARY KEY,
    user_id text NOT NULL REFERENCES identity.users ON DELETE CASCADE,
    project_id text REFERENCES identity.projects ON DELETE CASCADE,
    domain_id text REFERENCES identity.domains ON DELETE CASCADE,
    system boolean NOT NULL,
    application_credential_id text REFERENCES identity.application_credentials ON DELETE CASCADE,
    trust_id text REFERENCES identity.trusts ON DELETE CASCADE,
    methods text[] NOT NULL,
    audit_ids text[] NOT NULL,
    issued_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX ON identity.tokens (expires_at);
CREATE INDEX ON identity.tokens (user_id);

CREATE TABLE identity.regions (
    id text PRIMARY KEY,
    description text NOT NULL,
    parent_region_id text REFERENCES identity.regions,
    extra jsonb NOT NULL
);

CREATE TABLE identity.services (
    id text PRIMARY KEY,
    type text NOT NULL,
    name text NOT NULL,
    description text,
    enabled boolean NOT NULL,
    extra jsonb NOT NULL
);

CREATE TABLE identity.endpoints (
    id text PRIMARY KEY,
    service_id text NOT NULL REFERENCES identity.services ON DELETE CASCADE,
    region_id text REFERENCES identity.regions,
    interface text NOT NULL,
    url text NOT NULL,
    enabled boolean NOT NULL,
    extra jsonb NOT NULL
);

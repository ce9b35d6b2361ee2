-- Server groups: servers that are to be near to or far from each other.

-- +goose Up
CREATE TABLE compute.server_groups (
    id                  uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    number              bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    project_id          text NOT NULL,
    user_id             text NOT NULL,
    name                text NOT NULL,
    policy              text NOT NULL CHECK (policy IN ('affinity', 'anti-affinity', 'soft-affinity', 'soft-anti-affinity')),
    -- Of anti-affinity, from 2.64; null is one, and is not shown.
    max_server_per_host int CHECK (max_server_per_host > 0),
    created_at          timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX server_groups_project ON compute.server_groups (project_id, number);
CREATE TABLE compute.server_group_members (
    server_id uuid PRIMARY KEY REFERENCES compute.servers (id) ON DELETE CASCADE,
    group_id  uuid NOT NULL REFERENCES compute.server_groups (id) ON DELETE CASCADE
);
CREATE INDEX server_group_members_group ON compute.server_group_members (group_id);

-- +goose Down
DROP TABLE compute.server_group_members;
DROP TABLE compute.server_groups;

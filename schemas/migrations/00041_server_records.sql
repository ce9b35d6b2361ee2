-- What users say of servers, and what was done to them without an operation.

-- +goose Up
CREATE TABLE compute.server_tags (
    server_id uuid NOT NULL REFERENCES compute.servers (id) ON DELETE CASCADE,
    tag       text NOT NULL,
    PRIMARY KEY (server_id, tag)
);
CREATE INDEX server_tags_tag ON compute.server_tags (tag);

-- Actions that end in the request that asks for them, lock for one; those that
-- take longer are engine.operations.
CREATE TABLE compute.server_actions (
    server_id  uuid NOT NULL REFERENCES compute.servers (id) ON DELETE CASCADE,
    request_id text NOT NULL,
    action     text NOT NULL,
    project_id text NOT NULL,
    user_id    text NOT NULL,
    done_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (server_id, request_id, action)
);

-- How the server's disk is partitioned: MANUAL or AUTO (OS-DCF:diskConfig).
ALTER TABLE compute.servers ADD COLUMN disk_config text NOT NULL DEFAULT 'MANUAL';

-- +goose Down
ALTER TABLE compute.servers DROP COLUMN disk_config;
DROP TABLE compute.server_actions;
DROP TABLE compute.server_tags;

-- Files that nodes are booted from: a conductor serves those that are here, and
-- removes the others.

-- +goose Up
CREATE TABLE baremetal.boot_files (
    node_uuid    uuid PRIMARY KEY REFERENCES baremetal.nodes (uuid) ON DELETE CASCADE,
    operation_id text NOT NULL REFERENCES engine.operations (id) ON DELETE CASCADE,
    -- What it is served as; who knows the name may read it.
    name         text NOT NULL CONSTRAINT boot_files_name_key UNIQUE,
    -- Who has it.
    conductor    text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now()
);

-- +goose Down
DROP TABLE baremetal.boot_files;

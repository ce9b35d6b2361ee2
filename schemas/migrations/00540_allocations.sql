-- Allocations, runbooks and inspection rules.

-- +goose Up
CREATE TABLE baremetal.allocations (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid            uuid NOT NULL CONSTRAINT allocations_uuid_key UNIQUE,
    name            text CONSTRAINT allocations_name_key UNIQUE,
    owner           text,
    resource_class  text,
    traits          text[] NOT NULL DEFAULT '{}',
    candidate_nodes text[] NOT NULL DEFAULT '{}',
    extra           jsonb NOT NULL DEFAULT '{}',
    state           text NOT NULL,
    last_error      text,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz
);
-- What a node is allocated by: one allocation has one node, and goes before it.
ALTER TABLE baremetal.nodes ADD CONSTRAINT nodes_allocation_key UNIQUE (allocation_uuid),
    ADD CONSTRAINT nodes_allocation_fkey FOREIGN KEY (allocation_uuid) REFERENCES baremetal.allocations (uuid);
CREATE INDEX nodes_resource_class ON baremetal.nodes (resource_class);

CREATE TABLE baremetal.runbooks (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid            uuid NOT NULL CONSTRAINT runbooks_uuid_key UNIQUE,
    name            text NOT NULL CONSTRAINT runbooks_name_key UNIQUE,
    description     text,
    steps           jsonb NOT NULL,
    traits          text[] NOT NULL DEFAULT '{}',
    disable_ramdisk boolean NOT NULL DEFAULT false,
    public          boolean NOT NULL DEFAULT false,
    owner           text,
    extra           jsonb NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz
);

CREATE TABLE baremetal.inspection_rules (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid        uuid NOT NULL CONSTRAINT inspection_rules_uuid_key UNIQUE,
    description text,
    priority    integer NOT NULL DEFAULT 0,
    sensitive   boolean NOT NULL DEFAULT false,
    phase       text NOT NULL DEFAULT 'main',
    conditions  jsonb NOT NULL DEFAULT '[]',
    actions     jsonb NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz
);

-- +goose Down
DROP TABLE baremetal.inspection_rules;
DROP TABLE baremetal.runbooks;
ALTER TABLE baremetal.nodes DROP CONSTRAINT nodes_allocation_fkey, DROP CONSTRAINT nodes_allocation_key;
DROP INDEX baremetal.nodes_resource_class;
DROP TABLE baremetal.allocations;

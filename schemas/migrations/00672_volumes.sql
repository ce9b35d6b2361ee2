-- Volumes of nodes: what nodes are known by to who serves volumes, and the volumes that
-- they have there.

-- +goose Up
CREATE TABLE baremetal.volume_connectors (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid         uuid NOT NULL CONSTRAINT volume_connectors_uuid_key UNIQUE,
    node_uuid    uuid NOT NULL REFERENCES baremetal.nodes (uuid) ON DELETE CASCADE,
    type         text NOT NULL,
    connector_id text NOT NULL,
    extra        jsonb NOT NULL DEFAULT '{}',
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz,
    CONSTRAINT volume_connectors_id_key UNIQUE (connector_id, type)
);
CREATE INDEX volume_connectors_node ON baremetal.volume_connectors (node_uuid);

CREATE TABLE baremetal.volume_targets (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid        uuid NOT NULL CONSTRAINT volume_targets_uuid_key UNIQUE,
    node_uuid   uuid NOT NULL REFERENCES baremetal.nodes (uuid) ON DELETE CASCADE,
    volume_type text NOT NULL,
    boot_index  integer NOT NULL,
    volume_id   text NOT NULL,
    -- Their secrets are masked, and sealed beside them.
    properties  jsonb NOT NULL DEFAULT '{}',
    secrets     bytea,
    extra       jsonb NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz,
    CONSTRAINT volume_targets_boot_key UNIQUE (node_uuid, boot_index)
);

-- +goose Down
DROP TABLE baremetal.volume_targets;
DROP TABLE baremetal.volume_connectors;

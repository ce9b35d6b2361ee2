-- Aggregates: sets of hosts with metadata, which scheduling asks.

-- +goose Up
CREATE TABLE compute.aggregates (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid       uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    name       text NOT NULL CONSTRAINT aggregates_name_key UNIQUE,
    -- The zone of its hosts is the key availability_zone.
    metadata   jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz
);
CREATE TABLE compute.aggregate_hosts (
    aggregate_id bigint NOT NULL REFERENCES compute.aggregates (id) ON DELETE CASCADE,
    host_id      uuid NOT NULL REFERENCES compute.hosts (id) ON DELETE CASCADE,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (aggregate_id, host_id)
);
CREATE INDEX aggregate_hosts_host ON compute.aggregate_hosts (host_id);
-- The zone that the host's worker names; availability_zone is the one that
-- counts, an aggregate's if one has any.
ALTER TABLE compute.hosts ADD COLUMN own_zone text;
UPDATE compute.hosts SET own_zone = availability_zone;
ALTER TABLE compute.hosts ALTER COLUMN own_zone SET NOT NULL, ALTER COLUMN own_zone SET DEFAULT 'nova';

-- +goose Down
ALTER TABLE compute.hosts DROP COLUMN own_zone;
DROP TABLE compute.aggregate_hosts;
DROP TABLE compute.aggregates;

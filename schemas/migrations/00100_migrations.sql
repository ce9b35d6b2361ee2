-- Moves of servers between hosts, and the claims that they hold meanwhile.

-- +goose Up
-- Whose the room is: the server's own while it is to run there, a migration's
-- while what a move has left there may still be needed.
ALTER TABLE compute.allocations ADD COLUMN consumer_id uuid;
UPDATE compute.allocations SET consumer_id = server_id;
ALTER TABLE compute.allocations ALTER COLUMN consumer_id SET NOT NULL;
ALTER TABLE compute.allocations DROP CONSTRAINT allocations_pkey;
ALTER TABLE compute.allocations ADD PRIMARY KEY (consumer_id, host_id);
CREATE INDEX allocations_server ON compute.allocations (server_id);

-- What old documents name a flavor by.
ALTER TABLE compute.flavors ADD COLUMN number serial NOT NULL UNIQUE;

CREATE TABLE compute.migrations (
    id             serial PRIMARY KEY,
    uuid           uuid NOT NULL UNIQUE,
    server_id      uuid NOT NULL REFERENCES compute.servers (id) ON DELETE CASCADE,
    project_id     text NOT NULL,
    user_id        text NOT NULL,
    -- The operation that makes the move.
    operation_id   text NOT NULL,
    migration_type text NOT NULL CHECK (migration_type IN ('migration', 'resize', 'live-migration', 'evacuation')),
    status         text NOT NULL,
    -- The names stay when a host is forgotten.
    source_host_id uuid REFERENCES compute.hosts (id) ON DELETE SET NULL,
    source_host    text NOT NULL DEFAULT '',
    dest_host_id   uuid REFERENCES compute.hosts (id) ON DELETE SET NULL,
    dest_host      text NOT NULL DEFAULT '',
    dest_address   text NOT NULL DEFAULT '',
    -- The flavors as they were at the request.
    old_flavor     jsonb NOT NULL,
    new_flavor     jsonb NOT NULL,
    old_flavor_number integer,
    new_flavor_number integer,
    -- What the server counts for before and after, in CPUs, MiB and GiB.
    old_vcpus      integer NOT NULL,
    old_memory_mb  bigint NOT NULL,
    old_disk_gb    bigint NOT NULL,
    new_vcpus      integer NOT NULL,
    new_memory_mb  bigint NOT NULL,
    new_disk_gb    bigint NOT NULL,
    -- What the server was before the move, and is again after a revert.
    old_vm_state   text NOT NULL,
    -- The source has the guest that the server was before the move.
    leftover       boolean NOT NULL DEFAULT false,
    memory_total_bytes     bigint,
    memory_processed_bytes bigint,
    memory_remaining_bytes bigint,
    disk_total_bytes       bigint,
    disk_processed_bytes   bigint,
    disk_remaining_bytes   bigint,
    created_at     timestamptz NOT NULL DEFAULT now(),
    updated_at     timestamptz,
    deleted_at     timestamptz,
    -- Neither over nor given up.
    open           boolean NOT NULL GENERATED ALWAYS AS (status NOT IN
        ('confirmed', 'reverted', 'error', 'failed', 'cancelled', 'completed', 'done')) STORED
);
-- A server makes one move at a time.
CREATE UNIQUE INDEX migrations_open ON compute.migrations (server_id) WHERE open;
CREATE INDEX migrations_server ON compute.migrations (server_id);
CREATE INDEX migrations_operation ON compute.migrations (operation_id);
CREATE INDEX migrations_listed ON compute.migrations (created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX migrations_source ON compute.migrations (source_host_id) WHERE open;
CREATE INDEX migrations_dest ON compute.migrations (dest_host_id) WHERE open;

-- +goose Down
DROP TABLE compute.migrations;
ALTER TABLE compute.flavors DROP COLUMN number;
DROP INDEX compute.allocations_server;
DELETE FROM compute.allocations WHERE consumer_id <> server_id;
ALTER TABLE compute.allocations DROP CONSTRAINT allocations_pkey;
ALTER TABLE compute.allocations ADD PRIMARY KEY (server_id, host_id);
ALTER TABLE compute.allocations DROP COLUMN consumer_id;

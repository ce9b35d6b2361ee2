-- Where a guest lies on its host's NUMA cells, and which CPUs are its alone.

-- +goose Up
-- How the consumer's guest lies there (internal/numa.Placement); null for one that
-- floats on all that guests share.
ALTER TABLE compute.allocations ADD COLUMN numa jsonb;
CREATE INDEX allocations_numa ON compute.allocations (host_id) WHERE numa IS NOT NULL;
-- A CPU is pinned to once. The rows go and change owner with their allocation.
CREATE TABLE compute.pinned_cpus (
    host_id     uuid NOT NULL,
    cpu         integer NOT NULL,
    consumer_id uuid NOT NULL,
    PRIMARY KEY (host_id, cpu),
    FOREIGN KEY (consumer_id, host_id) REFERENCES compute.allocations (consumer_id, host_id) ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE INDEX pinned_cpus_consumer ON compute.pinned_cpus (consumer_id, host_id);

-- +goose Down
DROP TABLE compute.pinned_cpus;
DROP INDEX compute.allocations_numa;
ALTER TABLE compute.allocations DROP COLUMN numa;

-- What claims take of the resource classes that hosts have besides CPUs, memory and disk.

-- +goose Up
-- The rows go and change owner with their allocation.
CREATE TABLE compute.claimed_resources (
    host_id     uuid NOT NULL,
    consumer_id uuid NOT NULL,
    class       text NOT NULL,
    amount      bigint NOT NULL CHECK (amount > 0),
    PRIMARY KEY (host_id, class, consumer_id),
    FOREIGN KEY (consumer_id, host_id) REFERENCES compute.allocations (consumer_id, host_id) ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE INDEX claimed_resources_consumer ON compute.claimed_resources (consumer_id, host_id);

-- +goose Down
DROP TABLE compute.claimed_resources;

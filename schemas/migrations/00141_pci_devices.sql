-- Devices of hosts that guests have: each is one guest's.

-- +goose Up
-- The rows go and change owner with their allocation.
CREATE TABLE compute.passed_devices (
    host_id     uuid NOT NULL,
    address     text NOT NULL,
    consumer_id uuid NOT NULL,
    alias       text NOT NULL,
    PRIMARY KEY (host_id, address),
    FOREIGN KEY (consumer_id, host_id) REFERENCES compute.allocations (consumer_id, host_id) ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE INDEX passed_devices_consumer ON compute.passed_devices (consumer_id, host_id);

-- +goose Down
DROP TABLE compute.passed_devices;

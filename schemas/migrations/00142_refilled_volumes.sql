-- What a volume that a server boots from is filled with anew for.

-- +goose Up
-- The operation that has asked for it, and whether Cinder has done it.
ALTER TABLE compute.block_devices ADD COLUMN refill_operation text NOT NULL DEFAULT '', ADD COLUMN refilled boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE compute.block_devices DROP COLUMN refill_operation, DROP COLUMN refilled;

-- What clients call a server's block device.

-- +goose Up
ALTER TABLE compute.block_devices ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid();

-- +goose Down
ALTER TABLE compute.block_devices DROP COLUMN id;

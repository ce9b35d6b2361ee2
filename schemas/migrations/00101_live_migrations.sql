-- What is asked of a live migration that is under way. How far it has come is its
-- host's to say.

-- +goose Up
ALTER TABLE compute.migrations ADD COLUMN forced boolean NOT NULL DEFAULT false,
    DROP COLUMN memory_total_bytes, DROP COLUMN memory_processed_bytes, DROP COLUMN memory_remaining_bytes,
    DROP COLUMN disk_total_bytes, DROP COLUMN disk_processed_bytes, DROP COLUMN disk_remaining_bytes;

-- +goose Down
ALTER TABLE compute.migrations DROP COLUMN forced,
    ADD COLUMN memory_total_bytes bigint, ADD COLUMN memory_processed_bytes bigint, ADD COLUMN memory_remaining_bytes bigint,
    ADD COLUMN disk_total_bytes bigint, ADD COLUMN disk_processed_bytes bigint, ADD COLUMN disk_remaining_bytes bigint;

-- How the disk of a resized server is partitioned from then on.

-- +goose Up
ALTER TABLE compute.migrations ADD COLUMN new_disk_config text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE compute.migrations DROP COLUMN new_disk_config;

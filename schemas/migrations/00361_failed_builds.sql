-- How many builds a host has failed since its last guest was made.

-- +goose Up
ALTER TABLE compute.hosts ADD COLUMN failed_builds integer NOT NULL DEFAULT 0 CHECK (failed_builds >= 0);

-- +goose Down
ALTER TABLE compute.hosts DROP COLUMN failed_builds;

-- +goose Up
ALTER TABLE compute.services ADD COLUMN created_at timestamptz NOT NULL DEFAULT now();

-- +goose Down
ALTER TABLE compute.services DROP COLUMN created_at;

-- The resource that a nested stack is, as its template may ask for it.

-- +goose Up
-- JSON: metadata, update_policy and deletion_policy; '' is nothing to ask for.
ALTER TABLE orchestration.templates ADD COLUMN facade text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE orchestration.templates DROP COLUMN facade;

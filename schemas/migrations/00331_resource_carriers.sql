-- Resources whose types stand for others, or for templates.

-- +goose Up
ALTER TABLE orchestration.resources
    -- What carries it out; empty is its type.
    ADD COLUMN carried_by text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE orchestration.resources DROP COLUMN carried_by;

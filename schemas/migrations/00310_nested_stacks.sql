-- Stacks that are resources of others.

-- +goose Up
ALTER TABLE orchestration.stacks
    -- The resource of the parent that the stack is, and how many parents it has.
    ADD COLUMN parent_resource text NOT NULL DEFAULT '',
    ADD COLUMN depth           integer NOT NULL DEFAULT 0,
    -- How many resources its template has.
    ADD COLUMN size            integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE orchestration.stacks DROP COLUMN parent_resource, DROP COLUMN depth, DROP COLUMN size;

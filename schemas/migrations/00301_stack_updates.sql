-- Updates of stacks: resources that take the place of others.

-- +goose Up
ALTER TABLE orchestration.resources
    -- The row whose place this one takes, and the one that takes this one's.
    ADD COLUMN replaces    bigint,
    ADD COLUMN replaced_by bigint;

-- +goose Down
ALTER TABLE orchestration.resources DROP COLUMN replaces, DROP COLUMN replaced_by;

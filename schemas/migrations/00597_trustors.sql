-- Whose a stack's trust is: another user who changes the stack gives one of its own.

-- +goose Up
ALTER TABLE orchestration.trusts ADD COLUMN trustor_id text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE orchestration.trusts DROP COLUMN trustor_id;

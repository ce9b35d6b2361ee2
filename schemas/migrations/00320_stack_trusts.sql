-- Trusts that owners of stacks have given, by which their resources are made.

-- +goose Up
CREATE TABLE orchestration.trusts (
    id         text PRIMARY KEY,
    -- Written before the stack is.
    stack_id   uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX trusts_stack ON orchestration.trusts (stack_id, created_at DESC);

-- +goose Down
DROP TABLE orchestration.trusts;

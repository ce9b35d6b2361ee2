-- Traces: which span an operation was accepted in, so that its workflow goes on
-- in the same trace, whoever starts it and when.

-- +goose Up
ALTER TABLE engine.operations ADD COLUMN trace_parent text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE engine.operations DROP COLUMN trace_parent;

-- The ledger read from the other side: who accounts for a claim, a guest, a port.

-- +goose Up
CREATE INDEX operation_effects_ref ON engine.operation_effects (ref) WHERE state IN ('intended', 'done', 'owed');

-- +goose Down
DROP INDEX engine.operation_effects_ref;

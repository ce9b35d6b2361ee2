-- Operations that share a resource: volumes and interfaces that come and go
-- while nothing else is done to a server.

-- +goose Up
-- The generation that a shared operation has begun under, 0 before; null of one
-- that holds its resource, whose generation is the resource's own.
ALTER TABLE engine.operations ADD COLUMN generation bigint;
CREATE INDEX operations_open_resource ON engine.operations (resource_id) WHERE finished_at IS NULL;

-- +goose Down
DROP INDEX engine.operations_open_resource;
ALTER TABLE engine.operations DROP COLUMN generation;

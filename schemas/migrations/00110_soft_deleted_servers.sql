-- When a server was soft-deleted: it can be restored until it is reclaimed, and
-- does not count in its project's quota. Null for every other.

-- +goose Up
ALTER TABLE compute.servers ADD COLUMN soft_deleted_at timestamptz;
CREATE INDEX servers_soft_deleted ON compute.servers (soft_deleted_at) WHERE soft_deleted_at IS NOT NULL AND deleted_at IS NULL;

-- +goose Down
DROP INDEX compute.servers_soft_deleted;
ALTER TABLE compute.servers DROP COLUMN soft_deleted_at;

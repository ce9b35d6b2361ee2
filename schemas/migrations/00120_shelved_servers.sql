-- Since when a server is shelved, and the image that was made of it then, which
-- it starts from when it runs again; none for one that boots from a volume. Null
-- and empty for every other.

-- +goose Up
ALTER TABLE compute.servers ADD COLUMN shelved_at timestamptz, ADD COLUMN shelved_image_id text NOT NULL DEFAULT '';
CREATE INDEX servers_shelved ON compute.servers (shelved_at) WHERE shelved_at IS NOT NULL AND host_id IS NOT NULL AND deleted_at IS NULL;

-- +goose Down
DROP INDEX compute.servers_shelved;
ALTER TABLE compute.servers DROP COLUMN shelved_at, DROP COLUMN shelved_image_id;

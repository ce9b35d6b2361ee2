-- Volumes that Cinder migrates while servers use them.

-- +goose Up
-- The volume that is to take a device's place, and its attachment; once it has replaced
-- the device's, the attachment that is left, until Cinder has let go of that.
ALTER TABLE compute.block_devices ADD COLUMN swap_volume_id text NOT NULL DEFAULT '', ADD COLUMN swap_attachment_id text NOT NULL DEFAULT '',
    ADD COLUMN swap_replaced boolean NOT NULL DEFAULT false;
CREATE INDEX block_devices_swap ON compute.block_devices (swap_volume_id) WHERE swap_volume_id <> '';

-- +goose Down
ALTER TABLE compute.block_devices DROP COLUMN swap_volume_id, DROP COLUMN swap_attachment_id, DROP COLUMN swap_replaced;

-- A volume, and a port, is a server's once, whoever asks for it at the same moment.

-- +goose Up
-- Servers may share the volume.
ALTER TABLE compute.block_devices ADD COLUMN multiattach boolean NOT NULL DEFAULT false;
CREATE UNIQUE INDEX block_devices_one_volume ON compute.block_devices (server_id, volume_id) WHERE volume_id <> '';
CREATE UNIQUE INDEX server_ports_one_port ON compute.server_ports (server_id, port_id) WHERE port_id <> '';

-- +goose Down
DROP INDEX compute.server_ports_one_port;
DROP INDEX compute.block_devices_one_volume;
ALTER TABLE compute.block_devices DROP COLUMN multiattach;

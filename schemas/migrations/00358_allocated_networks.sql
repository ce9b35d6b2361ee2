-- Compute: the network of a port of ours may be one that is made when the port is.

-- +goose Up
ALTER TABLE compute.server_ports DROP CONSTRAINT server_ports_check;
ALTER TABLE compute.server_ports ADD CONSTRAINT server_ports_check CHECK (CASE WHEN ours THEN network_id <> '' OR NOT bound ELSE port_id <> '' END);

-- +goose Down
ALTER TABLE compute.server_ports DROP CONSTRAINT server_ports_check;
ALTER TABLE compute.server_ports ADD CONSTRAINT server_ports_check CHECK (CASE WHEN ours THEN network_id <> '' ELSE port_id <> '' END) NOT VALID;

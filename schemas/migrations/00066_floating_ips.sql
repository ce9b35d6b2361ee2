-- Floating addresses of servers' ports, as Neutron has told them.

-- +goose Up
ALTER TABLE compute.server_ports
    -- [{"fixed_ip_address": ..., "floating_ip_address": ...}]
    ADD COLUMN floating_ips jsonb NOT NULL DEFAULT '[]',
    -- When Neutron was asked: an older answer that comes later is dropped.
    ADD COLUMN addresses_at timestamptz NOT NULL DEFAULT '-infinity';

-- +goose Down
ALTER TABLE compute.server_ports DROP COLUMN addresses_at, DROP COLUMN floating_ips;

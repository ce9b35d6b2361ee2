-- Compute: what is plugged into servers. A row is written with the server, as
-- its request asked for it, and filled in by the operation that builds it.

-- +goose Up
CREATE TABLE compute.server_ports (
    server_id       uuid NOT NULL REFERENCES compute.servers (id) ON DELETE CASCADE,
    -- The order of the guest's network interfaces.
    position        integer NOT NULL CHECK (position >= 0),
    -- A port made by us goes with the server, a user's own is only let go of.
    ours            boolean NOT NULL,
    -- Asked for: of a port of ours its network, of a user's own its id.
    network_id      text NOT NULL DEFAULT '',
    port_id         text NOT NULL DEFAULT '',
    fixed_ip        text NOT NULL DEFAULT '',
    tag             text NOT NULL DEFAULT '',
    security_groups text[] NOT NULL DEFAULT '{}',
    -- The server has a user's own port, or is about to: no other may.
    reserved        boolean NOT NULL DEFAULT false,
    -- As Neutron has bound it, while bound.
    bound           boolean NOT NULL DEFAULT false,
    -- Neutron has said that it is plugged.
    active          boolean NOT NULL DEFAULT false,
    network_name    text NOT NULL DEFAULT '',
    mtu             integer NOT NULL DEFAULT 0,
    mac             text NOT NULL DEFAULT '',
    -- [{"subnet_id": ..., "ip_address": ...}]
    fixed_ips       jsonb NOT NULL DEFAULT '[]',
    vif_type        text NOT NULL DEFAULT '',
    vif_details     jsonb NOT NULL DEFAULT '{}',
    vnic_type       text NOT NULL DEFAULT 'normal',
    PRIMARY KEY (server_id, position),
    CHECK (CASE WHEN ours THEN network_id <> '' ELSE port_id <> '' END)
);
CREATE UNIQUE INDEX server_ports_port ON compute.server_ports (port_id) WHERE reserved;

CREATE TABLE compute.block_devices (
    server_id             uuid NOT NULL REFERENCES compute.servers (id) ON DELETE CASCADE,
    -- The order of the request.
    position              integer NOT NULL CHECK (position >= 0),
    -- image, snapshot, volume or blank; local or volume (Nova: block_device_mapping_v2).
    source_type           text NOT NULL,
    destination_type      text NOT NULL,
    -- The image or snapshot that a volume is made of.
    source_id             text NOT NULL DEFAULT '',
    -- The volume: asked for, or made by us.
    volume_id             text NOT NULL DEFAULT '',
    ours                  boolean NOT NULL DEFAULT false,
    volume_size_gb        integer NOT NULL DEFAULT 0,
    volume_type           text NOT NULL DEFAULT '',
    boot_index            integer,
    device_name           text NOT NULL DEFAULT '',
    device_type           text NOT NULL DEFAULT '',
    disk_bus              text NOT NULL DEFAULT '',
    guest_format          text NOT NULL DEFAULT '',
    tag                   text NOT NULL DEFAULT '',
    delete_on_termination boolean NOT NULL DEFAULT false,
    -- The Cinder attachment; empty while there is none.
    attachment_id         text NOT NULL DEFAULT '',
    PRIMARY KEY (server_id, position)
);
CREATE INDEX block_devices_volume ON compute.block_devices (volume_id) WHERE volume_id <> '';

-- +goose Down
DROP TABLE compute.block_devices;
DROP TABLE compute.server_ports;

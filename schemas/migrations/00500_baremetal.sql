-- Bare metal: machines, and what is known of their parts.

-- +goose Up
CREATE SCHEMA baremetal;

CREATE TABLE baremetal.chassis (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid        uuid NOT NULL CONSTRAINT chassis_uuid_key UNIQUE,
    description text,
    extra       jsonb NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz
);

CREATE TABLE baremetal.nodes (
    id                     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid                   uuid NOT NULL CONSTRAINT nodes_uuid_key UNIQUE,
    name                   text CONSTRAINT nodes_name_key UNIQUE,
    instance_uuid          uuid CONSTRAINT nodes_instance_uuid_key UNIQUE,
    instance_name          text,
    chassis_uuid           uuid CONSTRAINT nodes_chassis_fkey REFERENCES baremetal.chassis (uuid),
    parent_node            uuid CONSTRAINT nodes_parent_fkey REFERENCES baremetal.nodes (uuid),
    owner                  text,
    lessee                 text,
    description            text,
    resource_class         text,
    shard                  text,
    conductor_group        text NOT NULL DEFAULT '',
    allocation_uuid        uuid,

    driver                 text NOT NULL,
    bios_interface         text,
    boot_interface         text,
    console_interface      text,
    deploy_interface       text,
    firmware_interface     text,
    inspect_interface      text,
    management_interface   text,
    network_interface      text,
    power_interface        text,
    raid_interface         text,
    rescue_interface       text,
    storage_interface      text,
    vendor_interface       text,

    -- What is secret in driver_info and instance_info is masked there, and sealed
    -- in secrets.
    driver_info            jsonb NOT NULL DEFAULT '{}',
    instance_info          jsonb NOT NULL DEFAULT '{}',
    secrets                bytea,
    driver_internal_info   jsonb NOT NULL DEFAULT '{}',
    properties             jsonb NOT NULL DEFAULT '{}',
    extra                  jsonb NOT NULL DEFAULT '{}',
    network_data           jsonb NOT NULL DEFAULT '{}',
    raid_config            jsonb NOT NULL DEFAULT '{}',
    target_raid_config     jsonb NOT NULL DEFAULT '{}',

    provision_state        text NOT NULL,
    target_provision_state text,
    provision_updated_at   timestamptz,
    power_state            text,
    target_power_state     text,
    clean_step             jsonb NOT NULL DEFAULT '{}',
    deploy_step            jsonb NOT NULL DEFAULT '{}',
    service_step           jsonb NOT NULL DEFAULT '{}',
    last_error             text,
    fault                  text,
    health                 text,
    boot_mode              text,
    secure_boot            boolean,
    inspection_started_at  timestamptz,
    inspection_finished_at timestamptz,

    automated_clean        boolean,
    console_enabled        boolean NOT NULL DEFAULT false,
    disable_power_off      boolean NOT NULL DEFAULT false,
    maintenance            boolean NOT NULL DEFAULT false,
    maintenance_reason     text,
    protected              boolean NOT NULL DEFAULT false,
    protected_reason       text,
    retired                boolean NOT NULL DEFAULT false,
    retired_reason         text,

    created_at             timestamptz NOT NULL DEFAULT now(),
    updated_at             timestamptz,

    -- The lock: who works on the node, who is next, and the fence of both.
    reservation            text,
    operation_id           text REFERENCES engine.operations (id),
    next_operation_id      text REFERENCES engine.operations (id),
    generation             bigint NOT NULL DEFAULT 0
);
CREATE INDEX nodes_chassis ON baremetal.nodes (chassis_uuid);
CREATE INDEX nodes_parent ON baremetal.nodes (parent_node);
CREATE INDEX nodes_owner ON baremetal.nodes (owner);
CREATE INDEX nodes_lessee ON baremetal.nodes (lessee);

CREATE TABLE baremetal.node_traits (
    node_uuid uuid NOT NULL REFERENCES baremetal.nodes (uuid) ON DELETE CASCADE,
    trait     text NOT NULL,
    PRIMARY KEY (node_uuid, trait)
);

CREATE TABLE baremetal.ports (
    id                    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid                  uuid NOT NULL CONSTRAINT ports_uuid_key UNIQUE,
    node_uuid             uuid NOT NULL CONSTRAINT ports_node_fkey REFERENCES baremetal.nodes (uuid) ON DELETE CASCADE,
    portgroup_uuid        uuid,
    address               text NOT NULL CONSTRAINT ports_address_key UNIQUE,
    name                  text CONSTRAINT ports_name_key UNIQUE,
    description           text,
    physical_network      text,
    vendor                text,
    category              text,
    local_link_connection jsonb NOT NULL DEFAULT '{}',
    extra                 jsonb NOT NULL DEFAULT '{}',
    internal_info         jsonb NOT NULL DEFAULT '{}',
    is_smartnic           boolean NOT NULL DEFAULT false,
    pxe_enabled           boolean NOT NULL DEFAULT true,
    available_for_dynamic_portgroup boolean NOT NULL DEFAULT true,
    created_at            timestamptz NOT NULL DEFAULT now(),
    updated_at            timestamptz
);
CREATE INDEX ports_node ON baremetal.ports (node_uuid);

-- +goose Down
DROP SCHEMA baremetal CASCADE;

-- What is known of nodes beside their rows: what happened to them, what was found
-- on them, and what their firmware is set to.

-- +goose Up
CREATE TABLE baremetal.node_history (
    id                     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid                   uuid NOT NULL DEFAULT gen_random_uuid() CONSTRAINT node_history_uuid_key UNIQUE,
    node_uuid              uuid NOT NULL REFERENCES baremetal.nodes (uuid) ON DELETE CASCADE,
    severity               text NOT NULL,
    event_type             text,
    event                  text NOT NULL,
    conductor              text,
    "user"                 text,
    project                text,
    state                  text,
    target_provision_state text,
    duration_seconds       bigint,
    created_at             timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX node_history_node ON baremetal.node_history (node_uuid, id);

CREATE TABLE baremetal.node_inventories (
    node_uuid   uuid PRIMARY KEY REFERENCES baremetal.nodes (uuid) ON DELETE CASCADE,
    inventory   jsonb NOT NULL,
    plugin_data jsonb NOT NULL,
    found_at    timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE baremetal.bios_settings (
    node_uuid        uuid NOT NULL REFERENCES baremetal.nodes (uuid) ON DELETE CASCADE,
    name             text NOT NULL,
    value            text,
    attribute_type   text,
    allowable_values text[],
    lower_bound      bigint,
    max_length       bigint,
    min_length       bigint,
    read_only        boolean,
    reset_required   boolean,
    "unique"         boolean,
    upper_bound      bigint,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz,
    PRIMARY KEY (node_uuid, name)
);

CREATE TABLE baremetal.firmware_components (
    node_uuid            uuid NOT NULL REFERENCES baremetal.nodes (uuid) ON DELETE CASCADE,
    component            text NOT NULL,
    initial_version      text NOT NULL,
    current_version      text,
    last_version_flashed text,
    vendor               text,
    model                text,
    serial_number        text,
    created_at           timestamptz NOT NULL DEFAULT now(),
    updated_at           timestamptz,
    PRIMARY KEY (node_uuid, component)
);

-- +goose Down
DROP TABLE baremetal.firmware_components;
DROP TABLE baremetal.bios_settings;
DROP TABLE baremetal.node_inventories;
DROP TABLE baremetal.node_history;

-- Port groups: ports of a node that work as one.

-- +goose Up
CREATE TABLE baremetal.portgroups (
    id                         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid                       uuid NOT NULL CONSTRAINT portgroups_uuid_key UNIQUE,
    node_uuid                  uuid NOT NULL CONSTRAINT portgroups_node_fkey REFERENCES baremetal.nodes (uuid) ON DELETE CASCADE,
    address                    text CONSTRAINT portgroups_address_key UNIQUE,
    name                       text CONSTRAINT portgroups_name_key UNIQUE,
    mode                       text,
    physical_network           text,
    category                   text,
    properties                 jsonb NOT NULL DEFAULT '{}',
    extra                      jsonb NOT NULL DEFAULT '{}',
    internal_info              jsonb NOT NULL DEFAULT '{}',
    standalone_ports_supported boolean NOT NULL DEFAULT true,
    dynamic_portgroup          boolean NOT NULL DEFAULT false,
    created_at                 timestamptz NOT NULL DEFAULT now(),
    updated_at                 timestamptz
);
CREATE INDEX portgroups_node ON baremetal.portgroups (node_uuid);
ALTER TABLE baremetal.ports ADD CONSTRAINT ports_portgroup_fkey FOREIGN KEY (portgroup_uuid) REFERENCES baremetal.portgroups (uuid);
CREATE INDEX ports_portgroup ON baremetal.ports (portgroup_uuid);

-- +goose Down
DROP INDEX baremetal.ports_portgroup;
ALTER TABLE baremetal.ports DROP CONSTRAINT ports_portgroup_fkey;
DROP TABLE baremetal.portgroups;

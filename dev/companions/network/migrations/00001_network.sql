-- +goose Up
CREATE SCHEMA network;

-- Every resource, as its API shows it.
CREATE TABLE network.resources (
    id         uuid PRIMARY KEY,
    kind       text NOT NULL,
    project_id text NOT NULL,
    number     bigint GENERATED ALWAYS AS IDENTITY,
    body       jsonb NOT NULL
);
CREATE INDEX resources_by_project ON network.resources (kind, project_id);
CREATE INDEX resources_by_network ON network.resources ((body->>'network_id')) WHERE kind IN ('port', 'subnet');
CREATE INDEX resources_by_device ON network.resources ((body->>'device_id')) WHERE kind = 'port';
CREATE INDEX resources_by_group ON network.resources ((body->>'security_group_id')) WHERE kind = 'security_group_rule';
-- The group named default is made on first use, once a project.
CREATE UNIQUE INDEX one_default_group ON network.resources (project_id) WHERE kind = 'security_group' AND body->>'name' = 'default';
-- A fixed address has at most one floating address.
CREATE UNIQUE INDEX one_floating_address ON network.resources ((body->>'port_id'), (body->>'fixed_ip_address'))
    WHERE kind = 'floatingip' AND body->>'port_id' IS NOT NULL;

-- Which port holds an address. The key is what gives no address twice.
CREATE TABLE network.addresses (
    subnet_id uuid NOT NULL REFERENCES network.resources (id),
    address   inet NOT NULL,
    port_id   uuid NOT NULL REFERENCES network.resources (id) ON DELETE CASCADE,
    PRIMARY KEY (subnet_id, address)
);
CREATE INDEX addresses_by_port ON network.addresses (port_id);

CREATE TABLE network.macs (
    network_id uuid NOT NULL REFERENCES network.resources (id),
    mac        macaddr NOT NULL,
    port_id    uuid NOT NULL UNIQUE REFERENCES network.resources (id) ON DELETE CASCADE,
    CONSTRAINT macs_once PRIMARY KEY (network_id, mac)
);

-- Bindings of a port to further hosts, not active; the active one is in the port.
CREATE TABLE network.bindings (
    port_id uuid NOT NULL REFERENCES network.resources (id) ON DELETE CASCADE,
    host    text NOT NULL,
    body    jsonb NOT NULL,
    CONSTRAINT bindings_once PRIMARY KEY (port_id, host)
);

CREATE TABLE network.quotas (
    project_id text NOT NULL,
    resource   text NOT NULL,
    max        bigint NOT NULL,
    PRIMARY KEY (project_id, resource)
);

-- Events that the compute service hasn't taken yet.
CREATE TABLE network.events (
    number  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event   jsonb NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now()
);

-- +goose Down
DROP SCHEMA network CASCADE;

-- Conductors: who works on nodes, and how they keep out of each other's way.

-- +goose Up
CREATE TABLE baremetal.conductors (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hostname        text NOT NULL CONSTRAINT conductors_hostname_key UNIQUE,
    conductor_group text NOT NULL DEFAULT '',
    drivers         text[] NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    -- The last sign of life.
    updated_at      timestamptz NOT NULL DEFAULT now()
);

-- Who may talk to a node's BMC now, and until when.
CREATE TABLE baremetal.leases (
    node_uuid uuid PRIMARY KEY REFERENCES baremetal.nodes (uuid) ON DELETE CASCADE,
    holder    text NOT NULL,
    until     timestamptz NOT NULL
);

-- What an operation has sent to a node's BMC, written before it was sent: it is
-- not sent again unless it is certain that it was not obeyed.
CREATE TABLE baremetal.acts (
    operation_id text NOT NULL REFERENCES engine.operations (id) ON DELETE CASCADE,
    name         text NOT NULL,
    sent_at      timestamptz NOT NULL DEFAULT now(),
    answered     boolean NOT NULL DEFAULT false,
    PRIMARY KEY (operation_id, name)
);

-- +goose Down
DROP TABLE baremetal.acts;
DROP TABLE baremetal.leases;
DROP TABLE baremetal.conductors;

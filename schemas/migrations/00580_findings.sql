-- What an inspection has found on a node and has not been kept yet: it becomes the
-- node's, its ports' and its inventory with the end of the operation, or goes.

-- +goose Up
CREATE TABLE baremetal.findings (
    node_uuid    uuid PRIMARY KEY REFERENCES baremetal.nodes (uuid) ON DELETE CASCADE,
    operation_id text NOT NULL,
    -- What the node's BMC says of its properties; null if its ramdisk has found it.
    properties   jsonb,
    inventory    jsonb NOT NULL,
    plugin_data  jsonb NOT NULL
);

-- +goose Down
DROP TABLE baremetal.findings;

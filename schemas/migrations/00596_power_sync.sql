-- How often in a row nodes' power could not be brought into step with their rows.

-- +goose Up
CREATE TABLE baremetal.power_sync (
    node_uuid uuid PRIMARY KEY REFERENCES baremetal.nodes (uuid) ON DELETE CASCADE,
    failures  int NOT NULL,
    -- The round that has counted last: each counts once.
    round     text NOT NULL
);

-- +goose Down
DROP TABLE baremetal.power_sync;

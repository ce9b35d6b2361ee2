-- Compute: what a server's guest is told at boot.

-- +goose Up
CREATE TABLE compute.boot_data (
    server_id      uuid PRIMARY KEY REFERENCES compute.servers (id) ON DELETE CASCADE,
    -- Sealed (internal/secrets); null if there is none.
    user_data      bytea,
    admin_password bytea,
    -- The keypair as it was at boot: deleting it later changes no server.
    key_name       text NOT NULL DEFAULT '',
    key_type       text NOT NULL DEFAULT '',
    key_data       text NOT NULL DEFAULT '',
    random_seed    bytea NOT NULL,
    -- What the guest posted, encrypted by it for its user.
    password       text NOT NULL DEFAULT ''
);

-- +goose Down
DROP TABLE compute.boot_data;

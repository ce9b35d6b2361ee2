-- Compute: what a server's guest is told once it has been rebuilt.

-- +goose Up
-- Sealed as in boot_data, which it becomes with the rebuild; random seed and the
-- guest's password are not of it.
CREATE TABLE compute.next_boot_data (
    server_id      uuid PRIMARY KEY REFERENCES compute.servers (id) ON DELETE CASCADE,
    user_data      bytea,
    admin_password bytea,
    files          bytea,
    key_name       text NOT NULL DEFAULT '',
    key_type       text NOT NULL DEFAULT '',
    key_data       text NOT NULL DEFAULT ''
);

-- +goose Down
DROP TABLE compute.next_boot_data;

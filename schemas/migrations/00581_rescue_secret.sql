-- What the ramdisk that rescues a node is to have as its password: hashed and sealed,
-- and for no longer than until it has it.

-- +goose Up
ALTER TABLE baremetal.nodes ADD COLUMN rescue_secret bytea;

-- +goose Down
ALTER TABLE baremetal.nodes DROP COLUMN rescue_secret;

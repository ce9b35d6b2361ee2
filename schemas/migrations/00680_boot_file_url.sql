-- A conductor leads a machine that asks it on to the one that has its files.

-- +goose Up
ALTER TABLE baremetal.boot_files ADD COLUMN url text NOT NULL DEFAULT '';
ALTER TABLE baremetal.boot_files ALTER COLUMN url DROP DEFAULT;

-- +goose Down
ALTER TABLE baremetal.boot_files DROP COLUMN url;

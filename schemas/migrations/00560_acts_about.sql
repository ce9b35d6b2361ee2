-- What an act was about: which ramdisk was told it, and where in its list.

-- +goose Up
ALTER TABLE baremetal.acts ADD COLUMN about text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE baremetal.acts DROP COLUMN about;

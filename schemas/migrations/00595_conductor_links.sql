-- Where conductors answer the API's questions about nodes.

-- +goose Up
ALTER TABLE baremetal.conductors ADD COLUMN link_address text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE baremetal.conductors DROP COLUMN link_address;

-- The silence after which a conductor counts as down, as it says itself.

-- +goose Up
ALTER TABLE baremetal.conductors ADD COLUMN down_after interval NOT NULL DEFAULT '60 seconds';

-- +goose Down
ALTER TABLE baremetal.conductors DROP COLUMN down_after;

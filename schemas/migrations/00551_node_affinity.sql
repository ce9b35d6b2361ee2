-- Which conductor has worked on a node last: a node that waits for its ramdisk
-- shows nobody at work, and somebody is when it has reported.

-- +goose Up
ALTER TABLE baremetal.nodes ADD COLUMN conductor_affinity text;

-- +goose Down
ALTER TABLE baremetal.nodes DROP COLUMN conductor_affinity;

-- An inspection expects what a ramdisk will find, which is known by the hardware
-- addresses that the node's BMC has told: they have no ports yet.

-- +goose Up
ALTER TABLE baremetal.findings
    ALTER COLUMN inventory DROP NOT NULL,
    ALTER COLUMN plugin_data DROP NOT NULL,
    ADD COLUMN addresses text[] NOT NULL DEFAULT '{}';
CREATE INDEX findings_addresses ON baremetal.findings USING gin (addresses);

-- +goose Down
DELETE FROM baremetal.findings WHERE inventory IS NULL;
DROP INDEX baremetal.findings_addresses;
ALTER TABLE baremetal.findings DROP COLUMN addresses, ALTER COLUMN inventory SET NOT NULL, ALTER COLUMN plugin_data SET NOT NULL;

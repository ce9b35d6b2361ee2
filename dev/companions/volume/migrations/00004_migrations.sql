-- +goose Up
-- How far a volume's migration has come; one that is being filled in another's place
-- says of which it is the target. The file of one that was migrated has a second name.
ALTER TABLE volume.volumes ADD migration_status text, ADD name_id uuid;

-- +goose Down
ALTER TABLE volume.volumes DROP migration_status, DROP name_id;

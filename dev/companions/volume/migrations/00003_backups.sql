-- +goose Up
CREATE TABLE volume.backups (
    id          uuid PRIMARY KEY,
    number      bigint GENERATED ALWAYS AS IDENTITY,
    volume_id   uuid NOT NULL, -- which may be gone
    snapshot_id uuid,
    project_id  text NOT NULL,
    user_id     text NOT NULL,
    name        text,
    description text,
    container   text,
    size        integer NOT NULL, -- GiB
    status      text NOT NULL,
    restore_to  uuid, -- the volume that it is written to
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX backups_by_project ON volume.backups (project_id);

CREATE TABLE volume.qos_specs (
    id       uuid PRIMARY KEY,
    name     text NOT NULL UNIQUE,
    consumer text NOT NULL CHECK (consumer IN ('front-end', 'back-end', 'both')),
    specs    jsonb NOT NULL
);
ALTER TABLE volume.types ADD qos_specs_id uuid REFERENCES volume.qos_specs (id);

-- +goose Down
ALTER TABLE volume.types DROP qos_specs_id;
DROP TABLE volume.qos_specs;
DROP TABLE volume.backups;

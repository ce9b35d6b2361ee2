-- +goose Up
CREATE SCHEMA volume;

CREATE TABLE volume.types (
    id          uuid PRIMARY KEY,
    name        text NOT NULL UNIQUE,
    description text,
    is_public   boolean NOT NULL DEFAULT true,
    extra_specs jsonb NOT NULL DEFAULT '{}'
);
INSERT INTO volume.types (id, name, description) VALUES (gen_random_uuid(), '__DEFAULT__', 'Default Volume Type');

CREATE TABLE volume.volumes (
    id              uuid PRIMARY KEY,
    number          bigint GENERATED ALWAYS AS IDENTITY,
    project_id      text NOT NULL,
    user_id         text NOT NULL,
    name            text,
    description     text,
    size            integer NOT NULL, -- GiB
    status          text NOT NULL,
    bootable        boolean NOT NULL DEFAULT false,
    multiattach     boolean NOT NULL DEFAULT false,
    readonly        boolean NOT NULL DEFAULT false,
    type_id         uuid NOT NULL REFERENCES volume.types (id),
    zone            text NOT NULL,
    image_id        text,
    snapshot_id     uuid,
    source_volid    uuid,
    metadata        jsonb NOT NULL DEFAULT '{}',
    image_metadata  jsonb NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX volumes_by_project ON volume.volumes (project_id);
CREATE INDEX volumes_at_work ON volume.volumes (number) WHERE status IN ('creating', 'downloading', 'extending', 'deleting');

CREATE TABLE volume.snapshots (
    id          uuid PRIMARY KEY,
    number      bigint GENERATED ALWAYS AS IDENTITY,
    volume_id   uuid NOT NULL REFERENCES volume.volumes (id),
    project_id  text NOT NULL,
    user_id     text NOT NULL,
    name        text,
    description text,
    size        integer NOT NULL,
    status      text NOT NULL,
    metadata    jsonb NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX snapshots_by_volume ON volume.snapshots (volume_id);

CREATE TABLE volume.attachments (
    id              uuid PRIMARY KEY,
    number          bigint GENERATED ALWAYS AS IDENTITY,
    volume_id       uuid NOT NULL REFERENCES volume.volumes (id) ON DELETE CASCADE,
    project_id      text NOT NULL,
    instance        text,
    status          text NOT NULL,
    mode            text,
    mountpoint      text,
    host            text,
    connector       jsonb,
    connection_info jsonb NOT NULL DEFAULT '{}',
    attached_at     timestamptz
);
CREATE INDEX attachments_by_volume ON volume.attachments (volume_id);
CREATE INDEX attachments_by_instance ON volume.attachments (instance);

CREATE TABLE volume.quotas (
    project_id text NOT NULL,
    resource   text NOT NULL,
    max        bigint NOT NULL,
    PRIMARY KEY (project_id, resource)
);

-- +goose Down
DROP SCHEMA volume CASCADE;

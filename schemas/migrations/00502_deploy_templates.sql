-- Deploy templates: steps that a deployment takes besides its own.

-- +goose Up
CREATE TABLE baremetal.deploy_templates (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid       uuid NOT NULL CONSTRAINT deploy_templates_uuid_key UNIQUE,
    name       text NOT NULL CONSTRAINT deploy_templates_name_key UNIQUE,
    steps      jsonb NOT NULL,
    extra      jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz
);

-- +goose Down
DROP TABLE baremetal.deploy_templates;

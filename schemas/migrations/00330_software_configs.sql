-- Configurations that servers are set up by.

-- +goose Up
CREATE TABLE orchestration.software_configs (
    id         uuid PRIMARY KEY,
    project_id text NOT NULL,
    name       text,
    grp        text,
    -- Sealed: the configuration, its inputs, outputs and options.
    content    bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX software_configs_list ON orchestration.software_configs (project_id, created_at DESC, id DESC);

-- +goose Down
DROP TABLE orchestration.software_configs;

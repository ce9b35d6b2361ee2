-- Orchestration: stacks, the templates they were asked to be, their resources
-- and events.

-- +goose Up
CREATE SCHEMA orchestration;

CREATE TABLE orchestration.stacks (
    id              uuid PRIMARY KEY,
    name            text NOT NULL,
    project_id      text NOT NULL,
    user_id         text NOT NULL,
    username        text NOT NULL DEFAULT '',
    -- The stack that it is nested in.
    parent_id       uuid REFERENCES orchestration.stacks (id),
    description     text NOT NULL DEFAULT '',
    action          text NOT NULL,
    status          text NOT NULL CHECK (status IN ('IN_PROGRESS', 'COMPLETE', 'FAILED')),
    reason          text NOT NULL DEFAULT '',
    -- The template that was asked for last.
    template_id     bigint NOT NULL,
    disable_rollback boolean NOT NULL DEFAULT true,
    timeout_mins    integer CHECK (timeout_mins > 0),
    tags            text[] NOT NULL DEFAULT '{}',
    stack_user_project_id text,
    -- The lock: who holds it, who is next, how often it changed hands.
    operation_id      text REFERENCES engine.operations (id),
    next_operation_id text REFERENCES engine.operations (id),
    generation        bigint NOT NULL DEFAULT 0,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz,
    deleted_at      timestamptz
);
CREATE UNIQUE INDEX stacks_name ON orchestration.stacks (project_id, name) WHERE deleted_at IS NULL AND parent_id IS NULL;
CREATE INDEX stacks_list ON orchestration.stacks (project_id, created_at DESC, id DESC);
CREATE INDEX stacks_parent ON orchestration.stacks (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX stacks_held ON orchestration.stacks (operation_id) WHERE operation_id IS NOT NULL;

-- What a stack was asked to be. Never changed.
CREATE TABLE orchestration.templates (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    stack_id    uuid NOT NULL REFERENCES orchestration.stacks (id) ON DELETE CASCADE,
    -- JSON with its keys in their order.
    template    text NOT NULL,
    -- Sealed, since parameters may be secrets.
    environment bytea NOT NULL,
    files       text NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX templates_stack ON orchestration.templates (stack_id);

CREATE TABLE orchestration.resources (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    stack_id    uuid NOT NULL REFERENCES orchestration.stacks (id) ON DELETE CASCADE,
    name        text NOT NULL,
    type        text NOT NULL,
    action      text NOT NULL DEFAULT 'INIT',
    status      text NOT NULL DEFAULT 'COMPLETE' CHECK (status IN ('IN_PROGRESS', 'COMPLETE', 'FAILED')),
    reason      text NOT NULL DEFAULT '',
    -- What it is outside; empty before it is there.
    physical_id text NOT NULL DEFAULT '',
    -- Sealed: properties as they were resolved, what its type keeps, attributes.
    state       bytea,
    metadata    text NOT NULL DEFAULT '{}',
    deletion_policy text NOT NULL DEFAULT 'Delete',
    -- The template by which it was made or changed last.
    template_id bigint NOT NULL,
    -- The rows that it needs.
    requires    bigint[] NOT NULL DEFAULT '{}',
    -- The traversal that has done its part in it, and until when it waits.
    done_in     text NOT NULL DEFAULT '',
    wake_at     timestamptz,
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz
);
CREATE INDEX resources_stack ON orchestration.resources (stack_id, name);
CREATE INDEX resources_physical ON orchestration.resources (physical_id) WHERE physical_id <> '';

-- Every change of state of a stack and its resources, as users see them.
CREATE TABLE orchestration.events (
    id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    seq           bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    stack_id      uuid NOT NULL REFERENCES orchestration.stacks (id) ON DELETE CASCADE,
    resource_name text NOT NULL,
    resource_type text NOT NULL,
    physical_id   text NOT NULL DEFAULT '',
    action        text NOT NULL,
    status        text NOT NULL,
    reason        text NOT NULL DEFAULT '',
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX events_stack ON orchestration.events (stack_id, seq);

-- +goose Down
DROP SCHEMA orchestration CASCADE;

-- Snapshots of stacks: what they were, and the copies there are of their resources.

-- +goose Up
CREATE TABLE orchestration.snapshots (
    id          uuid PRIMARY KEY,
    stack_id    uuid NOT NULL REFERENCES orchestration.stacks (id) ON DELETE CASCADE,
    name        text,
    action      text NOT NULL DEFAULT 'CREATE' CHECK (action IN ('CREATE', 'DELETE')),
    status      text NOT NULL DEFAULT 'IN_PROGRESS' CHECK (status IN ('IN_PROGRESS', 'COMPLETE', 'FAILED')),
    reason      text,
    -- What the stack was asked to be, and its tags.
    template_id bigint NOT NULL,
    tags        text[] NOT NULL DEFAULT '{}',
    -- The lock of its deletion: who holds it, who is next, how often it changed hands.
    operation_id      text REFERENCES engine.operations (id),
    next_operation_id text REFERENCES engine.operations (id),
    generation        bigint NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL DEFAULT now(),
    -- Gone; forgotten with the next operation on the stack.
    deleted_at  timestamptz
);
CREATE INDEX snapshots_stack ON orchestration.snapshots (stack_id, created_at, id);
CREATE INDEX snapshots_held ON orchestration.snapshots (operation_id) WHERE operation_id IS NOT NULL;

-- What a snapshot has of a resource. Written before anything is copied.
CREATE TABLE orchestration.resource_snapshots (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    snapshot_id uuid NOT NULL REFERENCES orchestration.snapshots (id) ON DELETE CASCADE,
    name        text NOT NULL,
    type        text NOT NULL,
    carried_by  text NOT NULL DEFAULT '',
    -- What names the resource among all there are.
    mark        text NOT NULL,
    action      text NOT NULL,
    status      text NOT NULL,
    physical_id text NOT NULL DEFAULT '',
    metadata    text NOT NULL DEFAULT '{}',
    -- Sealed: what its type kept of the resource, and of the copy.
    state       bytea NOT NULL,
    UNIQUE (snapshot_id, name)
);

-- +goose Down
DROP TABLE orchestration.resource_snapshots;
DROP TABLE orchestration.snapshots;

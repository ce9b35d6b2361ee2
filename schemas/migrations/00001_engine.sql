-- The engine: operations, their events, ledger and inbox.

-- +goose Up
CREATE SCHEMA engine;

-- Outbox, audit log and lock in one: a row is written in the transaction that
-- moves its resource into a transient state. The id is the workflow's id too.
CREATE TABLE engine.operations (
    id                  text PRIMARY KEY CHECK (length(id) <= 255),
    kind                text NOT NULL,
    resource_type       text NOT NULL,
    resource_id         uuid NOT NULL,
    project_id          text NOT NULL DEFAULT '',
    user_id             text NOT NULL DEFAULT '',
    request_id          text NOT NULL DEFAULT '',
    -- What the request asked for; never a secret.
    input               jsonb NOT NULL DEFAULT '{}',
    step                text NOT NULL DEFAULT '',
    -- The latest attempt: a build that left a host counts one up.
    attempt             integer NOT NULL DEFAULT 1,
    host                text NOT NULL DEFAULT '',
    -- The workflow run that began it; every write of the workflow names it.
    run_id              text NOT NULL DEFAULT '',
    created_at          timestamptz NOT NULL DEFAULT now(),
    deadline            timestamptz NOT NULL,
    -- From when on the dispatcher may start it; null while it waits for another
    -- operation to let go of the resource.
    start_after         timestamptz,
    dispatched_at       timestamptz,
    finished_at         timestamptz,
    result              text CHECK (result IN ('done', 'failed', 'cancelled', 'superseded')),
    error_code          text NOT NULL DEFAULT '',
    message             text NOT NULL DEFAULT '',
    parent_operation_id text REFERENCES engine.operations (id),
    retry_of            text REFERENCES engine.operations (id),
    cancel_requested_at timestamptz,
    cancel_requested_by text NOT NULL DEFAULT '',
    -- When the cancel was last delivered to the workflow.
    cancel_sent_at      timestamptz,
    -- Why its workflow, which is there, does not go on: "paused" by hand, or
    -- "failing" its workflow tasks.
    hold                text NOT NULL DEFAULT '',
    -- When the sweeper last saw its workflow.
    checked_at          timestamptz NOT NULL DEFAULT now(),
    CHECK ((finished_at IS NULL) = (result IS NULL))
);
CREATE INDEX operations_open ON engine.operations (created_at) WHERE finished_at IS NULL;
CREATE INDEX operations_startable ON engine.operations (start_after) WHERE finished_at IS NULL AND dispatched_at IS NULL;
CREATE INDEX operations_cancelled ON engine.operations (cancel_sent_at NULLS FIRST) WHERE finished_at IS NULL AND cancel_requested_at IS NOT NULL;
CREATE INDEX operations_open_checked ON engine.operations (checked_at) WHERE finished_at IS NULL;
CREATE INDEX operations_resource ON engine.operations (resource_id, created_at DESC, id DESC);
CREATE INDEX operations_created ON engine.operations (created_at DESC, id DESC);
CREATE INDEX operations_retry_of ON engine.operations (retry_of) WHERE retry_of IS NOT NULL;
CREATE INDEX operations_parent ON engine.operations (parent_operation_id) WHERE parent_operation_id IS NOT NULL;

-- The steps of an operation, as the instance actions' events show them.
CREATE TABLE engine.operation_events (
    operation_id text NOT NULL REFERENCES engine.operations (id) ON DELETE CASCADE,
    seq          integer NOT NULL,
    step         text NOT NULL,
    attempt      integer NOT NULL DEFAULT 1,
    host         text NOT NULL DEFAULT '',
    started_at   timestamptz NOT NULL DEFAULT now(),
    finished_at  timestamptz,
    result       text NOT NULL DEFAULT '',
    message      text NOT NULL DEFAULT '',
    PRIMARY KEY (operation_id, seq)
);

-- The ledger: written before each outside effect.
CREATE TABLE engine.operation_effects (
    operation_id text NOT NULL REFERENCES engine.operations (id) ON DELETE CASCADE,
    seq          integer NOT NULL,
    kind         text NOT NULL,
    ref          text NOT NULL,
    host         text NOT NULL DEFAULT '',
    attempt      integer NOT NULL DEFAULT 1,
    -- The generation under which it was made: the host's fence for its undo.
    generation   bigint NOT NULL,
    state        text NOT NULL CHECK (state IN ('intended', 'done', 'undone', 'owed', 'passed')),
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (operation_id, seq),
    -- What is intended twice is one effect.
    UNIQUE (operation_id, kind, ref, host, attempt)
);
CREATE INDEX operation_effects_owed ON engine.operation_effects (host) WHERE state = 'owed';
CREATE INDEX operation_effects_open ON engine.operation_effects (operation_id) WHERE state IN ('intended', 'done');

-- What agents, guests, Neutron or users sent. The Temporal signal is only a knock.
CREATE TABLE engine.operation_inbox (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    resource_type text NOT NULL,
    resource_id   uuid NOT NULL,
    event         text NOT NULL,
    -- The sender's own key: the same event sent twice is one row.
    sender_key    text NOT NULL,
    payload       jsonb NOT NULL DEFAULT '{}',
    received_at   timestamptz NOT NULL DEFAULT now(),
    taken_by      text,
    UNIQUE (resource_type, resource_id, event, sender_key)
);

-- +goose Down
DROP SCHEMA engine CASCADE;

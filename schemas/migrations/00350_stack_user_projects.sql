-- Projects that stacks have users of their own in, in the domain of such users.

-- +goose Up
CREATE TABLE orchestration.user_projects (
    -- The stack that is nested in none; those nested in it have the project, too.
    stack_id   uuid PRIMARY KEY,
    -- Written before it is made.
    name       text NOT NULL,
    -- What Keystone calls it; null if nobody has heard of it yet.
    project_id text,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- +goose Down
DROP TABLE orchestration.user_projects;

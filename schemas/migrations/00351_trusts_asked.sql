-- Trusts that were asked for, and of which nobody has heard yet that they were given.

-- +goose Up
CREATE TABLE orchestration.trusts_asked (
    -- How long the trust is good, which no other is: it is known by that.
    good_until timestamptz PRIMARY KEY,
    trustor_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- +goose Down
DROP TABLE orchestration.trusts_asked;

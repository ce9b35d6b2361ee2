-- Keypairs, and numbers for what old microversions number.

-- +goose Up
-- A keypair is its user's; private keys are never kept.
CREATE TABLE compute.keypairs (
    id          bigint GENERATED ALWAYS AS IDENTITY,
    user_id     text NOT NULL,
    name        text NOT NULL,
    type        text NOT NULL DEFAULT 'ssh' CHECK (type IN ('ssh', 'x509')),
    fingerprint text NOT NULL,
    public_key  text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, name)
);
-- Services and hypervisors have whole numbers for ids before 2.53.
ALTER TABLE compute.hosts ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY UNIQUE;

-- +goose Down
ALTER TABLE compute.hosts DROP COLUMN number;
DROP TABLE compute.keypairs;

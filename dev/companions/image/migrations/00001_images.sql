-- +goose Up
CREATE SCHEMA image;

-- What a client sees of an image is document, but for the columns beside it.
CREATE TABLE image.images (
    id         uuid PRIMARY KEY,
    seq        bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    owner      text NOT NULL,
    status     text NOT NULL CHECK (status IN ('queued', 'saving', 'active')),
    visibility text NOT NULL CHECK (visibility IN ('public', 'private', 'shared', 'community')),
    protected  boolean NOT NULL,
    document   jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

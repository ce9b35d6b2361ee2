-- The availability zones that a stack's owner has, where its template asks for them.

-- +goose Up
-- JSON: a list of names; '' is that nobody has asked for them yet.
ALTER TABLE orchestration.templates ADD COLUMN zones text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE orchestration.templates DROP COLUMN zones;

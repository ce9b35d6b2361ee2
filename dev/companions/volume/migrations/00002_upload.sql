-- +goose Up
-- The image that a volume with status uploading becomes.
ALTER TABLE volume.volumes ADD upload_to text;

-- +goose Down
ALTER TABLE volume.volumes DROP upload_to;

-- +goose Up
-- Projects that an image is shared with; those that have accepted list it too.
CREATE TABLE image.members (
    image_id   uuid NOT NULL REFERENCES image.images ON DELETE CASCADE,
    member     text NOT NULL,
    status     text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'accepted', 'rejected')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (image_id, member)
);
CREATE INDEX ON image.members (member);

ALTER TABLE image.images DROP CONSTRAINT images_status_check;
ALTER TABLE image.images ADD CHECK (status IN ('queued', 'saving', 'uploading', 'active', 'deactivated'));

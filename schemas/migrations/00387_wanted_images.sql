-- Images that hosts are to have before a server asks for them.

-- +goose Up
CREATE TABLE compute.wanted_images (
    host_id   uuid NOT NULL REFERENCES compute.hosts (id) ON DELETE CASCADE,
    image_id  text NOT NULL,
    -- Since when; what is too old is wanted no more.
    wanted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (host_id, image_id)
);

-- +goose Down
DROP TABLE compute.wanted_images;

-- What else is shown of servers, and the services of the control plane.

-- +goose Up
-- Ids of the certificates that the image's signature may be checked by.
ALTER TABLE compute.servers ADD COLUMN trusted_certificates text[];
-- Files for the first boot's config drive, [{"path": ..., "contents": base64}]; sealed, null if there are none.
ALTER TABLE compute.boot_data ADD COLUMN files bytea;

-- What each control worker is in the originals' words, and when it was last
-- heard of; hosts are services by themselves, and share the numbers.
CREATE TABLE compute.services (
    id        uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    number    bigint NOT NULL UNIQUE DEFAULT nextval(pg_get_serial_sequence('compute.hosts', 'number')),
    host      text NOT NULL,
    "binary"  text NOT NULL,
    last_seen timestamptz NOT NULL DEFAULT now(),
    UNIQUE (host, "binary")
);

-- +goose Down
DROP TABLE compute.services;
ALTER TABLE compute.boot_data DROP COLUMN files;
ALTER TABLE compute.servers DROP COLUMN trusted_certificates;

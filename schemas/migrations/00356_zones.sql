-- A request that names a zone asks whether it has a host, among all hosts of a cloud.

-- +goose Up
CREATE INDEX hosts_availability_zone ON compute.hosts (availability_zone) WHERE NOT disabled;

-- +goose Down
DROP INDEX compute.hosts_availability_zone;

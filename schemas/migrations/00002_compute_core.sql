-- Compute: servers, the hosts they run on, the room they take.

-- +goose Up
CREATE SCHEMA compute;

CREATE TABLE compute.hosts (
    -- The host's own UUID, from the locked file in its state folder.
    id              uuid PRIMARY KEY,
    name            text NOT NULL UNIQUE,
    -- Counts the starts of its worker; a lower one is a stale process.
    incarnation     bigint NOT NULL DEFAULT 0,
    -- The process that is this incarnation.
    instance        text NOT NULL DEFAULT '',
    driver          text NOT NULL DEFAULT 'libvirt',
    availability_zone text NOT NULL DEFAULT 'nova',
    -- What there is, and what of it is kept back or may be promised twice.
    vcpus           integer NOT NULL DEFAULT 0 CHECK (vcpus >= 0),
    memory_mb       bigint NOT NULL DEFAULT 0 CHECK (memory_mb >= 0),
    disk_gb         bigint NOT NULL DEFAULT 0 CHECK (disk_gb >= 0),
    reserved_vcpus     integer NOT NULL DEFAULT 0,
    reserved_memory_mb bigint NOT NULL DEFAULT 512,
    reserved_disk_gb   bigint NOT NULL DEFAULT 0,
    cpu_allocation_ratio  double precision NOT NULL DEFAULT 4.0,
    ram_allocation_ratio  double precision NOT NULL DEFAULT 1.0,
    disk_allocation_ratio double precision NOT NULL DEFAULT 1.0,
    -- The sums of its allocations, kept by the statements that change those.
    vcpus_used      integer NOT NULL DEFAULT 0 CHECK (vcpus_used >= 0),
    memory_mb_used  bigint NOT NULL DEFAULT 0 CHECK (memory_mb_used >= 0),
    disk_gb_used    bigint NOT NULL DEFAULT 0 CHECK (disk_gb_used >= 0),
    servers         integer NOT NULL DEFAULT 0 CHECK (servers >= 0),
    -- CPU model, features, hypervisor version and the like, as reported.
    inventory       jsonb NOT NULL DEFAULT '{}',
    -- Where the host link listens.
    link_address    text NOT NULL DEFAULT '',
    disabled        boolean NOT NULL DEFAULT false,
    disabled_reason text NOT NULL DEFAULT '',
    forced_down     boolean NOT NULL DEFAULT false,
    last_seen       timestamptz,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE compute.servers (
    id              uuid PRIMARY KEY,
    project_id      text NOT NULL,
    user_id         text NOT NULL,
    name            text NOT NULL,
    hostname        text NOT NULL,
    description     text,
    -- The flavor as it was at boot: a later change of it changes no server.
    flavor          jsonb NOT NULL,
    vcpus           integer NOT NULL,
    memory_mb       bigint NOT NULL,
    -- Root, ephemeral and swap together, as allocated on the host, in GiB.
    disk_gb         bigint NOT NULL,
    image_id        text NOT NULL DEFAULT '',
    image_properties jsonb NOT NULL DEFAULT '{}',
    metadata        jsonb NOT NULL DEFAULT '{}',
    system_metadata jsonb NOT NULL DEFAULT '{}',
    key_name        text,
    config_drive    boolean NOT NULL DEFAULT false,
    availability_zone text NOT NULL DEFAULT '',
    -- The host or node that the request asked for, and scheduler hints.
    placement       jsonb NOT NULL DEFAULT '{}',
    reservation_id  text NOT NULL DEFAULT '',
    launch_index    integer NOT NULL DEFAULT 0,
    vm_state        text NOT NULL,
    task_state      text,
    power_state     integer NOT NULL DEFAULT 0,
    progress        integer NOT NULL DEFAULT 0,
    locked          boolean NOT NULL DEFAULT false,
    locked_by       text,
    locked_reason   text,
    host_id         uuid REFERENCES compute.hosts (id),
    access_ip_v4    inet,
    access_ip_v6    inet,
    launched_at     timestamptz,
    terminated_at   timestamptz,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    deleted_at      timestamptz,
    -- The lock: who holds the row, who is next, and the fence of both.
    operation_id      text REFERENCES engine.operations (id),
    next_operation_id text REFERENCES engine.operations (id),
    generation        bigint NOT NULL DEFAULT 0
);
CREATE INDEX servers_project ON compute.servers (project_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX servers_created ON compute.servers (created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX servers_host ON compute.servers (host_id) WHERE deleted_at IS NULL;
CREATE INDEX servers_updated ON compute.servers (updated_at, id);
CREATE INDEX servers_held ON compute.servers (operation_id) WHERE operation_id IS NOT NULL;

-- Why a server is in ERROR; the newest is shown.
CREATE TABLE compute.server_faults (
    server_id  uuid NOT NULL REFERENCES compute.servers (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    code       integer NOT NULL,
    message    text NOT NULL,
    details    text NOT NULL DEFAULT '',
    PRIMARY KEY (server_id, created_at)
);

-- Room taken on a host for a consumer: set, never added.
CREATE TABLE compute.allocations (
    server_id    uuid NOT NULL REFERENCES compute.servers (id),
    host_id      uuid NOT NULL REFERENCES compute.hosts (id),
    operation_id text NOT NULL,
    vcpus        integer NOT NULL CHECK (vcpus >= 0),
    memory_mb    bigint NOT NULL CHECK (memory_mb >= 0),
    disk_gb      bigint NOT NULL CHECK (disk_gb >= 0),
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (server_id, host_id)
);
CREATE INDEX allocations_host ON compute.allocations (host_id);

-- What a project uses of its quota, locked before it is checked.
CREATE TABLE compute.quota_usages (
    project_id text PRIMARY KEY,
    instances  integer NOT NULL DEFAULT 0 CHECK (instances >= 0),
    cores      integer NOT NULL DEFAULT 0 CHECK (cores >= 0),
    ram_mb     bigint NOT NULL DEFAULT 0 CHECK (ram_mb >= 0),
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- Limits that differ from the defaults. Class rows have class set, project and
-- user rows have theirs.
CREATE TABLE compute.quota_limits (
    project_id text NOT NULL DEFAULT '',
    user_id    text NOT NULL DEFAULT '',
    class      text NOT NULL DEFAULT '',
    resource   text NOT NULL,
    hard_limit bigint NOT NULL CHECK (hard_limit >= -1),
    PRIMARY KEY (project_id, user_id, class, resource)
);

CREATE TABLE compute.flavors (
    id          text PRIMARY KEY,
    name        text NOT NULL UNIQUE,
    vcpus       integer NOT NULL,
    memory_mb   bigint NOT NULL,
    root_gb     bigint NOT NULL,
    ephemeral_gb bigint NOT NULL DEFAULT 0,
    swap_mb     bigint NOT NULL DEFAULT 0,
    rxtx_factor double precision NOT NULL DEFAULT 1.0,
    is_public   boolean NOT NULL DEFAULT true,
    disabled    boolean NOT NULL DEFAULT false,
    description text,
    extra_specs jsonb NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE compute.flavor_access (
    flavor_id  text NOT NULL REFERENCES compute.flavors (id) ON DELETE CASCADE,
    project_id text NOT NULL,
    PRIMARY KEY (flavor_id, project_id)
);

-- +goose Down
DROP SCHEMA compute CASCADE;

package compute

// Allocations: the room that is taken on hosts. Each has a consumer: the server
// where it is to run, and a migration where a move has left what the server had
// (its UUID). A host's sums and the rows of its allocations are changed by one
// statement, never one without the other.

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/extraspecs"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/store"
)

// Room is an amount of what a host has: CPUs, MiB of memory, GiB of disk.
type Room struct {
	VCPUs            int
	MemoryMB, DiskGB int64
}

// Size is how large the server is.
func (s *Server) Size() Room { return Room{VCPUs: s.VCPUs, MemoryMB: s.MemoryMB, DiskGB: s.DiskGB} }

// Room is what the server takes on a host where its guest lies on cells as placed: its
// size, or what its flavor's extra specs say instead, without CPUs that are pinned.
// faults.Invalid for extra specs that are no amounts.
func (s *Server) Room(placed *numa.Placement) (Room, error) {
	asked, err := extraspecs.Resources(s.Flavor.ExtraSpecs)
	r := s.Size()
	r.VCPUs -= placed.Pinned()
	if n, ok := asked["VCPU"]; ok {
		r.VCPUs = int(min(n, math.MaxInt32))
	}
	if n, ok := asked["MEMORY_MB"]; ok {
		r.MemoryMB = n
	}
	if n, ok := asked["DISK_GB"]; ok {
		r.DiskGB = n
	}
	return r, err
}

// Claim is what a consumer takes on a host: room, of whose CPUs those that are
// pinned are none, where its guest lies on the host's cells (nil: anywhere), the
// devices that it has of the host, and how much of other resource classes.
type Claim struct {
	Room
	NUMA      *numa.Placement
	Devices   pci.Devices
	Resources map[string]int64
}

// Resources is what the server asks of a host's other resource classes.
func (s *Server) Resources() (map[string]int64, error) {
	asked, err := extraspecs.Resources(s.Flavor.ExtraSpecs)
	return extraspecs.Others(asked), err
}

// columns are amounts of resources as two columns of equal length.
func columns(resources map[string]int64) (classes []string, amounts []int64) {
	classes = slices.Sorted(maps.Keys(resources))
	for _, class := range classes {
		amounts = append(amounts, resources[class])
	}
	return classes, amounts
}

// ClaimOnHost takes room on the host for the server, in the name of an
// operation. False if the host has not the room, is disabled or declared down;
// then nothing has changed. The check and the change are one UPDATE, so any
// number of claims at once can't promise more than there is: what is used and
// asked together stays within (total - reserved) x ratio, and no single claim
// asks for more than the total (as the original's placement has it). What isn't asked
// for need not be there.
//
// CPUs that a guest is pinned to, devices and other resources are rows of their own:
// whoever chooses them looks at what is taken under the host's lock (LockParts).
//
// A server has one claim on a host: asked again for the same room it is true
// and nothing changes; for other room it is faults.Conflict. The caller must
// hold the server's row.
func ClaimOnHost(ctx context.Context, tx store.Tx, serverID, hostID, operationID string, c Claim) (bool, error) {
	r := c.Room
	var had *Room
	var claimed bool
	classes, amounts := columns(c.Resources)
	err := tx.QueryRow(ctx, `
		WITH had AS (
			SELECT vcpus, memory_mb, disk_gb FROM compute.allocations WHERE consumer_id = $1 AND host_id = $2
		), taken AS (
			UPDATE compute.hosts h SET vcpus_used = vcpus_used + $4, memory_mb_used = memory_mb_used + $5,
				disk_gb_used = disk_gb_used + $6, servers = servers + 1
			WHERE h.id = $2 AND NOT EXISTS (SELECT FROM had) AND NOT h.disabled AND NOT h.forced_down
				AND ($4 = 0 OR $4 <= h.vcpus AND h.vcpus_used + $4 <= (h.vcpus - h.reserved_vcpus) * h.cpu_allocation_ratio)
				AND ($5 = 0 OR $5 <= h.memory_mb AND h.memory_mb_used + $5 <= (h.memory_mb - h.reserved_memory_mb) * h.ram_allocation_ratio)
				AND ($6 = 0 OR $6 <= h.disk_gb AND h.disk_gb_used + $6 <= (h.disk_gb - h.reserved_disk_gb) * h.disk_allocation_ratio)
			RETURNING h.id
		), row AS (
			INSERT INTO compute.allocations (consumer_id, server_id, host_id, operation_id, vcpus, memory_mb, disk_gb, numa)
			SELECT $1, $1, id, $3, $4, $5, $6, $7 FROM taken
		), pinned AS (
			INSERT INTO compute.pinned_cpus (host_id, cpu, consumer_id) SELECT id, unnest($8::int[]), $1 FROM taken
		), passed AS (
			INSERT INTO compute.passed_devices (host_id, consumer_id, address, alias)
			SELECT id, $1, unnest($9::text[]), unnest($10::text[]) FROM taken
		), others AS (
			INSERT INTO compute.claimed_resources (host_id, consumer_id, class, amount)
			SELECT id, $1, unnest($11::text[]), unnest($12::bigint[]) FROM taken
		)
		SELECT EXISTS (SELECT FROM taken),
			(SELECT json_build_object('VCPUs', vcpus, 'MemoryMB', memory_mb, 'DiskGB', disk_gb) FROM had)`,
		serverID, hostID, operationID, r.VCPUs, r.MemoryMB, r.DiskGB,
		c.NUMA, []int(c.NUMA.Taken()), c.Devices.Addresses(), c.Devices.Aliases(), classes, amounts).Scan(&claimed, &had)
	if err != nil {
		return false, store.Translate(err)
	}
	if had != nil && *had != r {
		return false, faults.New(faults.Conflict, "ClaimExists", "server %s has another claim on host %s", serverID, hostID)
	}
	return claimed || had != nil, nil
}

// HandOver makes a consumer's claim on a host another's: the host's sums stay as
// they are. Handed over already it stays so; without such a claim it is
// faults.NotFound. The caller must hold the server's row.
func HandOver(ctx context.Context, tx store.Tx, from, to, hostID string) error {
	tag, err := tx.Exec(ctx, `UPDATE compute.allocations SET consumer_id = $2 WHERE consumer_id = $1 AND host_id = $3`, from, to, hostID)
	if err != nil || tag.RowsAffected() > 0 {
		return store.Translate(err)
	}
	var had bool
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM compute.allocations WHERE consumer_id = $1 AND host_id = $2)`, to, hostID).Scan(&had)
	if err == nil && !had {
		return faults.New(faults.NotFound, "ClaimNotFound", "%s has no claim on host %s", from, hostID)
	}
	return store.Translate(err)
}

// ReleaseClaim gives back exactly what the consumer's allocation on the host
// says; if the host has failed what it was for, that is counted. Without one it does
// nothing.
func ReleaseClaim(ctx context.Context, tx store.Tx, consumerID, hostID string, failed bool) error {
	return release(ctx, tx, hostID, failed, "a.consumer_id = $3", consumerID)
}

// release gives back the room on a host of which a condition on its allocation
// a holds; its arguments are from $3 on.
func release(ctx context.Context, tx store.Tx, hostID string, failed bool, condition string, args ...any) error {
	_, err := tx.Exec(ctx, `
		WITH gone AS (
			DELETE FROM compute.allocations a WHERE host_id = $1 AND `+condition+`
			RETURNING vcpus, memory_mb, disk_gb
		), sum AS (
			SELECT COALESCE(sum(vcpus), 0) AS vcpus, COALESCE(sum(memory_mb), 0) AS memory_mb,
				COALESCE(sum(disk_gb), 0) AS disk_gb, count(*) AS n FROM gone
		)
		UPDATE compute.hosts h SET vcpus_used = h.vcpus_used - sum.vcpus, memory_mb_used = h.memory_mb_used - sum.memory_mb,
			disk_gb_used = h.disk_gb_used - sum.disk_gb, servers = h.servers - sum.n,
			failed_builds = h.failed_builds + $2::boolean::integer
		FROM sum WHERE h.id = $1 AND sum.n > 0`, append([]any{hostID, failed}, args...)...)
	return store.Translate(err)
}

// HasClaim says whether room on the host is held for the server, by itself or by
// a migration of it; ids that are none have not.
func HasClaim(ctx context.Context, q store.Queryer, serverID, hostID string) (bool, error) {
	if !isUUID(serverID) || !isUUID(hostID) {
		return false, nil
	}
	var has bool
	err := q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM compute.allocations WHERE server_id = $1 AND host_id = $2)`, serverID, hostID).Scan(&has)
	return has, store.Translate(err)
}

// BuildingOn counts, by host, the servers with room there to which something is
// being done: what weighs on its disks.
func BuildingOn(ctx context.Context, q store.Queryer) (map[string]int, error) {
	rows, err := q.Query(ctx, `SELECT a.host_id::text, count(DISTINCT a.server_id) FROM compute.allocations a
		JOIN compute.servers s ON s.id = a.server_id WHERE s.operation_id IS NOT NULL AND s.task_state IS NOT NULL GROUP BY a.host_id`)
	if err != nil {
		return nil, store.Translate(err)
	}
	return pairs[int](rows)
}

// ImageCount is how many servers with room on a host have an image that says
// Properties, a JSON object.
type ImageCount struct {
	HostID, Properties string
	Servers            int
}

// ImagesOn counts the servers with room on each host by what their images say.
func ImagesOn(ctx context.Context, q store.Queryer) ([]ImageCount, error) {
	rows, err := q.Query(ctx, `SELECT a.host_id::text, s.image_properties::text, count(DISTINCT s.id) FROM compute.allocations a
		JOIN compute.servers s ON s.id = a.server_id WHERE s.image_properties <> '{}' GROUP BY a.host_id, s.image_properties`)
	if err != nil {
		return nil, store.Translate(err)
	}
	counted, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ImageCount])
	return counted, store.Translate(err)
}

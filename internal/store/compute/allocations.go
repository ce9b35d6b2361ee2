package compute

// Allocations: the room that servers take on hosts. A host's sums and the rows
// of its allocations are changed by one statement, never one without the other.

import (
	"context"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// Room is an amount of what a host has: CPUs, MiB of memory, GiB of disk.
type Room struct {
	VCPUs            int
	MemoryMB, DiskGB int64
}

// Room is what the server takes on a host.
func (s *Server) Room() Room { return Room{VCPUs: s.VCPUs, MemoryMB: s.MemoryMB, DiskGB: s.DiskGB} }

// ClaimOnHost takes room on the host for the server, in the name of an
// operation. False if the host has not the room, is disabled or declared down;
// then nothing has changed. The check and the change are one UPDATE, so any
// number of claims at once can't promise more than there is: what is used and
// asked together stays within (total - reserved) x ratio, and no single claim
// asks for more than the total (as the original's placement has it).
//
// A server has one claim on a host: asked again for the same room it is true
// and nothing changes; for other room it is faults.Conflict. The caller must
// hold the server's row.
func ClaimOnHost(ctx context.Context, tx store.Tx, serverID, hostID, operationID string, r Room) (bool, error) {
	var had *Room
	var claimed bool
	err := tx.QueryRow(ctx, `
		WITH had AS (
			SELECT vcpus, memory_mb, disk_gb FROM compute.allocations WHERE server_id = $1 AND host_id = $2
		), taken AS (
			UPDATE compute.hosts h SET vcpus_used = vcpus_used + $4, memory_mb_used = memory_mb_used + $5,
				disk_gb_used = disk_gb_used + $6, servers = servers + 1
			WHERE h.id = $2 AND NOT EXISTS (SELECT FROM had) AND NOT h.disabled AND NOT h.forced_down
				AND $4 <= h.vcpus AND h.vcpus_used + $4 <= (h.vcpus - h.reserved_vcpus) * h.cpu_allocation_ratio
				AND $5 <= h.memory_mb AND h.memory_mb_used + $5 <= (h.memory_mb - h.reserved_memory_mb) * h.ram_allocation_ratio
				AND $6 <= h.disk_gb AND h.disk_gb_used + $6 <= (h.disk_gb - h.reserved_disk_gb) * h.disk_allocation_ratio
			RETURNING h.id
		), row AS (
			INSERT INTO compute.allocations (server_id, host_id, operation_id, vcpus, memory_mb, disk_gb)
			SELECT $1, id, $3, $4, $5, $6 FROM taken
		)
		SELECT EXISTS (SELECT FROM taken),
			(SELECT json_build_object('VCPUs', vcpus, 'MemoryMB', memory_mb, 'DiskGB', disk_gb) FROM had)`,
		serverID, hostID, operationID, r.VCPUs, r.MemoryMB, r.DiskGB).Scan(&claimed, &had)
	if err != nil {
		return false, store.Translate(err)
	}
	if had != nil && *had != r {
		return false, faults.New(faults.Conflict, "ClaimExists", "server %s has another claim on host %s", serverID, hostID)
	}
	return claimed || had != nil, nil
}

// ReleaseClaim gives back exactly what the server's allocation on the host
// says. Without one it does nothing.
func ReleaseClaim(ctx context.Context, tx store.Tx, serverID, hostID string) error {
	return release(ctx, tx, serverID, hostID, "true")
}

// release is ReleaseClaim for an allocation a of which a condition holds.
func release(ctx context.Context, tx store.Tx, serverID, hostID, condition string) error {
	_, err := tx.Exec(ctx, `
		WITH gone AS (
			DELETE FROM compute.allocations a WHERE server_id = $1 AND host_id = $2 AND `+condition+`
			RETURNING host_id, vcpus, memory_mb, disk_gb
		)
		UPDATE compute.hosts h SET vcpus_used = h.vcpus_used - gone.vcpus, memory_mb_used = h.memory_mb_used - gone.memory_mb,
			disk_gb_used = h.disk_gb_used - gone.disk_gb, servers = h.servers - 1
		FROM gone WHERE h.id = gone.host_id`, serverID, hostID)
	return store.Translate(err)
}

// HasClaim says whether the server has room on the host; ids that are none have not.
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
	rows, err := q.Query(ctx, `SELECT a.host_id::text, count(*) FROM compute.allocations a
		JOIN compute.servers s ON s.id = a.server_id WHERE s.task_state IS NOT NULL GROUP BY a.host_id`)
	if err != nil {
		return nil, store.Translate(err)
	}
	return pairs[int](rows)
}

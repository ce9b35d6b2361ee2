package compute

// Adoption: rows made true again of what hosts have, after the database was
// restored from a backup. Nothing here touches a host.

import (
	"context"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
)

// Stranger is a guest that no server accounts for.
type Stranger struct {
	ServerID   string
	PowerState servers.PowerState
	// Generation is the highest that the host has seen of its server.
	Generation int64
	// Known says that the server has a row, Deleted that it is of one deleted,
	// Elsewhere the id of the host that the row names.
	Known, Deleted bool
	Elsewhere      string
	HostID         string
	HostName       string
	LinkAddress    string
	// NUMA is where the guest lies on its host's cells, nil anywhere; Devices are
	// what it has of the host.
	NUMA    *numa.Placement
	Devices pci.Devices
}

// Strangers gives the guests that the probe guest-without-server finds.
func Strangers(ctx context.Context, q store.Queryer) ([]*Stranger, error) {
	rows, err := q.Query(ctx, `SELECT g.server_id, g.power_state, COALESCE(g.generation, 0), s.id IS NOT NULL, s.deleted_at IS NOT NULL,
		COALESCE(s.host_id::text, ''), h.id::text, h.name, h.link_address FROM `+strangers+` ORDER BY h.name, g.server_id`)
	if err != nil {
		return nil, store.Translate(err)
	}
	return collect(rows, func(s *Stranger) []any {
		return []any{&s.ServerID, &s.PowerState, &s.Generation, &s.Known, &s.Deleted, &s.Elsewhere, &s.HostID, &s.HostName, &s.LinkAddress}
	})
}

// vmStates of adopted servers, by their guests' power. Anything else is half
// made or half gone: ERROR, and its user deletes it.
var vmStates = map[servers.PowerState]servers.VMState{
	servers.PowerRunning: servers.VMActive, servers.PowerPaused: servers.VMPaused,
	servers.PowerShutdown: servers.VMStopped, servers.PowerCrashed: servers.VMStopped, servers.PowerSuspended: servers.VMSuspended,
}

// AdoptServer writes the row of a guest that has none: the server as it was
// built, with the ports and volumes that it was built with, on its host, in the
// state that the guest is in. Quotas and the host's capacity are not asked: the
// guest is there. Errors: Conflict, the row is there by now.
func AdoptServer(ctx context.Context, tx store.Tx, s *Server, ports []ServerPort, devices []BlockDevice, g *Stranger) error {
	s.VMState, s.PowerState = vmStateOf(g), g.PowerState.Shown()
	if err := InsertServer(ctx, tx, s); err != nil {
		return err
	}
	if err := InsertServerPorts(ctx, tx, s.ID, ports); err != nil {
		return err
	}
	for i := range ports {
		p := &ports[i]
		p.ServerID, p.Position = s.ID, i
		if err := BindPort(ctx, tx, p); err != nil {
			return err
		}
		if err := ReservePorts(ctx, tx, []*ServerPort{p}); err != nil {
			return err
		}
	}
	if err := InsertBlockDevices(ctx, tx, s.ID, devices); err != nil {
		return err
	}
	if _, _, err := lockUsage(ctx, tx, s.ProjectID); err != nil {
		return err
	}
	if err := addUsage(ctx, tx, s.ProjectID, s.Delta()); err != nil {
		return err
	}
	return settleOn(ctx, tx, s, g)
}

// ReturnServer gives a server that is on no host back to the one that has its
// guest. Errors: Conflict, an operation or another host has it by now.
func ReturnServer(ctx context.Context, tx store.Tx, g *Stranger) error {
	s, err := LockServer(ctx, tx, "", g.ServerID)
	if err != nil {
		return err
	}
	if s.HostID != "" || s.OperationID != "" {
		return faults.New(faults.Conflict, "ServerInUse", "server %s is in use", s.ID)
	}
	_, err = tx.Exec(ctx, `UPDATE compute.servers SET vm_state = $2, power_state = $3, task_state = NULL, updated_at = now() WHERE id = $1`,
		s.ID, vmStateOf(g), g.PowerState.Shown())
	if err != nil {
		return store.Translate(err)
	}
	return settleOn(ctx, tx, s, g)
}

func vmStateOf(g *Stranger) servers.VMState {
	if vm, ok := vmStates[g.PowerState]; ok {
		return vm
	}
	return servers.VMError
}

// settleOn puts the server on the guest's host, with room and behind its fence.
func settleOn(ctx context.Context, tx store.Tx, s *Server, g *Stranger) error {
	r, err := s.Room(g.NUMA)
	if err != nil {
		return err
	}
	asked, err := s.Resources()
	if err == nil {
		err = lockHost(ctx, tx, g.HostID)
	}
	if err != nil {
		return err
	}
	classes, amounts := columns(asked)
	_, err = tx.Exec(ctx, `
		WITH placed AS (
			UPDATE compute.servers SET host_id = $2, generation = GREATEST(generation, $3), launched_at = COALESCE(launched_at, created_at) WHERE id = $1
		), room AS (
			INSERT INTO compute.allocations (consumer_id, server_id, host_id, operation_id, vcpus, memory_mb, disk_gb, numa)
			VALUES ($1, $1, $2, 'adopted', $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING host_id, vcpus, memory_mb, disk_gb
		), pinned AS (
			INSERT INTO compute.pinned_cpus (host_id, cpu, consumer_id) SELECT host_id, unnest($8::int[]), $1 FROM room ON CONFLICT DO NOTHING
		), passed AS (
			INSERT INTO compute.passed_devices (host_id, consumer_id, address, alias)
			SELECT host_id, $1, unnest($9::text[]), unnest($10::text[]) FROM room ON CONFLICT DO NOTHING
		), others AS (
			INSERT INTO compute.claimed_resources (host_id, consumer_id, class, amount)
			SELECT host_id, $1, unnest($11::text[]), unnest($12::bigint[]) FROM room
		)
		UPDATE compute.hosts h SET vcpus_used = h.vcpus_used + room.vcpus, memory_mb_used = h.memory_mb_used + room.memory_mb,
			disk_gb_used = h.disk_gb_used + room.disk_gb, servers = h.servers + 1
		FROM room WHERE h.id = room.host_id`, s.ID, g.HostID, g.Generation,
		r.VCPUs, r.MemoryMB, r.DiskGB, g.NUMA, []int(g.NUMA.Taken()), g.Devices.Addresses(), g.Devices.Aliases(), classes, amounts)
	return store.Translate(err)
}

// CatchUp raises the generation of each server that the probe
// server-behind-host finds, and gives their ids. An operation that has one of
// them loses its fence by that, and is recovered under the next generation.
func CatchUp(ctx context.Context, tx store.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, `UPDATE compute.servers behind SET generation = ahead.generation
		FROM (SELECT s.id, max(g.generation) AS generation FROM `+reported+`
			JOIN compute.servers s ON s.id = g.id WHERE s.deleted_at IS NULL AND g.generation > s.generation GROUP BY s.id) ahead
		WHERE behind.id = ahead.id RETURNING behind.id::text`)
	if err != nil {
		return nil, store.Translate(err)
	}
	found, err := collect(rows, func(id *string) []any { return []any{id} })
	ids := make([]string, len(found))
	for i, id := range found {
		ids[i] = *id
	}
	return ids, err
}

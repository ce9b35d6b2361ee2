package placement

// What a server asks of its host.

import (
	"context"

	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/scheduler"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// request says what the scheduler is to look for. The group of a server, if it
// has one, stays locked until the claim is made: claims of its members come one
// after the other, so that each sees where the others are.
func (a *Activities) request(ctx context.Context, tx store.Tx, s *compute.Server, exclude []string) (scheduler.Request, error) {
	r := scheduler.Request{
		ProjectID: s.ProjectID, VCPUs: int64(s.VCPUs), MemoryMB: s.MemoryMB, DiskGB: s.DiskGB,
		Host: s.Placement.Host, AvailabilityZone: s.AvailabilityZone, Exclude: exclude, Flavor: s.Flavor.Name,
	}
	if r.Host == "" {
		r.Host = s.Placement.Node
	}
	if err := r.Apply(s.Flavor.ExtraSpecs, s.ImageProperties); err != nil {
		return r, err
	}
	cells, err := cellsOf(ctx, tx, s)
	if err != nil {
		return r, err
	}
	r.VCPUs += int64(cells.Floating(s.VCPUs) - r.Cells.Floating(s.VCPUs))
	r.Cells = cells
	if r.Devices, err = a.Aliases.Read(s.Flavor.ExtraSpecs, s.ImageProperties); err != nil {
		return r, err
	}
	hints, err := scheduler.ReadHints(s.Placement.Hints)
	if err != nil {
		return r, err
	}
	r.Near, r.Query = hints.Near, hints.Query
	if r.SameHost, err = hostsOf(ctx, tx, hints.SameHost); err != nil {
		return r, err
	}
	if r.DifferentHost, err = hostsOf(ctx, tx, hints.DifferentHost); err != nil {
		return r, err
	}
	r.Group, err = groupOf(ctx, tx, s.ID)
	return r, err
}

// cellsOf says what a server asks of its host's cells; of one that goes there while
// it runs, as its guest is.
func cellsOf(ctx context.Context, tx store.Tx, s *compute.Server) (*numa.Request, error) {
	asked, err := numa.Read(s.Flavor.ExtraSpecs, s.ImageProperties, s.VCPUs, s.MemoryMB)
	if err != nil || asked == nil {
		return nil, err
	}
	m, err := compute.OpenMigration(ctx, tx, s.ID)
	if err != nil || m == nil || m.Type != servers.LiveMigration {
		return asked, err
	}
	lies, _, err := compute.PlaceOf(ctx, tx, s.ID, steps.OldSize)
	return asked.Running(lies), err
}

// hostsOf gives the hosts of a hint's servers; nil if there is no such hint.
func hostsOf(ctx context.Context, tx store.Tx, servers []string) (scheduler.Set, error) {
	if servers == nil {
		return nil, nil
	}
	hosts, err := compute.HostsOf(ctx, tx, servers...)
	return scheduler.SetOf(hosts...), err
}

// groupOf locks the server's group and counts its other members by host.
func groupOf(ctx context.Context, tx store.Tx, serverID string) (*scheduler.Group, error) {
	group, err := compute.LockGroupOf(ctx, tx, serverID)
	if err != nil || group == nil {
		return nil, err
	}
	members, err := compute.GroupHosts(ctx, tx, group.ID, serverID)
	return &scheduler.Group{Policy: scheduler.Policy(group.Policy), MaxServersPerHost: group.MaxServerPerHost, Members: members}, err
}

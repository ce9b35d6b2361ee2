package records

// Host and ServerSpec: what a workflow reads on its way.

import (
	"cmp"
	"context"
	"encoding/json"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Host reads and changes nothing. A host that isn't registered is not up.
func (a *Activities) Host(ctx context.Context, in steps.HostIn) (steps.HostOut, error) {
	h, err := compute.GetHost(ctx, a.db.Pool, in.HostID)
	if faults.Is(err, faults.NotFound) {
		return steps.HostOut{}, nil
	}
	if err != nil {
		return steps.HostOut{}, err
	}
	return steps.HostOut{Up: h.Up(a.DownAfter), ForcedDown: h.ForcedDown, Address: h.LinkAddress}, nil
}

// maxSpec bounds what goes through a workflow's history for one server.
const maxSpec = 64 << 10

// ServerSpec reads and changes nothing. Errors: Superseded, Invalid (the spec
// is over 64 kB).
func (a *Activities) ServerSpec(ctx context.Context, in steps.ServerSpecIn) (steps.ServerSpec, error) {
	_, id := subject(in.Fence.OperationID)
	spec, err := readSpec(ctx, a.db.Pool, id, in.Size)
	if lost := a.engine.PeekFence(ctx, a.db.Pool, in.Fence); lost != nil {
		err = lost
	}
	if err != nil {
		return steps.ServerSpec{}, err
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return steps.ServerSpec{}, faults.Wrap(err, faults.Invalid, "InvalidSpec", "the spec of server %s can't be written", spec.ServerID)
	}
	if len(text) > maxSpec {
		return steps.ServerSpec{}, faults.New(faults.Invalid, "SpecTooLarge",
			"the properties of the image and the flavor of server %s take %d bytes, more than %d", spec.ServerID, len(text), maxSpec)
	}
	return spec, nil
}

func readSpec(ctx context.Context, q store.Queryer, serverID string, size steps.Size) (steps.ServerSpec, error) {
	s, err := compute.GetServer(ctx, q, "", serverID)
	if err == nil && size != "" {
		s, err = inSize(ctx, q, s, size)
	}
	if err != nil {
		return steps.ServerSpec{}, err
	}
	spec := steps.ServerSpec{
		ServerID: s.ID, Name: s.Name, Hostname: s.Hostname, ProjectID: s.ProjectID, UserID: s.UserID,
		VCPUs: s.VCPUs, MemoryMB: int(s.MemoryMB),
		RootGB:  int(s.Flavor.RootGB),
		ImageID: cmp.Or(s.ShelvedImageID, s.ImageID), ImageProperties: s.ImageProperties, ExtraSpecs: s.Flavor.ExtraSpecs, ConfigDrive: s.ConfigDrive,
		Flavor: s.Flavor.Name, Generation: s.Generation,
	}
	if len(s.Ports) > 0 {
		if spec.Ports, err = portsOf(ctx, q, s.ID); err != nil {
			return steps.ServerSpec{}, err
		}
	}
	if s.MayHaveParts() {
		if spec.NUMA, spec.Devices, err = compute.PlaceOf(ctx, q, s.ID, size); err != nil {
			return steps.ServerSpec{}, err
		}
	}
	err = giveDisks(ctx, q, s, &spec)
	return spec, err
}

// inSize gives a server as its open migration has it. Errors: Conflict, there is
// none.
func inSize(ctx context.Context, q store.Queryer, s *compute.Server, size steps.Size) (*compute.Server, error) {
	m, err := compute.OpenMigration(ctx, q, s.ID)
	if err == nil && m == nil {
		err = faults.New(faults.Conflict, "MigrationNotFound", "server %s is not being moved", s.ID)
	}
	if err != nil {
		return nil, err
	}
	return m.Resized(s, size), nil
}

package records

// Host and ServerSpec: what a workflow reads on its way.

import (
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
	return steps.HostOut{Up: h.Up(a.DownAfter), ForcedDown: h.ForcedDown}, nil
}

// maxSpec bounds what goes through a workflow's history for one server.
const maxSpec = 64 << 10

// ServerSpec reads and changes nothing. Errors: Superseded, Invalid (the spec
// is over 64 kB).
func (a *Activities) ServerSpec(ctx context.Context, in steps.ServerSpecIn) (spec steps.ServerSpec, err error) {
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		op, err := a.engine.CheckFence(ctx, tx, in.Fence)
		if err != nil {
			return err
		}
		s, err := compute.GetServer(ctx, tx, "", op.ResourceID)
		if err != nil {
			return err
		}
		spec = specOf(s)
		if spec.Ports, err = portsOf(ctx, tx, s.ID); err != nil {
			return err
		}
		spec.Volumes, err = volumesOf(ctx, tx, s.ID)
		return err
	})
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

func specOf(s *compute.Server) steps.ServerSpec {
	return steps.ServerSpec{
		ServerID: s.ID, Name: s.Name, Hostname: s.Hostname, ProjectID: s.ProjectID, UserID: s.UserID,
		VCPUs: s.VCPUs, MemoryMB: int(s.MemoryMB),
		RootGB: int(s.Flavor.RootGB), EphemeralGB: int(s.Flavor.EphemeralGB), SwapMB: int(s.Flavor.SwapMB),
		ImageID: s.ImageID, ImageProperties: s.ImageProperties, ExtraSpecs: s.Flavor.ExtraSpecs, ConfigDrive: s.ConfigDrive,
		Flavor: s.Flavor.Name, Generation: s.Generation,
	}
}

package server

// Devices that come and go while the guest is there: what volumes and interfaces
// have in common.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// volumeOf is a volume as the host is to be told of it.
func volumeOf(s *saga.Saga, id string) (*steps.Volume, error) {
	spec, err := steps.Records.ServerSpec(s.Context(), steps.ServerSpecIn{Fence: s.Fence})
	if err != nil {
		return nil, err
	}
	volume := spec.Volume(id)
	if volume == nil {
		return nil, faults.New(faults.Internal, "VolumeBDMNotFound", "No volume Block Device Mapping with id %s.", id)
	}
	return volume, nil
}

// plugIn is the step guest of a device that comes.
func plugIn(s *saga.Saga, host, id string, in steps.PlugIn) error {
	err := s.Step(operations.StepGuest, saga.Move{
		Host:   host,
		Intend: []operations.Effect{{Kind: operations.EffectDevice, Ref: id, Host: host}},
	})
	if err != nil {
		return err
	}
	return saga.OnHost(s.Context(), host, func(ctx workflow.Context) error {
		in.Token = s.Token()
		return steps.Libvirt.Plug(ctx, host, in)
	})
}

// takeOut takes a device out of the guest, and then what a service has of it
// under the name of step.
func takeOut(s *saga.Saga, id, step string, service operations.Effect) error {
	host := s.Begun.Server.Host
	if err := s.Step(operations.StepGuest, saga.Move{Host: host}); err != nil {
		return err
	}
	if host != "" {
		if err := letGo(s, host, id); err != nil {
			return err
		}
	}
	service.State = operations.Done
	return s.TakeAway(step, host, []operations.Effect{service})
}

// letGo asks the guest for the device. One that is gone, although the host could
// not say so, is not put back.
func letGo(s *saga.Saga, host, id string) error {
	err := unplug(s.Context(), s, host, id)
	if err == nil || steps.IsSuperseded(err) {
		return err
	}
	found, unseen := steps.Libvirt.Unplug(s.Grace(forcePatience), host, steps.UnplugIn{Token: s.Token(), ID: id, Look: true})
	if unseen == nil && !found.Left {
		return nil
	}
	return err
}

func unplug(ctx workflow.Context, s *saga.Saga, host, id string) error {
	return saga.OnHost(ctx, host, func(ctx workflow.Context) error {
		_, err := steps.Libvirt.Unplug(ctx, host, steps.UnplugIn{Token: s.Token(), ID: id})
		return err
	})
}

// undoDevice takes the device out of the guest again.
func undoDevice(ctx workflow.Context, s *saga.Saga, e operations.Effect) error {
	return unplug(ctx, s, e.Host, e.Ref)
}

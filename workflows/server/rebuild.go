package server

// Rebuild makes a server's disks anew on the host where it is, from another image
// or from the same. Its claim, ports and volumes stay as they are.
//
//	active, stopped, error ──image──► the host has the image ──guest──► ACTIVE, or SHUTOFF
//	          ▲                            │ cancelled, lost         │
//	          └── as it was, or ERROR ◄────┘                 ERROR ◄─┘ the host can't
//
// Point of no return: the step guest; the old disks go there.
//
//	step    before it                    after it
//	image   the guest as it was          the same; the host keeps the image among
//	                                     those that it starts guests from, as it
//	                                     would without a rebuild: nothing to undo
//	guest   the same                     a volume that it boots from is filled anew
//	                                     if that was asked for, by Cinder while the
//	                                     guest is off; it has new disks and what it is
//	                                     told is new; it runs, or stands still if
//	                                     the server was stopped
//	finish  the same                     the row says it
//
//	cancelled: as it was
//	failed in the step image: ERROR as in the original, the guest as it was; a host
//	that is down is no fault of the server, and its vm_state stays
//	failed in the step guest: ERROR, and the row says what the guest was to be; its
//	host finishes that with the next hard reboot, or another rebuild does

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Rebuild is the workflow of operations.ServerRebuild.
func Rebuild(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	now, err := rebuild(s)
	return s.Close(saga.Outcome{Server: now, OnFailure: now, OnCancel: unchanged()}, err)
}

// rebuild also says what is true if it fails.
func rebuild(s *saga.Saga) (*steps.ServerOutcome, error) {
	in, err := saga.Input[steps.Rebuild](s)
	if err != nil {
		return unchanged(), err
	}
	host, err := homeOf(s)
	if err != nil {
		return unchanged(), err
	}
	if s.Begun.Step != operations.StepGuest { // a run that is lost there goes on there
		if err := fetchImage(s, host, in); err != nil {
			return spoilt(unchanged(), err), err
		}
	}
	return renew(s)
}

// fetchImage has the image on the host before anything is taken away.
func fetchImage(s *saga.Saga, host string, in steps.Rebuild) error {
	if err := s.Step(operations.StepImage, saga.Move{Host: host}); err != nil {
		return err
	}
	spec, err := specOf(s, in)
	if err != nil {
		return err
	}
	return saga.OnHost(s.Context(), host, func(ctx workflow.Context) error {
		return steps.Libvirt.PrepareImage(ctx, host, steps.PrepareImageIn{Token: s.Token(), Spec: spec})
	})
}

func specOf(s *saga.Saga, in steps.Rebuild) (steps.ServerSpec, error) {
	spec, err := steps.Records.ServerSpec(s.Context(), steps.ServerSpecIn{Fence: s.Fence})
	return in.Over(spec), err
}

// renew makes the guest anew, and says what is true afterwards whether it went
// well or not.
func renew(s *saga.Saga) (*steps.ServerOutcome, error) {
	in, err := saga.Input[steps.Rebuild](s)
	if err != nil {
		return unchanged(), err
	}
	host := s.Begun.Server.Host
	if err := s.Step(operations.StepGuest, saga.Move{Host: host}); err != nil {
		return spoilt(unchanged(), err), err
	}
	spec, err := specOf(s, in)
	if err != nil {
		return spoilt(unchanged(), err), err
	}
	was := s.Begun.Server.VMState
	if in.VolumeImage != "" {
		if err := refill(s, host, in); err != nil {
			return brokenGuest(s, host, in, err), err
		}
	}
	var found steps.PowerOut
	err = saga.OnHost(s.Context(), host, func(ctx workflow.Context) (err error) {
		found, err = steps.Libvirt.Rebuild(ctx, host, steps.RebuildIn{
			Token: s.Token(), Spec: spec, KeepEphemeral: in.KeepEphemeral, Off: was == vmStopped})
		return err
	})
	if err != nil {
		return brokenGuest(s, host, in, err), err
	}
	vm := vmActive
	if was == vmStopped {
		vm = vmStopped
	}
	return &steps.ServerOutcome{VMState: &vm, PowerState: &found.PowerState, Launched: true, Rebuilt: &in}, nil
}

// refillPause is how long the workflow waits before it asks again for a volume that
// is being filled; a call of the step waits for most of a minute itself.
const refillPause = 10 * time.Second

// off is done the same way by force: there is nothing to wait for.
var off = power{action: steps.PowerForceStop, forced: steps.PowerForceStop}

// refill turns the guest off and has the volume that it boots from filled anew.
func refill(s *saga.Saga, host string, in steps.Rebuild) error {
	if _, err := off.cutShort(s, host); err != nil {
		return err
	}
	for {
		out, err := steps.Cinder.Reimage(s.Context(), steps.ReimageIn{Fence: s.Fence, HostID: host, VolumeID: in.VolumeID, ImageID: in.VolumeImage})
		if err != nil || !out.Pending {
			return err
		}
		if err := saga.Wait(s.Context(), refillPause, "volume "+in.VolumeID+" is filled anew"); err != nil {
			return err
		}
	}
}

// brokenGuest is what is true of one that is half anew.
func brokenGuest(s *saga.Saga, host string, in steps.Rebuild, why error) *steps.ServerOutcome {
	if steps.IsSuperseded(why) {
		return nil
	}
	return &steps.ServerOutcome{VMState: new(vmError), PowerState: new(powerOf(s, host)), Rebuilt: &in}
}

// powerOf looks at the guest; none if it can't be seen.
func powerOf(s *saga.Saga, host string) int {
	found, err := steps.Libvirt.Power(s.Grace(forcePatience), host, steps.PowerIn{Token: s.Token(), Action: steps.PowerObserve})
	if err != nil {
		return powerNone
	}
	return found.PowerState
}

// spoilt puts the server into ERROR, unless what ended the story is no fault of
// its own.
func spoilt(now *steps.ServerOutcome, why error) *steps.ServerOutcome {
	if !harmless(why) {
		now.VMState = new(vmError)
	}
	return now
}

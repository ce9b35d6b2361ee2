package server

// The volumes of a server: made and attached before its guest is, in use once it
// runs.

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// volumePause is how long the workflow waits before it asks again for a volume
// that is being made; a call of the step waits for most of a minute itself.
const volumePause = 10 * time.Second

// attach makes the server's volumes and attaches them to the host.
func attach(s *saga.Saga, host string) error {
	if s.Begun.Server.Volumes == 0 {
		return nil
	}
	err := s.Step(operations.StepVolumes, saga.Move{
		Host:   host,
		Intend: []operations.Effect{{Kind: kindFor(s, operations.EffectVolumes), Ref: s.Begun.ResourceID}},
	})
	if err != nil {
		return err
	}
	since := workflow.Now(s.Context())
	for attempts := 1; ; attempts++ {
		out, err := steps.Cinder.Attach(s.Context(), steps.AttachIn{Fence: s.Fence, HostID: host})
		if err != nil {
			return notAttached(s, err)
		}
		if out.Pending == "" {
			return nil
		}
		waited := workflow.Now(s.Context()).Sub(since)
		if waited >= out.Patience {
			// The words of nova.exception.VolumeNotCreated.
			late := faults.New(faults.Internal, "VolumeNotCreated", "Volume %s did not finish being created even after we waited %d seconds or %d attempts. And its status is %s.",
				out.Pending, int(waited.Seconds()), attempts, out.Status)
			return aborted(s, late, late.Message)
		}
		if err := saga.Wait(s.Context(), volumePause, fmt.Sprintf("volume %s is %s", out.Pending, out.Status)); err != nil {
			return err
		}
	}
}

// use says that the guest has its volumes.
func use(s *saga.Saga) error {
	if s.Begun.Server.Volumes == 0 {
		return nil
	}
	if err := steps.Cinder.Complete(s.Context(), steps.CompleteIn{Fence: s.Fence}); err != nil {
		return notAttached(s, err)
	}
	return nil
}

// notAttached has the words of the original's BuildAbortException; no other
// host is tried.
func notAttached(s *saga.Saga, err error) error {
	f := steps.Decode(err)
	switch {
	case temporal.IsCanceledError(err), errors.Is(err, steps.ErrDeadline):
		return err
	case f == nil:
		return aborted(s, errNoVolumes, "Failure prepping block device.")
	case f.Kind == faults.Superseded:
		return err
	case f.Kind.Retryable():
		return aborted(s, f, "Failure prepping block device.")
	}
	return aborted(s, f, f.Message)
}

var errNoVolumes = faults.New(faults.Unavailable, "CinderConnectionFailed", "the block storage service did not answer in time")

package server

// Build makes a server that the API has accepted.
//
//	BUILD/scheduling ──schedule──► BUILD/networking ──► BUILD/spawning ──guest──► ACTIVE
//	       ▲                                                  │ host failed
//	       └──────────── undone or owed, next host ◄──────────┘
//
// Point of no return: none before it finishes.
//
//	before      a row in BUILD, nothing outside
//	after       the guest runs on one host, the row says which
//	cancelled   at any step: no guest, disk, port or claim; the row is in ERROR
//	            and says so (a delete that pre-empted the build goes on from there)

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// maxBuildAttempts is how many hosts are tried (Nova: scheduler/max_attempts).
const maxBuildAttempts = 3

// Build is the workflow of operations.ServerBuild.
func Build(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	built, err := build(s)
	return s.Close(saga.Outcome{Server: built, OnFailure: failed()}, err)
}

func build(s *saga.Saga) (*steps.ServerOutcome, error) {
	for {
		host, err := schedule(s)
		if err != nil {
			return nil, err
		}
		power, err := spawn(s, host)
		if err == nil {
			return running(host, power), nil
		}
		if !anotherHostMayDo(err) || s.Attempt() == maxBuildAttempts {
			return nil, err
		}
		if err := s.UndoAttempt("leaving the host"); err != nil {
			return nil, err
		}
		s.NextAttempt()
	}
}

// schedule chooses a host that no earlier attempt has failed on and takes room
// there; the claim's ledger line is written in the same transaction.
func schedule(s *saga.Saga) (host string, err error) {
	if err := s.Step(operations.StepSchedule, saga.Move{}); err != nil {
		return "", err
	}
	var tried []string
	for _, e := range s.Ledger() {
		if e.Kind == operations.EffectClaim && e.Attempt < s.Attempt() {
			tried = append(tried, e.Host)
		}
	}
	claim, err := steps.Placement.Claim(s.Context(), steps.ClaimIn{Fence: s.Fence, Attempt: s.Attempt(), Exclude: tried})
	if err != nil {
		return "", err
	}
	s.Adopt(claim.Effects)
	return claim.HostID, nil
}

// spawn makes the guest run on the host.
func spawn(s *saga.Saga, host string) (powerState int, err error) {
	err = s.Step(operations.StepGuest, saga.Move{
		Host:   host,
		Intend: []operations.Effect{{Kind: operations.EffectGuest, Ref: s.Begun.ResourceID, Host: host}},
	})
	if err != nil {
		return 0, err
	}
	spec, err := steps.Records.ServerSpec(s.Context(), steps.ServerSpecIn{Fence: s.Fence})
	if err != nil {
		return 0, err
	}
	var built steps.BuildOut
	err = saga.OnHost(s.Context(), host, func() (err error) {
		built, err = steps.Libvirt.Build(s.Context(), host, steps.BuildIn{Token: s.Token(), Spec: spec})
		return err
	})
	return built.PowerState, err
}

// anotherHostMayDo tells a failure of the host from one of the request.
func anotherHostMayDo(err error) bool {
	if errors.Is(err, saga.ErrHostDown) || steps.IsHostSilent(err) {
		return true
	}
	f := steps.Decode(err)
	return f != nil && (f.Kind == faults.Unavailable || f.Kind == faults.Internal || f.Kind == faults.NoCapacity)
}

package server

// Build makes a server that the API has accepted.
//
//	BUILD ──schedule──► claim on a host ──network──► ports ──volumes──► volumes ──guest──► domain and disks ──► ACTIVE
//	            ▲                                                                                 │ the host failed
//	            └─────────────────────────── undone or owed, next host ◄──────────────────────────┘
//
// Point of no return: none before it finishes; its deadline (an hour) is the
// patience with a host that is alive and takes no work.
//
//	step      before it                 after it                   its undo
//	schedule  a row in BUILD,           room is claimed on a host, the room is given back,
//	          nothing outside           the ledger says where      or owed with the guest
//	network   the same                  its ports are made and     ours are deleted, users'
//	                                    bound to the host          own are let go of
//	volumes   the same                  its volumes are made and   ours are deleted, users'
//	                                    attached to the host       own are detached
//	          (neither step for a server that asks for no such thing)
//	guest     the same                  the guest runs there, and  domain and disks are
//	                                    has its ports and volumes  removed, or owed
//	finish    the same                  ACTIVE, on its host; claim and guest are the
//	                                    server's own
//
//	cancelled at any step, failed or out of time: no guest, disk or claim, or a
//	debt of a host that is down; the row is in ERROR and says why, off any host
//	(a delete that pre-empted the build goes on from there)

import (
	"errors"
	"slices"

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
	s, err := saga.BeginWith(ctx, ref, operations.StepSchedule, undo)
	if s == nil {
		return err
	}
	built, err := build(s)
	return s.Close(saga.Outcome{Server: built, OnFailure: failed()}, err)
}

func build(s *saga.Saga) (*steps.ServerOutcome, error) {
	if s.Begun.Step == operations.StepUndo {
		// An earlier run was lost while it was leaving a host.
		if err := leaveHost(s, errors.New("the attempt was interrupted")); err != nil {
			return nil, err
		}
	}
	for {
		host, err := schedule(s, nil)
		if err != nil {
			return nil, err
		}
		power, err := equip(s, host)
		if err == nil {
			return running(host, power), nil
		}
		if !anotherHostMayDo(err) {
			return nil, err
		}
		s.Blame(host)
		if err := leaveHost(s, err); err != nil {
			return nil, err
		}
	}
}

// schedule chooses a host that no earlier attempt has failed on and takes room
// there; the claim's ledger line is written in the same transaction. To says where
// a server may run that ran before.
func schedule(s *saga.Saga, to *steps.Destination) (host string, err error) {
	if err := s.Step(operations.StepSchedule, saga.Move{}); err != nil {
		return "", err
	}
	failed := tried(s)
	exclude := failed
	if home := s.Begun.Server.Host; home != "" { // it is to leave that
		exclude = append(slices.Clone(failed), home)
	}
	claim, err := steps.Placement.Claim(s.Context(), steps.ClaimIn{Fence: s.Fence, Attempt: s.Attempt(), Exclude: exclude, Destination: to})
	if err != nil {
		if len(failed) > 0 && saga.Reason(err).Kind == faults.NoCapacity {
			return "", retriesExceeded("Exhausted all hosts available for retrying build failures for instance %s.", s.Begun.ResourceID)
		}
		return "", err
	}
	s.Adopt(claim.Effects)
	return claim.HostID, nil
}

// tried are the hosts of earlier attempts.
func tried(s *saga.Saga) (hosts []string) {
	for _, e := range s.Ledger() {
		if e.Kind == operations.EffectClaim && e.Attempt < s.Attempt() {
			hosts = append(hosts, e.Host)
		}
	}
	return hosts
}

// equip makes all that the server has on the host.
func equip(s *saga.Saga, host string) (powerState int, err error) {
	ports, err := connect(s, host)
	if err != nil {
		return 0, err
	}
	if err := attach(s, host); err != nil {
		return 0, err
	}
	if powerState, err = spawn(s, host); err != nil {
		return 0, err
	}
	if err := use(s); err != nil {
		return 0, err
	}
	return powerState, ports.plugged(s)
}

// spawn makes the guest run on the host.
func spawn(s *saga.Saga, host string) (powerState int, err error) {
	return spawnAs(s, host, steps.BuildIn{})
}

// spawnAs is spawn of a guest that has to do with another.
func spawnAs(s *saga.Saga, host string, in steps.BuildIn) (powerState int, err error) {
	err = s.Step(operations.StepGuest, saga.Move{
		Host:   host,
		Intend: []operations.Effect{{Kind: operations.EffectGuest, Ref: s.Begun.ResourceID, Host: host}},
	})
	if err != nil {
		return 0, err
	}
	if in.Spec, err = steps.Records.ServerSpec(s.Context(), steps.ServerSpecIn{Fence: s.Fence}); err != nil {
		return 0, err
	}
	var built steps.BuildOut
	err = saga.OnHost(s.Context(), host, func(ctx workflow.Context) (err error) {
		in.Token = s.Token()
		built, err = steps.Libvirt.Build(ctx, host, in)
		return err
	})
	return built.PowerState, err
}

// leaveHost undoes the attempt and counts the next, if there may be one.
func leaveHost(s *saga.Saga, why error) error {
	reason := saga.Reason(why).Message
	if err := s.UndoAll("leaving the host: " + reason); err != nil {
		return err
	}
	if s.Attempt() == maxBuildAttempts {
		return retriesExceeded("Exceeded max scheduling attempts %d for instance %s. Last exception: %s",
			maxBuildAttempts, s.Begun.ResourceID, reason)
	}
	s.NextAttempt()
	return nil
}

// retriesExceeded has the words of nova.exception.MaxRetriesExceeded.
func retriesExceeded(format string, args ...any) error {
	return faults.New(faults.NoCapacity, "MaxRetriesExceeded", "Exceeded maximum number of retries. "+format, args...)
}

// anotherHostMayDo tells a failure of the host from one of the request, the
// operation's time or its owner.
func anotherHostMayDo(err error) bool {
	if errors.Is(err, saga.ErrHostDown) || steps.IsTooSlow(err) {
		return true
	}
	f := steps.Decode(err)
	return f != nil && (f.Kind.Retryable() || f.Kind == faults.NoCapacity)
}

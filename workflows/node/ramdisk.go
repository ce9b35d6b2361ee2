package node

// A node's ramdisk: booted, waited for, told things, and taken away.

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// undos are how the effects of operations on nodes are taken back.
var undos = map[operations.EffectKind]saga.Undo{
	operations.EffectRamdisk: clearRamdisk,
}

// changeTime is how long a node may take to come to another power.
const changeTime = time.Minute

// bootRamdisk starts the node's ramdisk under a step, in a working state of the
// node, and waits in the state that belongs to it until the ramdisk has called back.
func bootRamdisk(s *saga.Saga, step string, works, waits provision.State) error {
	move := shown(s, works)
	if !holds(s, operations.EffectRamdisk) {
		move.Intend = []operations.Effect{{Kind: operations.EffectRamdisk, Ref: s.Begun.Node.ID, Host: steps.ConductorQueue(s.Begun.Node.Group)}}
	}
	if err := s.Step(step, move); err != nil {
		return err
	}
	err := onConductor(s, func(ctx workflow.Context) error {
		return steps.Boot.Ramdisk(ctx, s.Begun.Node.Group, steps.BootRamdiskIn{Fence: s.Fence})
	})
	if err == nil {
		err = bringTo(s, "ramdisk", provision.PowerReboot)
	}
	if err == nil {
		err = s.Step(step, shown(s, waits))
	}
	if err == nil {
		err = await(s, waits, "the ramdisk calls back", func(n steps.NodeBrief) bool { return !n.RamdiskHeard.IsZero() })
	}
	if err == nil {
		err = s.Step(step, shown(s, works))
	}
	return err
}

// holds says whether the ledger has an effect of a kind.
func holds(s *saga.Saga, kind operations.EffectKind) bool {
	for _, e := range s.Ledger() {
		if e.Kind == kind && e.Open() {
			return true
		}
	}
	return false
}

// bringTo brings the node to a power, as an act of that name.
func bringTo(s *saga.Saga, name string, target provision.Power) error {
	_, err := changePower(s, name, steps.NodePowerInput{Target: string(target), Timeout: changeTime})
	return err
}

// lookEvery is the time between two looks at a command of a ramdisk that says nothing.
const lookEvery = time.Minute

// tell has the ramdisk do something once, and waits in a waiting state of the node
// for as long as the ramdisk is heard of.
func tell(s *saga.Saga, step string, works, waits provision.State, in steps.AgentCommandIn) (out steps.AgentCommandOut, err error) {
	in.Fence, in.Of = s.Fence, origin(s)
	waiting, since := false, workflow.Now(s.Context())
	for {
		err = onConductor(s, func(ctx workflow.Context) (err error) {
			out, err = steps.Agent.Command(ctx, s.Begun.Node.Group, in)
			return err
		})
		unreached := err != nil && isUnreached(saga.Reason(err))
		if err != nil && !unreached || err == nil && out.State != steps.AgentRunning {
			break
		}
		if !waiting {
			if err := s.Step(step, shown(s, waits)); err != nil {
				return out, err
			}
			waiting = true
		}
		now, lookErr := steps.Records.Node(s.Context(), steps.NodeIn{Fence: s.Fence})
		if lookErr != nil {
			return out, lookErr
		}
		if now.RamdiskHeard.After(since) {
			since = now.RamdiskHeard
		}
		if info, _ := provision.Lookup(waits); workflow.Now(s.Context()).Sub(since) > info.Deadline {
			if err == nil {
				err = errTimeout
			}
			return out, err
		}
		if err := saga.Wait(s.Context(), lookEvery, "the ramdisk is at work"); err != nil {
			return out, err
		}
	}
	if waiting && err == nil {
		err = s.Step(step, shown(s, works))
	}
	if err == nil && out.State != steps.AgentDone {
		err = agentLost(out.State)
	}
	return out, err
}

// isUnreached says whether a ramdisk may answer yet that has not answered.
func isUnreached(f *faults.Error) bool {
	return f.Kind == faults.Unavailable && f.Code == "AgentConnectionFailed"
}

// agentLost is the verdict on a ramdisk that isn't the one that was told something.
func agentLost(state steps.AgentState) error {
	if state == steps.AgentOutdated {
		return faults.New(faults.Conflict, "VersionMismatch", "Hardware managers version mismatch, reload agent with correct version")
	}
	return faults.New(faults.Conflict, "AgentRestarted", "the agent was started anew while it was at work, and nobody knows what it has done")
}

// clearRamdisk is the undo: the node is off, unless it is never turned off, nothing
// is in its drive, and nothing is served for it.
func clearRamdisk(ctx workflow.Context, s *saga.Saga, _ operations.Effect) error {
	return shutDown(ctx, s, "undo")
}

// shutDown is that, as an act of a name.
func shutDown(ctx workflow.Context, s *saga.Saga, name string) error {
	in := steps.BootClearIn{Fence: s.Fence}
	if !s.Begun.Node.DisablePowerOff {
		found, err := changePowerIn(ctx, s, name, steps.NodePowerInput{Target: string(provision.PowerOff), Timeout: changeTime})
		if err != nil {
			return err
		}
		in.PowerState = found.PowerState
	}
	return conducted(ctx, func(ctx workflow.Context) error { return steps.Boot.Clear(ctx, s.Begun.Node.Group, in) })
}

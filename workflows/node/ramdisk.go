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
	operations.EffectNetwork: leaveNetwork,
}

// changeTime is how long a node may take to come to another power.
const changeTime = time.Minute

// bootRamdisk starts the node's ramdisk under a step, in a working state of the
// node, and waits in the state that belongs to it until the ramdisk has called back.
func bootRamdisk(s *saga.Saga, step string, works, waits provision.State, in steps.BootRamdiskIn) error {
	return bootRamdiskAs(s, ramdiskAct(s), step, works, waits, in)
}

// bootRamdiskAs is that as an act of a name.
func bootRamdiskAs(s *saga.Saga, act, step string, works, waits provision.State, in steps.BootRamdiskIn) error {
	err := insertRamdisk(s, act, step, works, in)
	if err == nil {
		err = bringTo(s, act, provision.PowerReboot)
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

// insertRamdisk has the node start its ramdisk when it is turned on by an act of a name, on
// the network that the ramdisk has for the step.
func insertRamdisk(s *saga.Saga, act, step string, works provision.State, in steps.BootRamdiskIn) error {
	in.Fence = s.Fence
	move := shown(s, works)
	move.Intend = networkEffect(s)
	if !holds(s, operations.EffectRamdisk) {
		move.Intend = append(move.Intend, operations.Effect{Kind: operations.EffectRamdisk, Ref: s.Begun.Node.ID, Host: steps.ConductorQueue(s.Begun.Node.Group)})
	}
	if err := s.Step(step, move); err != nil {
		return err
	}
	if err := rewire(s.Context(), s, act, ramdiskNetworks[step]); err != nil {
		return err
	}
	return onConductor(s, func(ctx workflow.Context) error {
		return steps.Boot.Ramdisk(ctx, s.Begun.Node.Group, in)
	})
}

// ramdiskAct names the start of the ramdisk.
func ramdiskAct(s *saga.Saga) string {
	if s.Begun.Recovers != nil {
		return "ramdisk again" // it is another one, of which the lost operation's knows nothing
	}
	return "ramdisk"
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

// withoutRamdisk is a step that begins in a state when the ramdisk is gone, and the node on
// no network for its sake.
func withoutRamdisk(s *saga.Saga, state provision.State) saga.Move {
	move := shown(s, state)
	for _, e := range s.Ledger() {
		if (e.Kind == operations.EffectRamdisk || e.Kind == operations.EffectNetwork) && e.Open() {
			move.Settle = append(move.Settle, steps.Settlement{Seq: e.Seq, State: operations.Undone})
		}
	}
	return move
}

// bringTo brings the node to a power, as an act of that name.
func bringTo(s *saga.Saga, name string, target provision.Power) error {
	_, err := changePower(s, name, steps.NodePowerInput{Target: string(target), Timeout: changeTime})
	return err
}

// fromDisk has the node start from its disk, now and later, on the networks of its instance,
// under the step start in a working state of the node; nothing of a ramdisk is left.
func fromDisk(s *saga.Saga, works provision.State) error {
	err := s.Step(operations.StepStart, shown(s, works))
	if err == nil {
		err = rewire(s.Context(), s, instanceAct, steps.NetworkTenant)
	}
	if err != nil {
		return err
	}
	return bootInstance(s)
}

// instanceAct names the start of the instance.
const instanceAct = "instance"

// bootInstance does that under the step that the story is in.
func bootInstance(s *saga.Saga) error {
	err := onConductor(s, func(ctx workflow.Context) error {
		return steps.Boot.Clear(ctx, s.Begun.Node.Group, steps.BootClearIn{Fence: s.Fence, Disk: true})
	})
	if err == nil {
		err = bringTo(s, instanceAct, provision.PowerReboot)
	}
	return err
}

// on is where a node has come to that is on.
func on(state provision.State) *steps.NodeOutcome {
	now, power := at(state), string(provision.PowerOn)
	now.PowerState = &power
	return now
}

// lookEvery is the time between two looks at a command of a ramdisk that says nothing.
const lookEvery = time.Minute

// tell has the ramdisk do something once, and waits in a waiting state of the node
// for as long as the ramdisk is heard of.
func tell(s *saga.Saga, step string, works, waits provision.State, in steps.AgentCommandIn) (steps.AgentCommandOut, error) {
	return tellIn(s.Interruptible(), s, false, step, works, waits, in)
}

// tellIn is tell on a context of its own; what is kept up is waited for to its end,
// cancelled or not, unless another operation waits for the node.
func tellIn(ctx workflow.Context, s *saga.Saga, kept bool, step string, works, waits provision.State, in steps.AgentCommandIn) (out steps.AgentCommandOut, err error) {
	in.Fence, in.Of = s.Fence, origin(s)
	waiting, since := false, workflow.Now(ctx)
	show := func(state provision.State) error {
		err := s.Step(step, shown(s, state))
		if kept && isCancel(err) {
			return nil
		}
		return err
	}
	for {
		err = conducted(ctx, func(ctx workflow.Context) (err error) {
			out, err = steps.Agent.Command(ctx, s.Begun.Node.Group, in)
			return err
		})
		unreached := err != nil && steps.IsAgentUnreached(saga.Reason(err))
		if err != nil && !unreached || err == nil && out.State != steps.AgentRunning {
			break
		}
		if !waiting {
			if err := show(waits); err != nil {
				return out, err
			}
			waiting = true
		}
		now, lookErr := steps.Records.Node(ctx, steps.NodeIn{Fence: s.Fence})
		if lookErr != nil {
			return out, lookErr
		}
		if kept && now.Awaited {
			s.Hear(true) // whoever waits has asked for that
			return out, saga.ErrCancelled
		}
		if now.RamdiskHeard.After(since) {
			since = now.RamdiskHeard
		}
		if info, _ := provision.Lookup(waits); workflow.Now(ctx).Sub(since) > info.Deadline {
			if err == nil {
				err = errTimeout
			}
			return out, err
		}
		if err := anew(s); err != nil {
			return out, err
		}
		if err := saga.Wait(ctx, lookEvery, "the ramdisk is at work"); err != nil {
			return out, err
		}
	}
	if waiting && err == nil {
		err = show(works)
	}
	if err == nil && out.State != steps.AgentDone {
		err = agentLost(out.State)
	}
	return out, err
}

// isCancel says whether a story ends because somebody has asked for that.
func isCancel(err error) bool { return err != nil && saga.Reason(err).Code == saga.ErrCancelled.Code }

// agentLost is the verdict on a ramdisk that isn't the one that was told something.
func agentLost(state steps.AgentState) error {
	if state == steps.AgentOutdated {
		return faults.New(faults.Conflict, "VersionMismatch", "Hardware managers version mismatch, reload agent with correct version")
	}
	return faults.New(faults.Conflict, "AgentRestarted", "the agent was started anew while it was at work, and nobody knows what it has done")
}

// clearRamdisk is the undo: the node is off, unless it is never turned off, nothing
// is in its drive, and nothing is served for it. One that was serviced runs its instance
// again.
func clearRamdisk(ctx workflow.Context, s *saga.Saga, _ operations.Effect) error {
	if kindOf(s) == operations.NodeService {
		return putBack(ctx, s)
	}
	return shutDown(ctx, s, "undo")
}

// takeDown is that, as an act of a name, and the node is on no network afterwards.
func takeDown(ctx workflow.Context, s *saga.Saga, name string) error {
	if err := shutDown(ctx, s, name); err != nil {
		return err
	}
	return switchTo(ctx, s, steps.NetworkNone)
}

// shutDown is that without a word on networks.
func shutDown(ctx workflow.Context, s *saga.Saga, name string) error {
	return shutDownTo(ctx, s, name, steps.BootClearIn{Fence: s.Fence})
}

// shutDownTo is that with a word on what the node starts from afterwards.
func shutDownTo(ctx workflow.Context, s *saga.Saga, name string, in steps.BootClearIn) error {
	if !s.Begun.Node.DisablePowerOff {
		found, err := changePowerIn(ctx, s, name, steps.NodePowerInput{Target: string(provision.PowerOff), Timeout: changeTime})
		if err != nil {
			return err
		}
		in.PowerState = found.PowerState
	}
	return conducted(ctx, func(ctx workflow.Context) error { return steps.Boot.Clear(ctx, s.Begun.Node.Group, in) })
}

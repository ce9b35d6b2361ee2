package node

// A model of the node that operations work on, by the rules that activities/bmc keeps.

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/workflowtest"
)

// world is one node and the operation that holds it.
type world struct {
	workflowtest.Model
	// power is the machine's, pending how often it asks for more time. Broken refuses
	// whatever it is told; blind can't be looked at either.
	power         provision.Power
	pending       int
	broken, blind bool
	// refuses is the step of the ramdisk that it fails, silent one that doesn't call
	// back, slowly how often each of its commands asks for more time.
	refuses string
	silent  bool
	slowly  int
	// dies has the BMC be dead from the step on that the ramdisk fails.
	dies bool
	// medium says that the ramdisk is in the drive, disk that the machine starts from
	// its disk; ramdisk that the ramdisk runs, and told what it was told.
	medium, disk, ramdisk bool
	// vacant says that the row knows of no instance, retired that nobody is to have it
	// again.
	vacant, retired bool
	told            []string
	// deploys is what deploys the node, inspects what inspects it, rescues what rescues it.
	deploys, inspects, rescues string
	// entered says that the ramdisk rescues, and listens to nobody.
	entered bool
	// found says that something was found on it, and nonsense that nothing can be made of
	// it.
	found, nonsense bool
	// expected says that what its ramdisk finds is expected.
	expected bool
	// was is where the node is in its life, steps are what it is cleaned by, and index
	// which of them is being done. Looks is how often it has been looked at while it
	// was held or waited; the third time somebody has said unhold, or it reported.
	was   provision.Position
	steps []steps.CleanStep
	index int
	looks int
	// plan is what it is cleaned by once its ramdisk was asked, begun says that the row
	// has a step begun.
	plan  []steps.CleanStep
	begun bool
	// rebooting says that the ramdisk goes at the end of the step; boot counts its starts,
	// and toldIn says in which of them it was told what it was told.
	rebooting bool
	boot      int
	toldIn    map[string]int
	// awaited says that another operation waits for it.
	awaited bool
	// did are the steps that were done, in their order.
	did []string

	// obeyed are the commands that the BMC has done; restarts is how often it is looked at
	// before one takes effect, once the machine was started anew: 0 takes effect at once.
	obeyed   []steps.NodeCommand
	restarts int
	// late says that a BMC has been waited for that did something late.
	late bool

	// networks is by what the machine's networks are changed, empty by nothing; at is the one
	// that it is on, and began the one that it was on. Unplugged is how often Neutron asks for
	// more time, and refused what it refuses.
	networks  string
	at, began steps.NodeNetwork
	unplugged int
	refused   steps.NodeNetwork

	outcome *steps.NodeOutcome
	// shown is the power that the row says: the machine's, before the operation begins.
	shown *provision.Power
	// sent are the names of the acts that the BMC was told of.
	sent map[string]bool
}

var errBad = faults.New(faults.Invalid, "Bad", "it can't work")

func (w *world) String() string {
	return fmt.Sprintf("%s finished %d as %q: %+v, power %s, sent %v, %v, medium %t, told %v, did %v", w.Step, w.Finished, w.Result, w.outcome, w.power, w.sent, w.was, w.medium, w.told, w.did)
}

func (w *world) Brief(out *steps.BeginOut) {
	if w.shown == nil {
		w.shown = new(w.power)
	}
	out.Node = &steps.NodeBrief{ID: "n", Group: "g", Conductor: "c", PowerState: string(*w.shown), Steps: w.steps, StepIndex: w.index, DeployInterface: w.deploys,
		InspectInterface: w.inspects, RescueInterface: w.rescues, NetworkInterface: w.networks, RAIDInterface: "redfish", Found: w.found, Retired: w.retired, StepsBegun: w.begun, Rebooting: w.rebooting, Awaited: w.awaited}
	if w.ramdisk && !w.silent {
		out.Node.RamdiskHeard = workflowtest.Epoch
	}
	unheld := map[provision.State]provision.State{provision.CleanHold: provision.CleanWait, provision.DeployHold: provision.DeployWait, provision.ServiceHold: provision.ServiceWait}
	if unheld[w.was.State] != "" || w.was.State == provision.CleanWait || w.was.State == provision.DeployWait || w.was.State == provision.ServiceWait {
		w.looks++
	}
	if w.looks > 2 && !w.silent {
		out.Node.RamdiskHeard = workflowtest.Epoch.Add(time.Duration(w.looks/3) * time.Second)
		if to := unheld[w.was.State]; to != "" {
			w.was.State = to
		}
	}
	if w.was.State == provision.InspectWait && w.ramdisk && !w.silent {
		if !w.expected {
			w.Broke("the ramdisk is listened to, and nobody knows by what it is known")
		}
		w.found, out.Node.Found = true, true
	}
	out.Node.ProvisionState = string(w.was.State)
}

// Move and Publish keep the node's place as internal/store/baremetal does.
func (w *world) Move(m steps.NodeMove) {
	w.to(provision.State(m.State))
	if m.StepIndex != nil {
		w.index, w.begun, w.rebooting = *m.StepIndex, true, m.Rebooting
	}
}

func (w *world) to(state provision.State) {
	now, err := w.was.Move(state)
	if err != nil {
		w.Broke("%v", err)
	}
	w.was = now
}

// Refuse: what nothing can be made of is not made the node's.
func (w *world) Refuse(in steps.FinishIn) error {
	if w.nonsense && in.Node != nil && in.Node.Found {
		return errBad
	}
	return nil
}

func (w *world) Publish(in steps.FinishIn) {
	w.outcome = in.Node
	if in.Node != nil && in.Node.PowerState != nil {
		w.shown = new(provision.Power(*in.Node.PowerState))
	}
	if in.Node != nil && in.Node.Found && !w.found && w.inspects != fakeInspect {
		w.Broke("nothing was found that could be made the node's")
	}
	switch {
	case in.Node == nil:
	case in.Node.Failed && in.Node.Aborted:
		w.was = w.was.Abort()
	case in.Node.Failed:
		w.was = w.was.Fail()
	case in.Node.State != "":
		w.to(provision.State(in.Node.State))
	}
}

func (w *world) Families() map[string]any {
	return map[string]any{"bmc": bmc{w}, "boot": boot{w}, "agent": agent{w}, "network": network{w}}
}

type bmc struct{ w *world }

func (b bmc) Power(_ context.Context, in steps.NodePowerIn) (steps.NodePowerOut, error) {
	w := b.w
	return workflowtest.Fenced(w, "bmc.Power", in.Fence, func() (out steps.NodePowerOut, err error) {
		if w.blind {
			return out, errBad
		}
		if in.Target == "" {
			return steps.NodePowerOut{PowerState: string(w.power)}, nil
		}
		if w.Kind == operations.NodePower && !w.Spec().Beyond(w.Step) {
			w.Broke("the BMC was told something before the step was written")
		}
		if w.broken {
			return out, errBad
		}
		act, target := in.Of+" "+in.Name, provision.Power(in.Target).Target()
		if in.Down {
			if !w.sent[act] { // it is on again otherwise
				w.power, w.ramdisk = provision.PowerOff, false
			}
			return steps.NodePowerOut{PowerState: string(w.power)}, nil
		}
		if w.sent[act] && w.power != target && w.restarts > 0 && len(w.plan) > 0 {
			return out, errBad // what has led there once isn't sent again
		}
		w.sent[act] = w.pending == 0
		if w.pending > 0 {
			w.pending--
			return steps.NodePowerOut{PowerState: string(w.power), Pending: true}, nil
		}
		w.power = target
		w.boot++
		w.ramdisk = w.power == provision.PowerOn && w.medium
		return steps.NodePowerOut{PowerState: string(w.power)}, nil
	})
}

// Command does as it is told, or has the machine be started anew for that.
func (b bmc) Command(_ context.Context, in steps.NodeCommandIn) (steps.NodeCommandOut, error) {
	w := b.w
	return workflowtest.Fenced(w, "bmc.Command", in.Fence, func() (out steps.NodeCommandOut, err error) {
		switch {
		case w.broken:
			return out, errBad
		case !w.Spec().Beyond(w.Step):
			w.Broke("the BMC was told something before the step was written")
		case w.restarts > 0 && !in.Restarted:
			return steps.NodeCommandOut{Effect: steps.Effect{Restart: true, PowerState: string(w.power)}}, nil
		case w.restarts > 1:
			w.restarts--
			return steps.NodeCommandOut{Effect: steps.Effect{Pending: true, PowerState: string(w.power)}}, nil
		case in.Restarted && w.power != provision.PowerOn:
			w.Broke("it was looked at with power %s", w.power)
		}
		if !slices.Contains(w.obeyed, in.Ask.Command) {
			w.obeyed = append(w.obeyed, in.Ask.Command)
		}
		return steps.NodeCommandOut{BootMode: &in.Ask.Mode}, nil
	})
}

// Verify looks at the machine.
func (b bmc) Verify(_ context.Context, in steps.NodeIn) (steps.NodeVerifyOut, error) {
	w := b.w
	return workflowtest.Fenced(w, "bmc.Verify", in.Fence, func() (out steps.NodeVerifyOut, err error) {
		switch {
		case w.blind:
			return out, errBad
		case w.refuses == provision.StepVerifyClock:
			return out, faults.New(faults.Invalid, steps.VerifyFailure, "it can't work")
		}
		return steps.NodeVerifyOut{PowerState: string(w.power), BootMode: provision.UEFI}, nil
	})
}

// Inspect looks at what the machine is made of.
func (b bmc) Inspect(_ context.Context, in steps.NodeIn) (struct{}, error) {
	w := b.w
	return workflowtest.Fenced(w, "bmc.Inspect", in.Fence, func() (out struct{}, err error) {
		if w.blind {
			return out, errBad
		}
		w.found = true
		return out, nil
	})
}

func (b bmc) Expect(_ context.Context, in steps.NodeIn) (struct{}, error) {
	w := b.w
	return workflowtest.Fenced(w, "bmc.Expect", in.Fence, func() (out struct{}, err error) {
		if w.blind {
			return out, errBad
		}
		w.expected = true
		return out, nil
	})
}

// boot is what the machine is started from.
type boot struct{ w *world }

func (b boot) Ramdisk(_ context.Context, in steps.BootRamdiskIn) (struct{}, error) {
	w := b.w
	return workflowtest.Fenced(w, "boot.Ramdisk", in.Fence, func() (out struct{}, err error) {
		if len(w.Effects) == 0 {
			w.Broke("a medium was inserted before its line was written")
		}
		if inspects := w.Kind == operations.NodeInspect; in.Inspect != inspects {
			w.Broke("a ramdisk is booted that inspects: %t", in.Inspect)
		}
		if w.networks != "" && w.at != networkOf(w) {
			w.Broke("a ramdisk is booted on the network %s", w.at)
		}
		w.medium = true
		return out, nil
	})
}

func (b boot) Clear(_ context.Context, in steps.BootClearIn) (struct{}, error) {
	w := b.w
	return workflowtest.Fenced(w, "boot.Clear", in.Fence, func() (out struct{}, err error) {
		if !in.Disk && in.PowerState != string(provision.PowerOff) && !w.entered {
			w.Broke("the ramdisk is taken away of a node with power %q", in.PowerState)
		}
		if in.PowerState != "" && !in.Runs {
			w.shown = new(provision.Power(in.PowerState))
		}
		w.medium, w.ramdisk, w.disk = false, (w.entered || in.Runs && w.ramdisk) && w.power == provision.PowerOn, in.Disk
		return out, nil
	})
}

func (b boot) Vacate(_ context.Context, in steps.NodeIn) (struct{}, error) {
	w := b.w
	return workflowtest.Fenced(w, "boot.Vacate", in.Fence, func() (struct{}, error) {
		w.vacant = true
		return struct{}{}, nil
	})
}

// agent is the ramdisk.
type agent struct{ w *world }

func (a agent) CleanPlan(_ context.Context, in steps.CleanPlanIn) (steps.CleanPlanOut, error) {
	w := a.w
	return workflowtest.Fenced(w, "agent.CleanPlan", in.Fence, func() (out steps.CleanPlanOut, err error) {
		switch {
		case !w.ramdisk || w.begun && !deploys(w):
			w.Broke("a ramdisk is asked that doesn't run, or was asked before")
		case in.Asked != (w.Kind == operations.NodeClean || w.Kind == operations.NodeService || deploys(w)):
			w.Broke("asked is %t", in.Asked)
		case in.Phase != phaseOf(w):
			w.Broke("it is asked for steps of %s", in.Phase)
		case w.plan == nil:
			return out, errBad
		}
		if w.steps = w.plan; deploys(w) {
			w.index = slices.IndexFunc(w.plan, func(s steps.CleanStep) bool { return stepID(s) == provision.StepDeploy })
		}
		return steps.CleanPlanOut{Steps: w.plan, Index: w.index}, nil
	})
}

func (a agent) Command(_ context.Context, in steps.AgentCommandIn) (steps.AgentCommandOut, error) {
	w := a.w
	return workflowtest.Fenced(w, "agent.Command", in.Fence, func() (out steps.AgentCommandOut, err error) {
		if w.entered && in.Command == steps.FinalizeRescue {
			return steps.AgentCommandOut{State: steps.AgentDone}, nil
		}
		if !w.ramdisk || w.entered {
			w.Broke("a ramdisk is told %s that doesn't run", in.Name)
		}
		if in.Row != nil && *in.Row != w.index {
			w.Broke("step %d is done at step %d", *in.Row, w.index)
		}
		if !slices.Contains(w.told, in.Name) {
			w.told = append(w.told, in.Name)
			w.toldIn[in.Name] = w.boot
			w.pending = w.slowly
			if in.Row != nil && in.Phase != phaseOf(w) {
				w.Broke("a step of %s is done", in.Phase)
			}
			if in.Row != nil && in.Name != w.refuses {
				w.did = append(w.did, in.Step.Step)
			}
		}
		switch {
		case w.toldIn[in.Name] != w.boot:
			return steps.AgentCommandOut{State: steps.AgentRestarted}, nil
		case in.Name == w.refuses:
			w.blind = w.dies
			return out, errBad
		case w.pending > 0:
			w.pending--
			return steps.AgentCommandOut{State: steps.AgentRunning}, nil
		}
		w.entered = in.Command == steps.FinalizeRescue
		return steps.AgentCommandOut{State: steps.AgentDone}, nil
	})
}

// Settle makes what was found the node's, once.
func (a agent) Settle(_ context.Context, in steps.NodeIn) (struct{}, error) {
	w := a.w
	return workflowtest.Fenced(w, "agent.Settle", in.Fence, func() (out struct{}, err error) {
		switch {
		case w.medium || w.power != provision.PowerOff:
			w.Broke("the ramdisk is there when what it has found is settled")
		case w.nonsense:
			return out, errBad
		case w.found:
			w.did = append(w.did, "settled")
		}
		w.found = false
		return out, nil
	})
}

// network is what the machine is on.
type network struct{ w *world }

// networkOf is where a world's ramdisk is to be.
func networkOf(w *world) steps.NodeNetwork {
	kind := w.Kind
	if w.Recovers != nil {
		kind = w.Recovers.Kind
	}
	if on := map[operations.Kind]steps.NodeNetwork{operations.NodeDeploy: steps.NetworkProvisioning, operations.NodeRebuild: steps.NetworkProvisioning,
		operations.NodeRescue: steps.NetworkRescuing, operations.NodeInspect: steps.NetworkInspection, operations.NodeService: steps.NetworkServicing}[kind]; on != "" {
		return on
	}
	return steps.NetworkCleaning
}

func (n network) Switch(_ context.Context, in steps.NetworkIn) (steps.NetworkOut, error) {
	w := n.w
	return workflowtest.Fenced(w, "network.Switch", in.Fence, func() (out steps.NetworkOut, err error) {
		has := func(kind operations.EffectKind, is func(operations.Effect) bool) bool {
			return slices.ContainsFunc(w.Effects, func(e operations.Effect) bool { return e.Kind == kind && is(e) })
		}
		owed := has(operations.EffectRamdisk, func(e operations.Effect) bool { return e.State == operations.Owed })
		switch {
		case w.networks == "":
			w.Broke("the networks of a machine are changed that has none")
		case in.To == w.refused:
			return out, errBad
		case in.To == networkOf(w) && !has(operations.EffectNetwork, operations.Effect.Open):
			w.Broke("it is on the network %s before its line was written", in.To)
		case w.at != in.To && in.To != steps.NetworkNone && w.power == provision.PowerOn && !w.entered && !w.broken && !owed:
			w.Broke("it comes from %s to %s while it is on", w.at, in.To)
		}
		if w.at = in.To; w.unplugged > 0 {
			w.unplugged--
			return steps.NetworkOut{Pending: true, Port: "p"}, nil
		}
		return out, nil
	})
}

func (n network) Attach(_ context.Context, in steps.NetworkVIFIn) (struct{}, error) {
	w := n.w
	return workflowtest.Fenced(w, "network.Attach", in.Fence, func() (out struct{}, err error) {
		if w.obeyed = []steps.NodeCommand{steps.AttachVIF}; w.broken { // which is found late
			err = errBad
		}
		return out, err
	})
}

func (n network) Detach(_ context.Context, in steps.NetworkVIFIn) (struct{}, error) {
	w := n.w
	return workflowtest.Fenced(w, "network.Detach", in.Fence, func() (out struct{}, err error) {
		if w.obeyed = nil; in.Ask.Command == steps.DetachVIF {
			w.obeyed = []steps.NodeCommand{steps.DetachVIF}
		}
		return out, nil
	})
}

// checkNetwork: a machine is on the networks of its instance, or on none, unless that is
// owed; one whose network was not to be changed is where it was.
func (w *world) checkNetwork(t *testing.T) {
	t.Helper()
	want, owed := w.began, w.was.State == provision.UnrescueFailed || services(w) && w.awaited
	for _, e := range w.Effects {
		if e.Kind == operations.EffectNetwork {
			want, owed = steps.NetworkNone, owed || e.State == operations.Owed
		}
	}
	switch w.was.State {
	case provision.Active, provision.Rescue, provision.ServiceFailed:
		want = steps.NetworkTenant
	}
	if w.at != want && !owed {
		t.Errorf("it is on the network %s, not %s: %s", w.at, want, w)
	}
}

// CleanStep is done once or many times.
func (b bmc) CleanStep(_ context.Context, in steps.CleanStepIn) (steps.CleanStepOut, error) {
	w := b.w
	return workflowtest.Fenced(w, "bmc.CleanStep", in.Fence, func() (out steps.CleanStepOut, err error) {
		switch name := w.steps[in.Index].Step; {
		case in.Index != w.index || in.Phase != phaseOf(w):
			w.Broke("step %d of %s is done at step %d", in.Index, in.Phase, w.index)
		case w.broken:
			return out, errBad
		case w.steps[in.Index].Interface == "bios" && w.restarts > 0 && !in.Restarted:
			return steps.CleanStepOut{Effect: steps.Effect{Restart: true, PowerState: string(w.power)}}, nil
		case w.steps[in.Index].Interface == "raid" && in.Restarts < 2: // one disk at each start
			return steps.CleanStepOut{Effect: steps.Effect{Restart: true, PowerState: string(w.power)}}, nil
		case w.steps[in.Index].Interface == "raid" && !w.late:
			w.late = true
			return steps.CleanStepOut{Effect: steps.Effect{Pending: true}}, nil
		case w.steps[in.Index].Interface == "firmware" && w.restarts > 1:
			w.restarts--
			return steps.CleanStepOut{Effect: steps.Effect{Restart: !in.Restarted, Pending: in.Restarted}}, nil
		case w.steps[in.Index].Interface == "bios" && w.restarts > 1:
			w.restarts--
			return steps.CleanStepOut{Effect: steps.Effect{Pending: true}}, nil
		case len(w.did) == 0 || w.did[len(w.did)-1] != name:
			w.did = append(w.did, name)
		}
		return out, nil
	})
}

// Check: nobody works on the node, whatever became of it; the row says the machine's power, which was changed under one name.
func (w *world) Check(t *testing.T) {
	t.Helper()
	if w.outcome == nil {
		t.Errorf("nothing is said of the node")
		return
	}
	owed := slices.ContainsFunc(w.Effects, func(e operations.Effect) bool { return e.State == operations.Owed })
	if w.shown != nil && *w.shown != "" && *w.shown != w.power && !owed {
		t.Errorf("the row says %s of a node with %s", *w.shown, w.power)
	}
	if info, _ := provision.Lookup(w.was.State); w.was.State.Transient() || info.Class == provision.Held {
		t.Errorf("the operation is over, and the node is in %q", w.was.State)
	}
	if w.networks != "" {
		w.checkNetwork(t)
	}
	if w.medium {
		for _, e := range w.Effects {
			if e.Kind == operations.EffectRamdisk && (e.State != operations.Owed || e.Host != steps.ConductorQueue("g")) {
				t.Errorf("the medium is in the drive, and the ledger says of it %+v", e)
			}
		}
	}
	gone := slices.ContainsFunc(w.Effects, func(e operations.Effect) bool {
		return e.Kind == operations.EffectRamdisk && e.State == operations.Undone
	})
	if services(w) && !w.awaited && gone && (!w.disk || w.power != provision.PowerOn) {
		t.Errorf("the ramdisk is gone, and the instance doesn't run: %s", w)
	}
	if w.was.State == provision.Rescue && w.rescues == "" && !w.entered {
		t.Error("the ramdisk has not been given its password")
	}
	if undeploys(w) && !w.vacant && w.was.State != provision.Error {
		t.Errorf("the node is %q and has its instance", w.was.State)
	}
	if len(w.sent) > 1 && w.was.State == "" && w.restarts == 0 {
		t.Errorf("it was sent under more than one name: %v", w.sent)
	}
}

// End is how it ended, as a scene has it.
func (w *world) End() string {
	s := string(w.Result)
	if w.outcome != nil && w.outcome.PowerState != nil {
		s += ", " + *w.outcome.PowerState
	}
	if w.was.State != "" {
		s += ", " + string(w.was.State)
	}
	if len(w.did) > 0 {
		s += " " + fmt.Sprint(w.did)
	}
	if len(w.obeyed) > 0 {
		s += " " + fmt.Sprint(w.obeyed)
	}
	if w.outcome != nil && w.outcome.Fault != "" {
		s += ", " + w.outcome.Fault
	}
	if w.Fault != nil {
		s += ": " + w.Fault.Message
	}
	return s
}

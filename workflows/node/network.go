package node

// The networks of Neutron that a node is on: its ramdisk's for some work, its instance's,
// or none. They change while the machine is off.

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// ramdiskNetworks are those that a ramdisk is on which a step boots.
var ramdiskNetworks = map[string]steps.NodeNetwork{
	operations.StepClean: steps.NetworkCleaning, operations.StepDeploy: steps.NetworkProvisioning, operations.StepPrepare: steps.NetworkRescuing,
	operations.StepInspect: steps.NetworkInspection, operations.StepService: steps.NetworkServicing,
}

// networked says whether the node has an interface by which its networks are changed.
func networked(s *saga.Saga) bool { return s.Begun.Node.NetworkInterface != "" }

// networkEffect is what the ledger says of a network that the node is about to be on; nothing
// if it says so already.
func networkEffect(s *saga.Saga) []operations.Effect {
	if !networked(s) || holds(s, operations.EffectNetwork) {
		return nil
	}
	return []operations.Effect{{Kind: operations.EffectNetwork, Ref: s.Begun.Node.ID, Host: steps.ConductorQueue(s.Begun.Node.Group)}}
}

const (
	// plugTime is how long Neutron may take to plug a port, and plugPause the time between
	// two looks.
	plugTime  = 1000 * time.Second
	plugPause = 10 * time.Second
)

// switchTo has the node be on a network, and on no other.
func switchTo(ctx workflow.Context, s *saga.Saga, to steps.NodeNetwork) error {
	if !networked(s) {
		return nil
	}
	for begun := workflow.Now(ctx); ; {
		var out steps.NetworkOut
		err := conducted(ctx, func(ctx workflow.Context) (err error) {
			out, err = steps.Network.Switch(ctx, s.Begun.Node.Group, steps.NetworkIn{Fence: s.Fence, To: to})
			return err
		})
		if err != nil || !out.Pending {
			return err
		}
		if workflow.Now(ctx).Sub(begun) > plugTime {
			return faults.New(faults.Conflict, "NetworkError", "Port %s failed to reach status ACTIVE", out.Port)
		}
		if err := saga.Wait(ctx, plugPause, "Neutron plugs the port"); err != nil {
			return err
		}
	}
}

// rewire is that, in the middle of an act that has the node start anew: what it runs is
// never on another's network.
func rewire(ctx workflow.Context, s *saga.Saga, act string, to steps.NodeNetwork) error {
	if !networked(s) {
		return nil
	}
	in := steps.NodePowerIn{Fence: s.Fence, Of: origin(s), Name: act, Target: string(provision.PowerReboot), Timeout: changeTime, Down: true}
	if _, err := powered(ctx, s, in); err != nil {
		return err
	}
	return switchTo(ctx, s, to)
}

// leaveNetwork is the undo: the node is on no network; one that was serviced is on those of
// its instance, unless another operation waits for it.
func leaveNetwork(ctx workflow.Context, s *saga.Saga, _ operations.Effect) error {
	to := steps.NetworkNone
	if kindOf(s) == operations.NodeService {
		now, err := steps.Records.Node(ctx, steps.NodeIn{Fence: s.Fence})
		if err != nil {
			return err
		}
		if !now.Awaited {
			to = steps.NetworkTenant
		}
	}
	return switchTo(ctx, s, to)
}

// vifs are how a node comes to bear one, and to bear it no longer.
var vifs = map[steps.NodeCommand]func(*saga.Saga, steps.NetworkVIFIn) error{
	steps.AttachVIF: attachVIF,
	steps.DetachVIF: func(s *saga.Saga, in steps.NetworkVIFIn) error { return detachVIF(s.Context(), s, in) },
}

// attachVIF has one be borne, or, if Neutron doesn't bind it, by nothing.
func attachVIF(s *saga.Saga, in steps.NetworkVIFIn) error {
	err := onConductor(s, func(ctx workflow.Context) error { return steps.Network.Attach(ctx, s.Begun.Node.Group, in) })
	if err != nil && !steps.IsSuperseded(err) {
		if left := detachVIF(s.Grace(saga.Patience), s, in); left != nil {
			workflow.GetLogger(s.Context()).Error("a VIF is borne that could not be bound", "vif", in.Ask.VIF, "error", left)
		}
	}
	return err
}

func detachVIF(ctx workflow.Context, s *saga.Saga, in steps.NetworkVIFIn) error {
	return conducted(ctx, func(ctx workflow.Context) error { return steps.Network.Detach(ctx, s.Begun.Node.Group, in) })
}

package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/workflowtest"
)

// powering is a node that is off and is to come to another power.
func powering(target provision.Power, change ...func(*world)) func() *world {
	return func() *world {
		w := &world{power: provision.PowerOff, sent: map[string]bool{}, toldIn: map[string]int{}}
		w.Kind, w.Input = operations.NodePower, fmt.Appendf(nil, `{"target": %q, "timeout": 60000000000}`, target)
		for _, f := range change {
			f(w)
		}
		return w
	}
}

// commanding is a node whose BMC is told something.
func commanding(what steps.NodeCommand, change ...func(*world)) func() *world {
	return func() *world {
		w := &world{power: provision.PowerOff, sent: map[string]bool{}, toldIn: map[string]int{}}
		w.Kind, w.Input = operations.NodeCommand, fmt.Appendf(nil, `{"command": %q, "mode": "uefi", "media": ["cdrom"]}`, what)
		for _, f := range change {
			f(w)
		}
		return w
	}
}

// settling has what the BMC is told take effect once the machine was started anew.
func settling(w *world) { w.restarts = 3 }

// moving is a node on which an operation of a kind begins that shows it in a state.
func moving(kind operations.Kind, state provision.State, change ...func(*world)) func() *world {
	return func() *world {
		w := &world{power: provision.PowerOff, sent: map[string]bool{}, toldIn: map[string]int{}}
		info, _ := provision.Lookup(state)
		w.Kind, w.was = kind, provision.Position{State: state, Target: info.Target}
		for _, f := range change {
			f(w)
		}
		return w
	}
}

// deploying is a node that an image is to be written to, by what each deployment does and
// two steps that its ramdisk has.
func deploying(change ...func(*world)) func() *world {
	return moving(operations.NodeDeploy, provision.Deploying, append([]func(*world){usually}, change...)...)
}

// rebuilding is one that has an image.
func rebuilding(change ...func(*world)) func() *world {
	return moving(operations.NodeRebuild, provision.Deploying, append([]func(*world){usually}, change...)...)
}

var usually = through("deploy", "early", "write_image", "late", "prepare_instance_boot", "tear_down_agent", "switch_to_tenant_network", "boot_instance")

// through has a node be deployed by steps. Those of its BMC, and those that every
// deployment has, are known before its ramdisk was asked; an exclamation mark has one start
// the ramdisk anew.
func through(names ...string) func(*world) {
	return func(w *world) {
		w.Input, w.steps, w.plan = []byte(`{}`), nil, nil
		for _, name := range names {
			plain := strings.TrimSuffix(name, "!")
			step := steps.CleanStep{Interface: "vendor", Step: plain, Abortable: true, Reboots: plain != name}
			known := true
			switch id := "deploy." + plain; {
			case byDeployment.own[id] != nil || id == provision.StepWriteImage:
				step.Interface = "deploy"
			case plain == "early" || plain == "late":
				step.Interface, known = map[string]string{"early": "deploy", "late": "raid"}[plain], false
			case plain == "bios":
				step.Interface = plain
			case plain == "pause":
				step.Step, step.Seconds = provision.StepWait, 5
			}
			if w.plan = append(w.plan, step); known {
				w.steps = append(w.steps, step)
			}
		}
	}
}

// deploys says whether a world is of one, or of the recovery of one.
func deploys(w *world) bool {
	kind := w.Kind
	if w.Recovers != nil {
		kind = w.Recovers.Kind
	}
	return kind == operations.NodeDeploy || kind == operations.NodeRebuild
}

// known is a node whose ramdisk runs, and has said what it is deployed by; the last of
// that is being done.
func known(w *world) {
	asked(w)
	w.index = len(w.steps) - 1
}

// inspecting is a node of which somebody wants to know what it is made of.
func inspecting(change ...func(*world)) func() *world {
	return moving(operations.NodeInspect, provision.Inspecting, change...)
}

// discovering is one whose ramdisk is to tell it.
func discovering(change ...func(*world)) func() *world {
	return inspecting(append([]func(*world){func(w *world) { w.inspects = agentInspect }}, change...)...)
}

// undeploying is a node whose instance is taken away.
func undeploying(change ...func(*world)) func() *world {
	return moving(operations.NodeUndeploy, provision.Deleting, append([]func(*world){by(), func(w *world) { w.power = provision.PowerOn }}, change...)...)
}

// undeploys says whether a world is of one, or of the recovery of one.
func undeploys(w *world) bool {
	return w.Kind == operations.NodeUndeploy || w.Recovers != nil && w.Recovers.Kind == operations.NodeUndeploy
}

// servicing is a node whose instance is to make way for what is done to it.
func servicing(change ...func(*world)) func() *world {
	return moving(operations.NodeService, provision.Servicing, append([]func(*world){func(w *world) { w.power = provision.PowerOn }}, change...)...)
}

// services says whether a world is of one, or of the recovery of one.
func services(w *world) bool {
	return w.Kind == operations.NodeService || w.Recovers != nil && w.Recovers.Kind == operations.NodeService
}

// phaseOf is what the steps of a world's node are done for.
func phaseOf(w *world) steps.AgentPhase {
	switch {
	case services(w):
		return steps.AgentService
	case deploys(w):
		return steps.AgentDeploy
	}
	return steps.AgentClean
}

func retired(w *world) { w.retired = true }

// emptied is a node whose instance is gone, and that is being cleaned.
func emptied(w *world) {
	w.was, w.vacant, w.power = provision.Position{State: provision.Cleaning, Target: provision.Available}, true, provision.PowerOff
}

// from has a node be cleaned by steps that its ramdisk has, one of its BMC's among them; an
// exclamation mark is as in through.
func from(names ...string) func(*world) {
	return func(w *world) {
		w.Input = []byte(`{"ramdisk": true}`)
		w.plan = []steps.CleanStep{}
		for _, name := range names {
			kept := strings.TrimSuffix(name, "?")
			plain := strings.TrimSuffix(kept, "!")
			step := steps.CleanStep{Interface: "deploy", Step: plain, Abortable: kept != name, Reboots: plain != kept}
			if of := map[string]string{"bmc": "vendor", "bios": "bios", "raid": "raid"}[plain]; of != "" {
				step.Interface = of
			}
			w.plan = append(w.plan, step)
		}
	}
}

// asked is a node whose ramdisk runs, and has said what it is cleaned by.
func asked(w *world) {
	booted(w)
	w.steps, w.begun = w.plan, true
}

// adopting is a node that runs an instance already.
func adopting(change ...func(*world)) func() *world {
	return moving(operations.NodeAdopt, provision.Adopting, append([]func(*world){func(w *world) { w.Input, w.power = []byte(`{}`), provision.PowerOn }}, change...)...)
}

// rescuing is a node that is to run a ramdisk beside its disk, unrescuing one that is to
// run its instance again.
func rescuing(change ...func(*world)) func() *world {
	return moving(operations.NodeRescue, provision.Rescuing, append([]func(*world){func(w *world) { w.power = provision.PowerOn }}, change...)...)
}

func unrescuing(change ...func(*world)) func() *world {
	return moving(operations.NodeUnrescue, provision.Unrescuing, append([]func(*world){func(w *world) { w.power, w.ramdisk, w.entered = provision.PowerOn, true, true }}, change...)...)
}

// wired is a node that is on networks of Neutron: those of its instance, if it has one.
func wired(w *world) {
	w.networks, w.at = "neutron", steps.NetworkNone
	switch w.Kind {
	case operations.NodeRebuild, operations.NodeUndeploy, operations.NodeRescue, operations.NodeUnrescue, operations.NodeService:
		w.at = steps.NetworkTenant
	}
	w.began = w.at
}

// bootedThere is booted, on the network that the ramdisk has for that.
func bootedThere(w *world) {
	wired(w)
	booted(w)
	w.at = networkOf(w)
	w.Effects[0].Seq = 2
	w.Effects = append([]operations.Effect{{Seq: 1, Kind: operations.EffectNetwork, Ref: "n", Host: steps.ConductorQueue("g"), Attempt: 1, State: operations.Intended}}, w.Effects...)
}

// unplugged has Neutron take its time, and refusing refuse a network.
func unplugged(w *world) { w.unplugged = 2 }

func refusing(to steps.NodeNetwork) func(*world) { return func(w *world) { w.refused = to } }

func pretended(w *world) { w.rescues = fakeRescue }

// booted is a node whose lost operation has booted its ramdisk.
func booted(w *world) {
	w.medium, w.ramdisk, w.power = true, true, provision.PowerOn
	w.Effects = []operations.Effect{{Seq: 1, Kind: operations.EffectRamdisk, Ref: "n", Host: steps.ConductorQueue("g"), Attempt: 1, State: operations.Intended}}
}

// busy is a ramdisk that takes its time.
func busy(w *world) { w.slowly = 2 }

// by has a node be cleaned by steps; a question mark has one be stopped half-way.
func by(names ...string) func(*world) {
	return func(w *world) {
		w.Input = []byte(`{}`)
		for _, name := range names {
			plain := strings.TrimSuffix(name, "?")
			step := steps.CleanStep{Interface: "vendor", Step: plain, Abortable: plain != name}
			if plain == "bios" || plain == "firmware" || plain == "raid" {
				step.Interface = plain
			}
			if plain == "pause" {
				step.Step, step.Seconds = provision.StepWait, 5
			}
			w.steps = append(w.steps, step)
		}
	}
}

func refused(w *world) { w.Input = []byte(`{"refused": "it is no step"}`) }

// manual has a node be cleaned because a user asked for it.
func manual(w *world) { w.was.Target = provision.Manageable }

func slow(w *world)   { w.pending = 3 }
func broken(w *world) { w.broken = true }
func blind(w *world)  { w.broken, w.blind = true, true }

// lostAt has the operation be the recovery of one that was lost in a step.
func lostAt(step string) func(*world) {
	return func(w *world) {
		w.Kind, w.Recovers = operations.NodeRecover, &steps.Recovered{OperationID: "lost", Kind: w.Kind, Step: step}
	}
}

var scenes = []workflowtest.Scene[*world]{
	{Name: "turned on", World: powering(provision.PowerOn), Ends: "done, power on"},
	{Name: "turned off slowly", World: powering(provision.PowerOff, slow), Ends: "done, power off"},
	{Name: "restarted", World: powering(provision.PowerReboot, slow), Ends: "done, power on"},
	{Name: "refused by its BMC", World: powering(provision.PowerReboot, broken),
		Ends: "failed, power off: Failed to change power state to 'power on' by 'rebooting': it can't work"},
	{Name: "with a BMC that says nothing", World: powering(provision.PowerSoftOff, blind),
		Ends: "failed: Failed to change power state to 'power off' by 'soft power off': it can't work"},
	{Name: "lost before it was told", World: powering(provision.PowerOn, lostAt("")),
		Ends: "done: The power was interrupted by an operator or a fault of the control plane and has been undone."},
	{Name: "lost after it was told", World: powering(provision.PowerReboot, slow, lostAt(operations.StepPower)), Ends: "done, power on"},
	{Name: "lost, and refused by its BMC", World: powering(provision.PowerReboot, broken, lostAt(operations.StepPower)),
		Ends: "failed, power off: Failed to change power state to 'power on' by 'rebooting': it can't work"},
	{Name: "told", World: commanding(steps.SetBootDevice), Ends: "done [boot_device]"},
	{Name: "told, and started anew for it", World: commanding(steps.SetBootMode, settling), Ends: "done, power off [boot_mode]"},
	{Name: "told, and refused by its BMC", World: commanding(steps.SetBootMode, broken), Ends: "failed: Failed to change boot mode to 'uefi: it can't work"},
	{Name: "a medium that its drive refuses", World: commanding(steps.AttachMedia, broken), Ends: "failed: Could not attach device cdrom to node n: it can't work"},
	{Name: "drives that can't be emptied", World: commanding(steps.DetachMedia, broken), Ends: "failed: Could not detach device(s) cdrom from node n: it can't work"},
	{Name: "lost before its BMC was told", World: commanding(steps.InjectNMI, lostAt("")),
		Ends: "done: The command was interrupted by an operator or a fault of the control plane and has been undone."},
	{Name: "lost after its BMC was told", World: commanding(steps.SetSecureBoot, settling, lostAt(operations.StepCommand)), Ends: "done, power off [secure_boot]"},
	{Name: "verified", World: moving(operations.NodeManage, provision.Verifying), Ends: "done, power off, manageable"},
	{Name: "verified, with a BMC that says nothing", World: moving(operations.NodeManage, provision.Verifying, blind),
		Ends: "failed, enroll: Failed to get power state for node n. Error: it can't work"},
	{Name: "verified, with a clock that can't be set", World: moving(operations.NodeManage, provision.Verifying, func(w *world) { w.refuses = provision.StepVerifyClock }),
		Ends: "failed, enroll: it can't work"},
	{Name: "lost when it was verified", World: moving(operations.NodeManage, provision.Verifying, lostAt(operations.StepVerify)),
		Ends: "done, enroll: The manage was interrupted by an operator or a fault of the control plane and has been undone."},
	{Name: "deployed slowly", World: deploying(busy), Ends: "done, power on, active [early write_image late]"},
	{Name: "deployed with an image that is wrong", World: deploying(func(w *world) { w.refuses = "deploy/2 deploy.write_image" }),
		Ends: "failed, deploy failed [early]: Agent returned error for deploy step deploy.write_image on node n : it can't work."},
	{Name: "deployed with a ramdisk that is never heard", World: deploying(func(w *world) { w.silent = true }),
		Ends: "failed, deploy failed: Timeout reached while waiting for callback for node"},
	{Name: "deployed by a ramdisk that can't be booted", World: deploying(broken), Ends: "failed, deploy failed: Deploy step deploy.deploy failed: it can't work."},
	{Name: "deployed by what its ramdisk doesn't have", World: deploying(func(w *world) { w.plan = nil }), Ends: "failed, deploy failed: Deploy step deploy.deploy failed: it can't work."},
	{Name: "deployed though it isn't there", World: deploying(through("deploy"), func(w *world) { w.deploys = "fake" }), Ends: "done, active"},
	{Name: "deployed by nothing, though it isn't there", World: deploying(through("bmc", "power_on"), func(w *world) { w.deploys = "fake" }), Ends: "done, power on, active [bmc]"},
	{Name: "deployed by a ramdisk that starts anew", World: deploying(through("deploy", "early!", "write_image", "late!", "prepare_instance_boot", "tear_down_agent", "boot_instance")),
		Ends: "done, power on, active [early write_image late]"},
	{Name: "deployed by its BMC, too", World: deploying(settling, through("bmc", "bios", "deploy", "bmc", "early", "write_image", "bios", "tear_down_agent", "boot_instance")),
		Ends: "done, power on, active [bmc bios bmc early write_image bios]"},
	{Name: "deployed, and held and waited for", World: deploying(through("hold", "deploy", "wait", "write_image", "pause", "tear_down_agent", "hold", "boot_instance")),
		Ends: "done, power on, active [write_image]"},
	{Name: "deployed, and changed once it runs its instance", World: deploying(settling, through("deploy", "write_image", "tear_down_agent", "boot_instance", "hold", "bios")),
		Ends: "done, power on, active [write_image bios]"},
	{Name: "deployed, and turned off once it runs its instance", World: deploying(through("deploy", "write_image", "tear_down_agent", "boot_instance", "power_off")),
		Ends: "done, power off, active [write_image]"},
	{Name: "deployed, and not started", World: deploying(through("deploy", "write_image")), Ends: "done, active [write_image]"},
	{Name: "lost while its image was written", World: deploying(lostAt(operations.StepDeploy), booted),
		Ends: "done, deploy failed: The deploy was interrupted by an operator or a fault of the control plane and has been undone."},
	{Name: "lost when it was started", World: deploying(lostAt(operations.StepStart), known), Ends: "done, power on, active"},
	{Name: "inspected", World: inspecting(), Ends: "done, manageable"},
	{Name: "inspected though it isn't there", World: inspecting(func(w *world) { w.inspects = fakeInspect }), Ends: "done, manageable"},
	{Name: "inspected, with a BMC that says nothing", World: inspecting(blind), Ends: "failed, inspect failed: it can't work"},
	{Name: "inspected, and found to be nonsense", World: inspecting(func(w *world) { w.nonsense = true }), Ends: "failed, inspect failed: it can't work"},
	{Name: "inspected by its ramdisk", World: discovering(), Ends: "done, manageable [settled]"},
	{Name: "inspected by a ramdisk that is never heard", World: discovering(func(w *world) { w.silent = true }),
		Ends: "failed, inspect failed: timeout reached while inspecting the node"},
	{Name: "inspected by a ramdisk that can't be booted", World: discovering(broken),
		Ends: "failed, inspect failed: Failed to inspect hardware. Reason: unable to start inspection: it can't work"},
	{Name: "inspected by a ramdisk that finds nonsense", World: discovering(func(w *world) { w.nonsense = true }),
		Ends: "failed, inspect failed: Failed to finish inspection: it can't work"},
	{Name: "lost when its ramdisk inspected it", World: discovering(lostAt(operations.StepInspect), booted),
		Ends: "done, inspect failed: The inspect was interrupted by an operator or a fault of the control plane and has been undone."},
	{Name: "lost when what was found was settled", World: discovering(lostAt(operations.StepSettle), func(w *world) { w.found = true }), Ends: "done, manageable [settled]"},
	{Name: "lost when it was inspected", World: inspecting(lostAt(operations.StepInspect)),
		Ends: "done, inspect failed: The inspect was interrupted by an operator or a fault of the control plane and has been undone."},
	{Name: "cleaned by hand with other firmware", World: moving(operations.NodeClean, provision.Cleaning, manual, settling, by("firmware")), Ends: "done, power on, manageable [firmware]"},
	{Name: "rebuilt", World: rebuilding(), Ends: "done, power on, active [early write_image late]"},
	{Name: "lost when it was rebuilt", World: rebuilding(lostAt(operations.StepDeploy), booted),
		Ends: "done, deploy failed: The rebuild was interrupted by an operator or a fault of the control plane and has been undone."},
	{Name: "undeployed", World: undeploying(slow, by("a", "b?")), Ends: "done, available [a b]"},
	{Name: "undeployed though it isn't there", World: undeploying(func(w *world) { w.deploys = "fake" }), Ends: "done, available"},
	{Name: "undeployed and retired", World: undeploying(retired), Ends: "done, manageable"},
	{Name: "undeployed with a BMC that says nothing", World: undeploying(blind), Ends: "failed, error: Failed to tear down: it can't work"},
	{Name: "undeployed, and can't be cleaned", World: undeploying(refused), Ends: "failed, clean failed: it is no step"},
	{Name: "lost when its instance was taken away", World: undeploying(lostAt(operations.StepTearDown), by("a")), Ends: "done, available [a]"},
	{Name: "lost when it was cleaned of its instance", World: undeploying(lostAt(operations.StepClean), emptied, by("a")), Ends: "done, available [a]"},
	{Name: "adopted", World: adopting(), Ends: "done, active"},
	{Name: "adopted by what can't be", World: adopting(refused), Ends: "failed, , adopt failed: Error while attempting to adopt node n: it is no step."},
	{Name: "lost when it was adopted", World: adopting(lostAt(operations.StepStart)), Ends: "done, active"},
	{Name: "rescued slowly", World: rescuing(busy), Ends: "done, power on, rescue"},
	{Name: "rescued though it isn't there", World: rescuing(pretended), Ends: "done, rescue"},
	{Name: "rescued by a ramdisk that won't", World: rescuing(func(w *world) { w.refuses = "rescue" }), Ends: "failed, rescue failed: Failed to rescue: it can't work"},
	{Name: "rescued by a ramdisk that is never heard", World: rescuing(func(w *world) { w.silent = true }),
		Ends: "failed, rescue failed: Timeout reached while waiting for rescue ramdisk callback for node"},
	{Name: "lost before it was rescued", World: rescuing(lostAt(operations.StepPrepare), booted),
		Ends: "done, rescue failed: The rescue was interrupted by an operator or a fault of the control plane and has been undone."},
	{Name: "lost when it was rescued", World: rescuing(lostAt(operations.StepRescue), booted), Ends: "done, power on, rescue"},
	{Name: "unrescued", World: unrescuing(slow), Ends: "done, power on, active"},
	{Name: "unrescued though it isn't there", World: unrescuing(pretended), Ends: "done, active"},
	{Name: "unrescued with a BMC that says nothing", World: unrescuing(blind), Ends: "failed, unrescue failed: Failed to unrescue: it can't work"},
	{Name: "lost when it was unrescued", World: unrescuing(lostAt(operations.StepStart)), Ends: "done, power on, active"},
	{Name: "provided without steps", World: moving(operations.NodeProvide, provision.Cleaning, by()), Ends: "done, available"},
	{Name: "provided", World: moving(operations.NodeProvide, provision.Cleaning, by("a", "b?")), Ends: "done, available [a b]"},
	{Name: "provided by its ramdisk", World: moving(operations.NodeProvide, provision.Cleaning, busy, from("a?", "bmc", "b")), Ends: "done, available [a bmc b]"},
	{Name: "provided by a ramdisk that starts anew", World: moving(operations.NodeProvide, provision.Cleaning, from("a!", "b!?", "c")), Ends: "done, available [a b c]"},
	{Name: "provided by a ramdisk that has nothing to do", World: moving(operations.NodeProvide, provision.Cleaning, from()), Ends: "done, available"},
	{Name: "cleaned by its ramdisk", World: moving(operations.NodeClean, provision.Cleaning, manual, from("a", "wait", "hold", "b?")), Ends: "done, manageable [a b]"},
	{Name: "cleaned by what its ramdisk doesn't have", World: moving(operations.NodeClean, provision.Cleaning, manual, from(), func(w *world) { w.plan = nil }),
		Ends: "failed, clean failed: it can't work"},
	{Name: "cleaned by a ramdisk that is never heard", World: moving(operations.NodeProvide, provision.Cleaning, from("a"), func(w *world) { w.silent = true }),
		Ends: "failed, clean failed: Timeout reached while cleaning the node. Please check if the ramdisk responsible for the cleaning is running on the node. Failed on step {}."},
	{Name: "cleaned by a ramdisk that fails", World: moving(operations.NodeProvide, provision.Cleaning, from("a"), func(w *world) { w.refuses = "clean/0 deploy.a" }),
		Ends: "failed, clean failed, clean failure: Agent returned error for clean step deploy.a on node n : it can't work."},
	{Name: "cleaned by a ramdisk that can't be booted", World: moving(operations.NodeProvide, provision.Cleaning, from("a"), broken),
		Ends: "failed, clean failed: Failed to prepare node n for cleaning: it can't work"},
	{Name: "lost when its ramdisk cleaned it", World: moving(operations.NodeProvide, provision.CleanWait, from("a"), asked, lostAt(operations.StepClean)),
		Ends: "done, clean failed: The provide was interrupted by an operator or a fault of the control plane and has been undone."},
	{Name: "undeployed and cleaned by its ramdisk", World: undeploying(from("a?", "b")), Ends: "done, available [a b]"},
	{Name: "lost when its ramdisk cleaned it of its instance", World: undeploying(lostAt(operations.StepClean), emptied, from("a"), asked), Ends: "done, available [a]"},
	{Name: "cleaned", World: moving(operations.NodeClean, provision.Cleaning, manual, by("a?", "pause", "wait", "b")), Ends: "done, manageable [a b]"},
	{Name: "cleaned and held", World: moving(operations.NodeClean, provision.Cleaning, manual, by("a", "hold", "b", "hold")), Ends: "done, manageable [a b]"},
	{Name: "cleaned by a setting of its BIOS", World: moving(operations.NodeClean, provision.Cleaning, manual, settling, by("a", "bios")), Ends: "done, power on, manageable [a bios]"},
	{Name: "cleaned by a setting of its BIOS, and by its ramdisk", World: moving(operations.NodeClean, provision.Cleaning, manual, settling, from("a", "bios", "b")),
		Ends: "done, manageable [a bios b]"},
	{Name: "cleaned by its logical disks", World: moving(operations.NodeClean, provision.Cleaning, manual, by("a", "raid")), Ends: "done, power on, manageable [a raid]"},
	{Name: "cleaned by its logical disks, and by its ramdisk", World: moving(operations.NodeClean, provision.Cleaning, manual, from("a", "raid", "b")), Ends: "done, manageable [a raid b]"},
	{Name: "cleaned by a setting that its BMC refuses", World: moving(operations.NodeClean, provision.Cleaning, manual, broken, by("bios")),
		Ends: "failed, power off, clean failed, clean failure: Node n failed step bios.bios: it can't work"},
	{Name: "cleaned by its power", World: moving(operations.NodeClean, provision.Cleaning, manual, by("power_on", "reboot", "power_off")), Ends: "done, power off, manageable"},
	{Name: "cleaned by what it doesn't have", World: moving(operations.NodeClean, provision.Cleaning, manual, refused), Ends: "failed, clean failed: it is no step"},
	{Name: "failed to clean", World: moving(operations.NodeProvide, provision.Cleaning, by("a"), broken),
		Ends: "failed, clean failed, clean failure: Node n failed step vendor.a: it can't work"},
	{Name: "lost when it was cleaned", World: moving(operations.NodeClean, provision.CleanWait, manual, by("a"), lostAt(operations.StepClean)),
		Ends: "done, clean failed: The clean was interrupted by an operator or a fault of the control plane and has been undone."},
	{Name: "serviced by its ramdisk", World: servicing(busy, from("a?", "bmc", "b")), Ends: "done, power on, active [a bmc b]"},
	{Name: "serviced by a ramdisk that starts anew", World: servicing(from("a!?", "b!")), Ends: "done, power on, active [a b]"},
	{Name: "serviced and held", World: servicing(from("a", "wait", "hold", "b?")), Ends: "done, power on, active [a b]"},
	{Name: "serviced by its BMC", World: servicing(by("a?", "hold", "pause", "trigger_servicewait", "b")), Ends: "done, active [a b]"},
	{Name: "serviced by its power", World: servicing(by("power_on", "reboot", "power_off")), Ends: "done, power off, active"},
	{Name: "serviced by what it doesn't have", World: servicing(refused), Ends: "failed, service failed: it is no step"},
	{Name: "serviced by what its ramdisk doesn't have", World: servicing(from(), func(w *world) { w.plan = nil }), Ends: "failed, service failed: it can't work"},
	{Name: "serviced by a ramdisk that is never heard", World: servicing(from("a"), func(w *world) { w.silent = true }),
		Ends: "failed, service failed: Timeout reached while servicing the node. Please check if the ramdisk responsible for the servicing is running on the node. Failed on step {}."},
	{Name: "serviced by a ramdisk that fails", World: servicing(from("a"), func(w *world) { w.refuses = "service/0 deploy.a" }),
		Ends: "failed, service failed, service failure: Agent returned error for service step deploy.a on node n : it can't work."},
	{Name: "serviced by a ramdisk that can't be booted", World: servicing(from("a"), broken), Ends: "failed, service failed: Failed to prepare node n for service: it can't work"},
	{Name: "failed to service", World: servicing(by("a"), broken), Ends: "failed, service failed, service failure: Node n failed step vendor.a: it can't work"},
	{Name: "lost when it was serviced", World: moving(operations.NodeService, provision.ServiceWait, from("a"), asked, lostAt(operations.StepService)),
		Ends: "done, service failed: The service was interrupted by an operator or a fault of the control plane and has been undone."},
	{Name: "told to bear a VIF", World: commanding(steps.AttachVIF), Ends: "done [attach_vif]"},
	{Name: "told to bear a VIF that can't be bound", World: commanding(steps.AttachVIF, broken), Ends: "failed: it can't work"},
	{Name: "told to bear a VIF no longer", World: commanding(steps.DetachVIF), Ends: "done [detach_vif]"},
	{Name: "lost when it was told to bear a VIF", World: commanding(steps.AttachVIF, lostAt(operations.StepCommand)), Ends: "done [attach_vif]"},
	{Name: "deployed on networks", World: deploying(wired, unplugged), Ends: "done, power on, active [early write_image late]"},
	{Name: "deployed on networks by a ramdisk that starts anew", World: deploying(wired, through("deploy", "early!", "write_image", "prepare_instance_boot", "tear_down_agent", "switch_to_tenant_network", "boot_instance")),
		Ends: "done, power on, active [early write_image]"},
	{Name: "deployed on a network that isn't there", World: deploying(wired, refusing(steps.NetworkProvisioning)), Ends: "failed, deploy failed: Deploy step deploy.deploy failed: it can't work."},
	{Name: "deployed for an instance that has no network", World: deploying(wired, refusing(steps.NetworkTenant)),
		Ends: "failed, deploy failed [early write_image late]: Error changing node n to tenant networks after deploy. Bad: it can't work"},
	{Name: "lost when it was deployed on networks", World: deploying(bootedThere, lostAt(operations.StepDeploy)),
		Ends: "done, deploy failed: The deploy was interrupted by an operator or a fault of the control plane and has been undone."},
	{Name: "rebuilt on networks", World: rebuilding(wired), Ends: "done, power on, active [early write_image late]"},
	{Name: "undeployed from networks", World: undeploying(wired, from("a?", "b")), Ends: "done, available [a b]"},
	{Name: "undeployed from networks with a BMC that says nothing", World: undeploying(wired, blind), Ends: "failed, error: Failed to tear down: it can't work"},
	{Name: "inspected on a network", World: discovering(wired), Ends: "done, manageable [settled]"},
	{Name: "provided on a network", World: moving(operations.NodeProvide, provision.Cleaning, wired, from("a!", "bmc", "b")), Ends: "done, available [a bmc b]"},
	{Name: "cleaned on a network by a ramdisk that fails", World: moving(operations.NodeProvide, provision.Cleaning, wired, from("a"), func(w *world) { w.refuses = "clean/0 deploy.a" }),
		Ends: "failed, clean failed, clean failure: Agent returned error for clean step deploy.a on node n : it can't work."},
	{Name: "rescued on networks", World: rescuing(wired), Ends: "done, power on, rescue"},
	{Name: "rescued on networks by a ramdisk that won't", World: rescuing(wired, func(w *world) { w.refuses = "rescue" }), Ends: "failed, rescue failed: Failed to rescue: it can't work"},
	{Name: "unrescued on networks", World: unrescuing(wired), Ends: "done, power on, active"},
	{Name: "serviced on networks", World: servicing(wired, from("a?", "bmc", "b")), Ends: "done, power on, active [a bmc b]"},
	{Name: "serviced on networks by a ramdisk that fails", World: servicing(wired, from("a"), func(w *world) { w.refuses = "service/0 deploy.a" }),
		Ends: "failed, service failed, service failure: Agent returned error for service step deploy.a on node n : it can't work."},
	{Name: "lost when it was serviced on networks", World: moving(operations.NodeService, provision.ServiceWait, from("a"), asked, bootedThere, lostAt(operations.StepService)),
		Ends: "done, service failed: The service was interrupted by an operator or a fault of the control plane and has been undone."},
	{Name: "lost when its instance was started again", World: servicing(from("a"), asked, lostAt(operations.StepStart)), Ends: "done, power on, active"},
}

var play = workflowtest.Play[*world]{Workflows: Workflows, Scenes: scenes, Allowed: allowed, Strikes: []workflowtest.Strike{
	{Name: "no conductor takes it for a while", Times: 12, Do: workflowtest.Fails(noneTakesIt)},
}}

var noneTakesIt = temporal.NewHeartbeatTimeoutError()

// allowed: before its point of no return it may be cancelled, and a BMC that can't be
// used fails it, or owes what is to be undone.
func allowed(w *world, s workflowtest.Strike, step, _, end string) bool {
	if strings.HasPrefix(s.Name, "cancelled") {
		if undeploys(w) {
			return strings.HasPrefix(end, "failed") && strings.Contains(end, "clean failed") && strings.Contains(end, ": By request, the clean operation was aborted")
		}
		if services(w) {
			byRequest := strings.Contains(end, ": By request, the service operation was aborted")
			return !resumed(w) && strings.HasPrefix(end, "cancelled") && strings.Contains(end, ", active") == byRequest
		}
		late := w.disk && (!deploys(w) || resumed(w)) || w.Kind == operations.NodeRescue && w.entered || step == "records.Finish"
		ends := w.Spec().PointOfNoReturn != "" && (w.Kind != operations.NodeInspect || w.inspects == agentInspect)
		beyond := w.Kind == operations.NodePower && step == "bmc.Power" || ends && late || w.Spec().Forward()
		return !beyond && strings.HasPrefix(end, "cancelled")
	}
	if strings.HasPrefix(s.Name, "the workflow is lost") && (strings.HasPrefix(end, "failed, clean failed") && strings.HasSuffix(end, ": "+byCleaning.givenUp.Message) ||
		strings.HasPrefix(end, "failed, service failed") && strings.HasSuffix(end, ": "+inService.givenUp.Message) ||
		strings.HasPrefix(end, "failed, deploy failed") && strings.HasSuffix(end, ": "+byDeployment.givenUp.Message)) {
		return true
	}
	// One that is lost while its failure is undone fails by what it finds.
	if strings.HasPrefix(s.Name, "the workflow is lost") && w.refuses != "" && end == "failed, rescue failed: Failed to rescue: the ramdisk was turned off" {
		return true
	}
	conductors := strings.HasPrefix(step, "bmc.") || strings.HasPrefix(step, "boot.") || strings.HasPrefix(step, "agent.") || strings.HasPrefix(step, "network.")
	owed := slices.ContainsFunc(w.Effects, func(e operations.Effect) bool { return e.State == operations.Owed })
	return conductors && s.Times != 3 && (strings.HasPrefix(end, "failed") || owed)
}

// resumed says whether a node in service was told to run its instance again at the end of
// its steps.
func resumed(w *world) bool {
	for act := range w.sent {
		if strings.HasSuffix(act, " instance") && !strings.HasSuffix(act, " undo instance") {
			return true
		}
	}
	return false
}

func TestEvery(t *testing.T) {
	t.Parallel()
	play.Every(t)
}

// A ramdisk that can't be taken away is owed by the conductors of its node's group.
func TestADeadBMC(t *testing.T) {
	t.Parallel()
	w := play.Told(t, deploying(func(w *world) { w.refuses, w.dies = "deploy/2 deploy.write_image", true })())
	if want := "failed, deploy failed [early]: Agent returned error for deploy step deploy.write_image on node n : it can't work."; w.End() != want || !w.medium {
		t.Errorf("%s", w)
	}
}

// A service that another operation waits for doesn't start the instance that it was
// beside.
func TestAServiceGivesWay(t *testing.T) {
	t.Parallel()
	w := play.Told(t, servicing(from("a"), func(w *world) { w.refuses, w.awaited = "service/0 deploy.a", true })())
	if w.power != provision.PowerOff || w.medium || w.disk {
		t.Errorf("%s", w)
	}
}

// Nor is a step brought to its end that may not be stopped half-way: what waits for the
// node turns it off.
func TestAServiceGivesWayAtOnce(t *testing.T) {
	t.Parallel()
	w := play.Told(t, servicing(from("a"), func(w *world) { w.slowly, w.awaited = 10000, true })())
	if w.power != provision.PowerOff || w.medium || w.disk || !strings.HasPrefix(w.End(), "cancelled, ") || len(w.told) != 1 {
		t.Errorf("%s: %s", w.End(), w)
	}
}

// Each step that waits for the ramdisk waits for another word of it.
func TestWaits(t *testing.T) {
	t.Parallel()
	for steps, looks := range map[string]int{"wait": 3, "wait wait": 6} {
		w := play.Told(t, moving(operations.NodeClean, provision.Cleaning, manual, by(strings.Fields(steps)...))())
		if w.looks != looks || w.End() != "done, manageable" {
			t.Errorf("%s: %s after %d looks, want %d", steps, w.End(), w.looks, looks)
		}
	}
}

// An operation whose group has no conductor for long is given up, and says so.
func TestNoConductorEver(t *testing.T) {
	t.Parallel()
	w := powering(provision.PowerOn)()
	w.Strike = workflowtest.Strike{At: 2, Times: 10000, Do: workflowtest.Fails(noneTakesIt)}
	play.Told(t, w)
	if want := "failed: Failed to change power state to 'power on' by 'power on': no conductor of the node's group has taken the work"; w.End() != want {
		t.Errorf("%s", w.End())
	}
}

package provision

// Steps: the pieces of work that cleaning, deployments and service are made of, and how
// those that a user gives are held against those that a node's interfaces have.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Phase is a time in a node's life in which steps are done to it.
type Phase string

// The phases.
const (
	PhaseClean   Phase = "clean"
	PhaseDeploy  Phase = "deploy"
	PhaseService Phase = "service"
	// PhaseVerify is the look at a node that was enrolled; its steps are in no row.
	PhaseVerify Phase = "verify"
)

// Phases gives every phase whose steps are in nodes' rows.
func Phases() []Phase { return []Phase{PhaseClean, PhaseDeploy, PhaseService} }

// ofPhase are the states of a node in a phase; in every other state it is cleaned, if
// anything.
var ofPhase = map[Phase][]State{
	PhaseDeploy:  {Deploying, DeployWait, DeployHold, DeployFailed},
	PhaseService: {Servicing, ServiceWait, ServiceHold, ServiceFailed},
}

// Phase is that of a node in the state, if it is in any.
func (s State) Phase() Phase {
	for _, p := range Phases() {
		if slices.Contains(ofPhase[p], s) {
			return p
		}
	}
	return PhaseClean
}

// List and Index are where driver_internal_info has a phase's steps, and which of them is
// being done; Given is where it has those that a user gives, if they are not the whole
// list; Column is the node's that shows the one that is being done.
func (p Phase) List() string   { return string(p) + "_steps" }
func (p Phase) Given() string  { return "user_" + p.List() }
func (p Phase) Index() string  { return string(p) + "_step_index" }
func (p Phase) Column() string { return string(p) + "_step" }

// reboots are where driver_internal_info says that the node is started anew at the end of
// the step that is being done.
var reboots = map[Phase]string{PhaseClean: "cleaning_reboot", PhaseDeploy: "deployment_reboot", PhaseService: "servicing_reboot"}

// Reboot is the phase's place among them.
func (p Phase) Reboot() string { return reboots[p] }

// Step is a piece of work that an interface of a node has.
type Step struct {
	Interface string
	Name      string
	// Priority orders steps that aren't asked for one by one; 0 leaves them out.
	Priority int
	// Abortable says that it may be stopped half-way.
	Abortable bool
	// Ramdisk says that the node's ramdisk has to run meanwhile.
	Ramdisk bool
	// Reboots says that the node is started anew at its end.
	Reboots bool
	// Args are the arguments that it takes, with whether it needs each.
	Args map[string]bool
	// Told are those that it is given, as they are stored; nil for none.
	Told any
}

// ID is how a step is named.
func (s Step) ID() string { return s.Interface + "." + s.Name }

// Steps that are the operation's own, whatever interface they are asked of.
const (
	StepPowerOn  = "power_on"
	StepPowerOff = "power_off"
	StepReboot   = "reboot"
	StepHold     = "hold"
	StepWait     = "wait"
)

// StepServiceWait is a step of the fake vendor interface that waits for the ramdisk.
const StepServiceWait = "trigger_servicewait"

// reserved are those.
var reserved = []string{StepPowerOn, StepPowerOff, StepReboot, StepHold, StepWait}

// Reserved says whether a step is the operation's own.
func Reserved(name string) bool { return slices.Contains(reserved, name) }

// MaxWait bounds a step that waits by the clock, in seconds
// (max_conductor_wait_step_seconds).
const MaxWait = 30

// bySettings are the steps of Redfish's BIOS interface.
var bySettings = []Step{{Name: "apply_configuration", Args: map[string]bool{"settings": true}}, {Name: "factory_reset"}}

// ofKeys are Redfish's steps of the keys that secure boot trusts.
var ofKeys = []Step{{Name: "clear_secure_boot_keys"}, {Name: "reset_secure_boot_keys_to_default"}}

// Steps of Redfish's RAID interface, and the arguments of those that make logical disks.
var (
	makesDisks   = map[string]bool{"create_root_volume": false, "create_nonroot_volumes": false, "delete_existing": false}
	createsDisks = Step{Name: "create_configuration", Args: makesDisks}
	appliesDisks = Step{Name: "apply_configuration", Args: map[string]bool{"raid_config": true, "create_root_volume": false, "create_nonroot_volumes": false, "delete_existing": false}}
	deletesDisks = Step{Name: "delete_configuration"}
)

// updatesFirmware has components of a machine run other firmware, by Redfish.
var updatesFirmware = Step{Name: "update", Args: map[string]bool{"settings": true}}

// ofClock sets the clock of a node's BMC, by Redfish.
var ofClock = Step{Name: "set_bmc_clock", Args: map[string]bool{"target_datetime": false, "datetime_local_offset": false}}

// withRamdisk are steps during which the ramdisk has to run.
func withRamdisk(all []Step) []Step {
	all = slices.Clone(all)
	for i := range all {
		all[i].Ramdisk = true
	}
	return all
}

// abortable are steps that may be stopped half-way.
func abortable(all []Step) []Step {
	all = slices.Clone(all)
	for i := range all {
		all[i].Abortable = true
	}
	return all
}

// conducted are the steps of each implementation of an interface that conductors
// carry out (contracts: steps.json, out_of_band).
var conducted = map[Phase]map[string]map[string][]Step{
	PhaseClean: {
		"vendor": {"fake": {{Name: "log_passthrough", Priority: 1, Ramdisk: true}}},
		"bios": {"fake": {
			{Name: "apply_configuration", Ramdisk: true, Args: map[string]bool{"settings": true}},
			{Name: "cache_bios_settings", Ramdisk: true},
			{Name: "factory_reset", Ramdisk: true},
		}, "redfish": bySettings},
		"firmware":   {"fake": withRamdisk([]Step{updatesFirmware}), "redfish": withRamdisk([]Step{updatesFirmware})},
		"management": {"redfish": withRamdisk(append(slices.Clone(ofKeys), ofClock))},
		"raid":       {"redfish": withRamdisk([]Step{createsDisks, deletesDisks})},
	},
	PhaseDeploy: {
		"deploy":     {"direct": abortable(byAgent), "fake": abortable(byAgent[:1]), "noop": abortable(byAgent[:1])},
		"bios":       {"redfish": abortable(bySettings)},
		"firmware":   {"redfish": {updatesFirmware}},
		"management": {"redfish": abortable(ofKeys)},
		"raid":       {"redfish": abortable([]Step{appliesDisks, deletesDisks})},
	},
	PhaseService: {
		"vendor":   {"fake": {{Name: "log_passthrough"}, {Name: StepServiceWait, Ramdisk: true}}},
		"bios":     {"redfish": bySettings},
		"firmware": {"redfish": {updatesFirmware}},
		"raid":     {"redfish": withRamdisk([]Step{appliesDisks, deletesDisks})},
	},
	PhaseVerify: {"management": {"redfish": {{Name: StepVerifyClock, Priority: 1}}}},
}

// StepVerifyClock is the step that sets the clock of a node's BMC if that is wrong.
const StepVerifyClock = "verify_bmc_clock"

// rank is which of two steps of the same priority comes first, by their interfaces.
var rank = []string{"vendor", "power", "management", "firmware", "deploy", "bios", "raid"}

// StepInterfaces are those whose steps users may ask for, highest first.
func StepInterfaces() []string { return slices.Clone(rank) }

// Rank is the place of an interface among them; one that isn't comes last.
func Rank(name string) int {
	if at := slices.Index(rank, name); at >= 0 {
		return at
	}
	return len(rank)
}

// Steps are the steps that a node's interfaces have in a phase, by the names of their
// implementations, in the order in which an automated clean takes them.
func (p Phase) Steps(interfaces map[string]string) []Step {
	var all []Step
	for _, i := range rank {
		for _, s := range conducted[p][i][interfaces[i]] {
			s.Interface = i
			all = append(all, s)
		}
	}
	InOrder(all)
	return all
}

// InOrder puts steps into the order in which they are taken without being asked for.
func InOrder(all []Step) {
	slices.SortStableFunc(all, func(a, b Step) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(Rank(a.Interface), Rank(b.Interface)))
	})
}

// inRamdisk are the interfaces whose steps are their ramdisk's, and the implementations
// that have one.
var inRamdisk = map[string][]string{"deploy": {"direct", "autodetect", "ansible", "ramdisk", "anaconda", "bootc", "custom-agent"}, "raid": {"agent"}}

// InRamdisk says whether steps that an implementation of an interface has are done by the
// node's ramdisk; of one that isn't known, whether any has such.
func InRamdisk(name, implementation string) bool {
	return inRamdisk[name] != nil && (implementation == "" || slices.Contains(inRamdisk[name], implementation))
}

// Offered are those of a ramdisk's steps that are steps of a node's interfaces.
func Offered(steps []Step, interfaces map[string]string) []Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return !slices.Contains(inRamdisk[s.Interface], interfaces[s.Interface]) })
}

// Automated are those of steps that are taken without being asked for.
func Automated(steps []Step) []Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.Priority == 0 })
}

// Wanted is a step as a user asks for it.
type Wanted struct {
	Interface, Name string
	// Args are the names of its arguments, Told is as in Step.
	Args []string
	Told any
	// Priority is its place in a deployment; 0 leaves it out.
	Priority int
	// Printed is how refusals print it.
	Printed string
}

// Ramdisk is what is known of a node's ramdisk when steps are held against what the
// node has.
type Ramdisk string

const (
	// RamdiskAsked: what it has is known.
	RamdiskAsked Ramdisk = "asked"
	// RamdiskLater: it will say what it has, and what nobody else has may be among that.
	RamdiskLater Ramdisk = "later"
	// RamdiskNever: it isn't to be booted, and what needs it is refused.
	RamdiskNever Ramdisk = "never"
)

// Fit holds the steps that a user asks for in a phase against those that the node has,
// and gives them as they are to be done, or what is wrong with each.
func (p Phase) Fit(wanted []Wanted, has []Step, ramdisk Ramdisk) (steps []Step, wrong []string) {
	for _, w := range wanted {
		if Reserved(w.Name) {
			steps = append(steps, Step{Interface: w.Interface, Name: w.Name, Priority: w.Priority, Told: w.Told})
			continue
		}
		i := slices.IndexFunc(has, func(s Step) bool { return s.Interface == w.Interface && s.Name == w.Name })
		switch {
		case i >= 0:
		case ramdisk == RamdiskLater && p == PhaseDeploy:
			continue
		default:
			wrong = append(wrong, fmt.Sprintf("node does not support this %s step: %s", p, w.Printed))
			continue
		}
		wrong = append(wrong, w.against(p, has[i], ramdisk)...)
		s := has[i]
		if s.Told = w.Told; p == PhaseDeploy {
			s.Priority = w.Priority
		}
		steps = append(steps, s)
	}
	if p == PhaseDeploy {
		wrong = append(wrong, twice(steps)...)
	}
	return steps, wrong
}

// against is what is wrong with what is wanted of a phase's step.
func (w Wanted) against(p Phase, s Step, ramdisk Ramdisk) (wrong []string) {
	var unexpected, missing []string
	for _, arg := range w.Args {
		if _, takes := s.Args[arg]; !takes {
			unexpected = append(unexpected, arg)
		}
	}
	for arg, needed := range s.Args {
		if needed && !slices.Contains(w.Args, arg) {
			missing = append(missing, arg)
		}
	}
	slices.Sort(unexpected)
	slices.Sort(missing)
	done := p != PhaseDeploy || w.Priority > 0
	if len(unexpected) > 0 {
		wrong = append(wrong, fmt.Sprintf("%s step %s has these unexpected arguments: %s", p, w.Printed, strings.Join(unexpected, ", ")))
	}
	if done && len(missing) > 0 {
		wrong = append(wrong, fmt.Sprintf("%s step %s is missing these required arguments: %s", p, w.Printed, strings.Join(missing, ", ")))
	}
	if ramdisk == RamdiskNever && s.Ramdisk {
		wrong = append(wrong, fmt.Sprintf("%s step %s requires booting a ramdisk", p, w.Printed))
	}
	if done && p == PhaseDeploy && s.ID() == StepDeploy {
		wrong = append(wrong, fmt.Sprintf("deploy step %s on interface %s is a core step and cannot be overridden by user steps. It may be disabled by setting the priority to 0", s.Name, s.Interface))
	}
	return wrong
}

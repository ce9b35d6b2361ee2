package provision

// Steps: the pieces of work that cleaning and service are made of, and how those that a
// user gives are held against those that a node's interfaces have.

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
	PhaseService Phase = "service"
)

// Phases gives every phase.
func Phases() []Phase { return []Phase{PhaseClean, PhaseService} }

// serviced are the states of a node in service.
var serviced = []State{Servicing, ServiceWait, ServiceHold, ServiceFailed}

// Phase is that of a node in the state, if it is in any.
func (s State) Phase() Phase {
	if slices.Contains(serviced, s) {
		return PhaseService
	}
	return PhaseClean
}

// List and Index are where driver_internal_info has a phase's steps, and which of them is
// being done; Column is the node's that shows that one.
func (p Phase) List() string   { return string(p) + "_steps" }
func (p Phase) Index() string  { return string(p) + "_step_index" }
func (p Phase) Column() string { return string(p) + "_step" }

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
	// Args are the arguments that it takes, with whether it needs each.
	Args map[string]bool
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
		"firmware": {"fake": {{Name: "update", Ramdisk: true, Args: map[string]bool{"settings": true}}}},
	},
	PhaseService: {
		"vendor": {"fake": {{Name: "log_passthrough"}, {Name: StepServiceWait, Ramdisk: true}}},
		"bios":   {"redfish": bySettings},
	},
}

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

// InRamdisk says whether steps that an interface has are done by the node's ramdisk.
func InRamdisk(name string) bool { return inRamdisk[name] != nil }

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
	Args            []string
	// Printed is how refusals print it.
	Printed string
}

// Fit holds the steps that a user asks for in a phase against those that the node has,
// and gives them as they are to be done, or what is wrong with each; noRamdisk refuses
// those that need one.
func (p Phase) Fit(wanted []Wanted, has []Step, noRamdisk bool) (steps []Step, wrong []string) {
	for _, w := range wanted {
		if Reserved(w.Name) {
			steps = append(steps, Step{Interface: w.Interface, Name: w.Name})
			continue
		}
		i := slices.IndexFunc(has, func(s Step) bool { return s.Interface == w.Interface && s.Name == w.Name })
		if i < 0 {
			wrong = append(wrong, fmt.Sprintf("node does not support this %s step: %s", p, w.Printed))
			continue
		}
		wrong = append(wrong, w.against(p, has[i], noRamdisk)...)
		steps = append(steps, has[i])
	}
	return steps, wrong
}

// against is what is wrong with what is wanted of a phase's step.
func (w Wanted) against(p Phase, s Step, noRamdisk bool) (wrong []string) {
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
	if len(unexpected) > 0 {
		wrong = append(wrong, fmt.Sprintf("%s step %s has these unexpected arguments: %s", p, w.Printed, strings.Join(unexpected, ", ")))
	}
	if len(missing) > 0 {
		wrong = append(wrong, fmt.Sprintf("%s step %s is missing these required arguments: %s", p, w.Printed, strings.Join(missing, ", ")))
	}
	if noRamdisk && s.Ramdisk {
		wrong = append(wrong, fmt.Sprintf("%s step %s requires booting a ramdisk", p, w.Printed))
	}
	return wrong
}

package nodes

// What a node is cleaned, deployed or serviced by, as its row has it.

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store/baremetal"
)

// StoredStep is a step as the row has it.
func StoredStep(s provision.Step) map[string]any {
	step := map[string]any{"interface": s.Interface, "step": s.Name, "priority": s.Priority, "abortable": s.Abortable, "requires_ramdisk": s.Ramdisk}
	if s.Told != nil {
		step["args"] = s.Told
	}
	if s.Reboots {
		step["reboot_requested"] = true
	}
	return step
}

// StoredSteps are steps as the row has them.
func StoredSteps(all []provision.Step) []map[string]any {
	stored := make([]map[string]any, len(all))
	for i, s := range all {
		stored[i] = StoredStep(s)
	}
	return stored
}

// Printed is how refusals print a step that was asked for.
func Printed(iface, step string) string {
	return fmt.Sprintf("{'interface': '%s', 'step': '%s'}", iface, step)
}

// Plan are the steps that a node is cleaned or serviced by, of those that its interfaces
// have and those that its ramdisk offers: what is due, or, if somebody has asked, what the
// row says, in its order. Errors: Invalid, one that was asked for isn't there.
func Plan(n *baremetal.Node, phase provision.Phase, offered []provision.Step, asked bool) ([]provision.Step, error) {
	has := Has(n, phase, offered)
	if !asked {
		due := provision.Automated(has)
		provision.InOrder(due)
		return due, nil
	}
	var row map[string]json.RawMessage
	if err := json.Unmarshal(n.DriverInternalInfo, &row); err != nil {
		return nil, fmt.Errorf("the steps of node %s: %w", n.UUID, err)
	}
	wanted, err := wantedOf(row[phase.List()])
	if err != nil {
		return nil, fmt.Errorf("the steps of node %s: %w", n.UUID, err)
	}
	done, wrong := phase.Fit(wanted, has, provision.RamdiskAsked)
	if len(wrong) > 0 {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "Cannot %s node %s: %s", phase, n.UUID, strings.Join(wrong, "; "))
	}
	return done, nil
}

// Has are the steps that a node has in a phase: its interfaces', and those that its
// ramdisk offers and that aren't theirs already.
func Has(n *baremetal.Node, phase provision.Phase, offered []provision.Step) []provision.Step {
	interfaces := Interfaces(n)
	if interfaces["deploy"] == "autodetect" && phase == provision.PhaseDeploy {
		interfaces["deploy"] = "direct" // what it finds, of what there is
	}
	has := phase.Steps(interfaces)
	for _, s := range provision.Offered(offered, interfaces) {
		if !slices.ContainsFunc(has, func(other provision.Step) bool { return other.ID() == s.ID() }) {
			has = append(has, s)
		}
	}
	return has
}

// wantedOf reads steps as a row or a template has them.
func wantedOf(stored json.RawMessage) ([]provision.Wanted, error) {
	var list []struct {
		Interface, Step string
		Priority        int
		Args            json.RawMessage
	}
	if len(stored) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(stored, &list); err != nil {
		return nil, err
	}
	wanted := make([]provision.Wanted, len(list))
	for i, w := range list {
		wanted[i] = provision.Wanted{Interface: w.Interface, Name: w.Step, Priority: w.Priority, Printed: Printed(w.Interface, w.Step)}
		var args map[string]json.RawMessage
		if len(w.Args) == 0 {
			continue
		}
		if err := json.Unmarshal(w.Args, &args); err != nil {
			return nil, err
		}
		if wanted[i].Args = slices.Sorted(maps.Keys(args)); args != nil {
			wanted[i].Told = w.Args
		}
	}
	return wanted, nil
}

// StepArgs are the arguments of one of a phase's steps in a node's row, with their secrets
// in place. Errors: Invalid, there is no such step.
func StepArgs(box *secrets.Box, n *baremetal.Node, phase provision.Phase, at int) (map[string]any, error) {
	known, err := Known(box, n)
	if err != nil {
		return nil, err
	}
	list, _ := known[phase.List()].([]any)
	if at < 0 || at >= len(list) {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "node %s has no such step any more", n.UUID)
	}
	step, _ := list[at].(map[string]any)
	args, _ := step["args"].(map[string]any)
	return args, nil
}

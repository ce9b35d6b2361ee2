package nodes

// What a node is cleaned or serviced by, as its row has it.

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

// StoredStep is a step as the row has it; args are what it is told, nil for nothing.
func StoredStep(s provision.Step, args any) map[string]any {
	step := map[string]any{"interface": s.Interface, "step": s.Name, "priority": s.Priority, "abortable": s.Abortable, "requires_ramdisk": s.Ramdisk}
	if args != nil {
		step["args"] = args
	}
	return step
}

// Printed is how refusals print a step that was asked for.
func Printed(iface, step string) string {
	return fmt.Sprintf("{'interface': '%s', 'step': '%s'}", iface, step)
}

// Plan are the steps that a node is cleaned or serviced by, of those that its interfaces
// have and those that its ramdisk offers: what is due, or, if somebody has asked, what the
// row says, in its order. Errors: Invalid, one that was asked for isn't there.
func Plan(n *baremetal.Node, phase provision.Phase, offered []provision.Step, asked bool) ([]map[string]any, error) {
	interfaces := Interfaces(n)
	has := append(phase.Steps(interfaces), provision.Offered(offered, interfaces)...)
	plan := []map[string]any{}
	if !asked {
		due := provision.Automated(has)
		provision.InOrder(due)
		for _, s := range due {
			plan = append(plan, StoredStep(s, nil))
		}
		return plan, nil
	}
	var row map[string]json.RawMessage
	var list []struct {
		Interface, Step string
		Args            map[string]json.RawMessage
	}
	err := json.Unmarshal(n.DriverInternalInfo, &row)
	if err == nil {
		err = json.Unmarshal(row[phase.List()], &list)
	}
	if err != nil {
		return nil, fmt.Errorf("the steps of node %s: %w", n.UUID, err)
	}
	wanted := make([]provision.Wanted, len(list))
	for i, w := range list {
		wanted[i] = provision.Wanted{Interface: w.Interface, Name: w.Step, Args: slices.Sorted(maps.Keys(w.Args)), Printed: Printed(w.Interface, w.Step)}
	}
	done, wrong := phase.Fit(wanted, has, false)
	if len(wrong) > 0 {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "Cannot %s node %s: %s", phase, n.UUID, strings.Join(wrong, "; "))
	}
	for i, s := range done {
		var args any
		if list[i].Args != nil {
			args = list[i].Args
		}
		plan = append(plan, StoredStep(s, args))
	}
	return plan, nil
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

package baremetal

// The steps that a request asks for, or its runbook.

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// maxSteps bounds a list of steps.
const maxSteps = 256

// wantedSteps are those of the request, or of its runbook, for a phase, checked.
func wantedSteps(r *rest.Request, tx store.Tx, n *baremetal.Node, all *asked, phase provision.Phase, list []any) ([]provision.Wanted, error) {
	if all.runbook != nil {
		b, err := approvedRunbook(r, tx, n, *all.runbook)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			return nil, faults.New(faults.Invalid, "ClientSideError", "Please provide either \"%s\" or a runbook, but not both.", phase.List())
		}
		all.disableRamdisk = &b.DisableRamdisk
		if list, err = runbookSteps(b); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		return nil, faults.New(faults.Invalid, "ClientSideError", "\"%s\" is required when setting target provision state to %s", phase.List(), phase)
	}
	return readSteps(phase, list)
}

// readSteps reads those that a request gives.
func readSteps(phase provision.Phase, list []any) ([]provision.Wanted, error) {
	if len(list) > maxSteps {
		return nil, malformedStep(phase, "there are more than %d", maxSteps)
	}
	wanted := make([]provision.Wanted, len(list))
	for i, sent := range list {
		step, err := readStep(phase, sent)
		if err != nil {
			return nil, err
		}
		wanted[i] = step
	}
	return wanted, nil
}

// stepFields are what a step may say, by phase, and needed what it has to say.
var (
	userFields = []string{"interface", "step", "args", "order", "execute_on_child_nodes", "limit_child_node_execution"}
	stepFields = map[provision.Phase][]string{provision.PhaseClean: userFields, provision.PhaseService: userFields,
		provision.PhaseDeploy: {"interface", "step", "args", "priority"}}
	needed = map[provision.Phase][]string{provision.PhaseClean: {"interface", "step"}, provision.PhaseService: {"interface", "step"},
		provision.PhaseDeploy: stepFields[provision.PhaseDeploy]}
)

// disallowed are the steps that nobody may ask for (disallow_clean_steps,
// disallow_deploy_steps and disallow_service_steps).
var disallowed = []string{"vendor.send_raw"}

func readStep(phase provision.Phase, sent any) (step provision.Wanted, err error) {
	object, ok := sent.(*pyjson.Object)
	if !ok {
		return step, malformedStep(phase, "%s is not of type 'object'", pyjson.Repr(sent))
	}
	for _, name := range object.Keys() {
		if !slices.Contains(stepFields[phase], name) {
			return step, malformedStep(phase, "Additional properties are not allowed ('%s' was unexpected)", name)
		}
	}
	for _, required := range needed[phase] {
		if _, given := object.Get(required); !given {
			return step, malformedStep(phase, "'%s' is a required property", required)
		}
	}
	at, _ := object.Get("interface")
	name, _ := object.Get("step")
	step.Interface, _ = at.(string)
	step.Name, ok = name.(string)
	switch {
	case !slices.Contains(provision.StepInterfaces(), step.Interface):
		return step, malformedStep(phase, "%s is not one of ['%s']", pyjson.Repr(at), strings.Join(provision.StepInterfaces(), "', '"))
	case !ok:
		return step, malformedStep(phase, "%s is not of type 'string'", pyjson.Repr(name))
	case step.Name == "":
		return step, malformedStep(phase, "'' should be non-empty")
	case slices.Contains(disallowed, step.Interface+"."+step.Name):
		return step, faults.New(faults.Invalid, "StepNotAllowed", "%s step '%s.%s' is not allowed. Disallowed by operator configuration [api]disallow_%s.", phase, step.Interface, step.Name, phase.List())
	}
	for _, other := range []string{"execute_on_child_nodes", "limit_child_node_execution"} {
		if given, _ := object.Get(other); given != nil && given != false {
			return step, malformedStep(phase, "steps are not executed on child nodes")
		}
	}
	if args, given := object.Get("args"); args != nil || given && phase == provision.PhaseDeploy {
		told, ok := args.(*pyjson.Object)
		if !ok {
			return step, malformedStep(phase, "%s is not of type 'object'", pyjson.Repr(args))
		}
		step.Args, step.Told = told.Keys(), told
	}
	if priority, given := object.Get("priority"); given {
		if step.Priority, ok = readPriority(priority); !ok {
			return step, malformedStep(phase, "%s is not valid under any of the given schemas", pyjson.Repr(priority))
		}
	}
	step.Printed = nodes.Printed(step.Interface, step.Name)
	return step, nil
}

// readPriority reads the place of a step in a deployment: a number, or a text of digits.
func readPriority(sent any) (priority int, ok bool) {
	text, is := sent.(string)
	if number, whole := sent.(*big.Int); whole {
		text, is = number.String(), true
	}
	if !is || text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n), err == nil
}

// malformedStep refuses steps that aren't in the form of a phase's.
func malformedStep(phase provision.Phase, format string, args ...any) error {
	return invalid("Invalid %s: %s", phase.List(), fmt.Sprintf(format, args...))
}

// approvedRunbook finds a runbook that the caller may use on a node.
func approvedRunbook(r *rest.Request, tx store.Tx, n *baremetal.Node, ident string) (*baremetal.Runbook, error) {
	if !r.At(v(92)) {
		return nil, notAcceptable()
	}
	b, err := baremetal.Runbooks.Find(r.Context(), tx, ident, true)
	if err == nil {
		err = mayUseRunbook(r, b, ident)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case !r.At(v(112)) && !slices.Contains(n.Traits, b.Name):
		return nil, faults.New(faults.Invalid, "ClientSideError", "This runbook has not been approved for use on this node %s. "+
			"Please ask an administrator to add it to your node traits.", n.UUID)
	case r.At(v(112)) && len(b.Traits) == 0:
		return nil, faults.New(faults.Invalid, "ClientSideError", "Runbook %s has no traits configured. Please ask an administrator to add traits to the runbook.", b.UUID)
	case r.At(v(112)) && !slices.ContainsFunc(b.Traits, func(t string) bool { return slices.Contains(n.Traits, t) }):
		return nil, faults.New(faults.Invalid, "ClientSideError", "This runbook has not been approved for use on this node %s. The node does not have "+
			"any of the runbook's traits ['%s']. Please ask an administrator to add a matching trait to your node.", n.UUID, strings.Join(b.Traits, "', '"))
	}
	return b, nil
}

// mayUseRunbook asks the rules of a runbook that a request names in its body.
func mayUseRunbook(r *rest.Request, b *baremetal.Runbook, ident string) error {
	owner := map[string]any{"runbook.owner": b.Owner}
	if !b.Public && !r.Allows("baremetal:runbook:get", owner) {
		return baremetal.Runbooks.Missing(ident)
	}
	if b.Public {
		return nil
	}
	return r.Enforce("baremetal:runbook:use", owner)
}

// runbookSteps are a runbook's, in their order, as a request would give them.
func runbookSteps(b *baremetal.Runbook) ([]any, error) {
	value, _, err := pyjson.Parse(b.Steps)
	if err != nil {
		return nil, fmt.Errorf("steps of runbook %s: %w", b.UUID, err)
	}
	list, _ := value.([]any)
	order := func(step any) int64 {
		object, _ := step.(*pyjson.Object)
		place, _ := object.Get("order")
		n, err := given{"order": place}.number("order")
		if err != nil || n == nil {
			return 0
		}
		return *n
	}
	slices.SortStableFunc(list, func(x, y any) int { return int(order(x) - order(y)) })
	return list, nil
}

package baremetal

// The verbs provide and clean: which steps a node is cleaned by.

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// provide cleans a node by the steps that are due, if any are, and makes it
// available.
func provide(a *API, r *rest.Request, tx store.Tx, n *baremetal.Node, _ *asked) (begun, error) {
	if n.Retired {
		return begun{}, faults.New(faults.Invalid, "NodeIsRetired", "The %s operation can't be performed on node %s because it is retired.", "providing", n.UUID)
	}
	due, in := a.automated(n)
	return a.cleans(r, tx, n, due, provision.EventProvide, provision.None, operations.NodeProvide, in)
}

// automated is what a node is cleaned by without being asked for it; what one has that
// boots its ramdisk for it, is found by the operation.
func (a *API) automated(n *baremetal.Node) (due []map[string]any, in steps.CleanInput) {
	if cleaned := n.AutomatedClean; cleaned != nil && *cleaned || cleaned == nil && a.AutomatedClean {
		if in.Ramdisk = nodes.Ramdisk(n); in.Ramdisk {
			return nil, in
		}
		for _, s := range provision.Automated(provision.CleanSteps(nodes.Interfaces(n))) {
			due = append(due, nodes.StoredStep(s, nil))
		}
	}
	return due, in
}

// clean does to a node what a user asks for. What its interfaces don't have is
// found by the operation, as in the original, which asks the ramdisk first.
func clean(a *API, r *rest.Request, tx store.Tx, n *baremetal.Node, all *asked) (begun, error) {
	wanted, err := wantedSteps(r, tx, n, all)
	if err != nil {
		return begun{}, err
	}
	if err := unheld(n); err != nil {
		return begun{}, err
	}
	if n.Maintenance {
		return begun{}, faults.New(faults.Invalid, "NodeInMaintenance", "The %s operation can't be performed on node %s because it's in maintenance mode.", "cleaning", n.UUID)
	}
	if err := nodes.MayBeReached(a.Secrets, n); err != nil {
		f := faults.As(err)
		return begun{}, faults.Wrap(err, f.Kind, f.Code, "Validation of node %s for cleaning failed: %s", n.UUID, f.Message)
	}
	asks := make([]provision.Wanted, len(wanted))
	for i, w := range wanted {
		asks[i] = w.Wanted
	}
	disabled := all.disableRamdisk != nil && *all.disableRamdisk
	done, wrong := provision.Clean(asks, provision.CleanSteps(nodes.Interfaces(n)), disabled)
	var in steps.CleanInput
	var due []map[string]any
	boots := !disabled && nodes.Ramdisk(n)
	switch needs := len(wrong) > 0 || slices.ContainsFunc(done, func(s provision.Step) bool { return s.Ramdisk }); {
	case boots && needs:
		in.Ramdisk = true
		for _, w := range wanted {
			due = append(due, nodes.StoredStep(provision.Step{Interface: w.Interface, Name: w.Name}, w.told()))
		}
	case len(wrong) > 0:
		in.Refused = fmt.Sprintf("Cannot clean node %s: %s", n.UUID, strings.Join(wrong, "; "))
	default:
		for i, s := range done {
			due = append(due, nodes.StoredStep(s, wanted[i].told()))
		}
	}
	return a.cleans(r, tx, n, due, provision.EventClean, provision.Manageable, operations.NodeClean, in)
}

// cleans writes the steps in the node's row, their secrets sealed, and has the
// operation begin that does them.
func (a *API) cleans(r *rest.Request, tx store.Tx, n *baremetal.Node, due []map[string]any, event provision.Event, target provision.State,
	kind operations.Kind, in steps.CleanInput) (begun, error) {
	who, err := a.starts(r, tx, n, event, target, kind, in)
	if err != nil {
		return begun{}, err
	}
	info, err := nodes.Known(a.Secrets, n)
	if err != nil {
		return begun{}, err
	}
	delete(info, "clean_step_index")
	delete(info, nodes.CleanSteps)
	if n, err = a.setInternal(r, tx, n, info); err == nil && due != nil { // without the secrets of what was cleaned before
		info[nodes.CleanSteps] = due
		_, err = a.setInternal(r, tx, n, info)
	}
	return who, err
}

// wantedStep is a step that a user asks for.
type wantedStep struct {
	provision.Wanted
	args *pyjson.Object
}

// told are its arguments; nil for none.
func (w wantedStep) told() any {
	if w.args == nil {
		return nil
	}
	return w.args
}

// maxSteps bounds a list of steps.
const maxSteps = 256

// wantedSteps are those of the request or of its runbook, checked.
func wantedSteps(r *rest.Request, tx store.Tx, n *baremetal.Node, all *asked) ([]wantedStep, error) {
	list := all.cleanSteps
	if all.runbook != nil {
		b, err := approvedRunbook(r, tx, n, *all.runbook)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			return nil, faults.New(faults.Invalid, "ClientSideError", "Please provide either \"clean_steps\" or a runbook, but not both.")
		}
		all.disableRamdisk = &b.DisableRamdisk
		if list, err = runbookSteps(b); err != nil {
			return nil, err
		}
	}
	switch {
	case len(list) == 0:
		return nil, faults.New(faults.Invalid, "ClientSideError", "\"clean_steps\" is required when setting target provision state to clean")
	case len(list) > maxSteps:
		return nil, invalid("Invalid clean_steps: there are more than %d", maxSteps)
	}
	wanted := make([]wantedStep, len(list))
	for i, sent := range list {
		step, err := readStep(sent)
		if err != nil {
			return nil, err
		}
		wanted[i] = step
	}
	return wanted, nil
}

// stepFields are what a step may say.
var stepFields = []string{"interface", "step", "args", "order", "execute_on_child_nodes", "limit_child_node_execution"}

// disallowed are the steps that nobody may ask for (disallow_clean_steps).
var disallowed = []string{"vendor.send_raw"}

func readStep(sent any) (step wantedStep, err error) {
	object, ok := sent.(*pyjson.Object)
	if !ok {
		return step, invalid("Invalid clean_steps: %s is not of type 'object'", pyjson.Repr(sent))
	}
	for _, name := range object.Keys() {
		if !slices.Contains(stepFields, name) {
			return step, invalid("Invalid clean_steps: Additional properties are not allowed ('%s' was unexpected)", name)
		}
	}
	for _, required := range []string{"interface", "step"} {
		if _, given := object.Get(required); !given {
			return step, invalid("Invalid clean_steps: '%s' is a required property", required)
		}
	}
	at, _ := object.Get("interface")
	name, _ := object.Get("step")
	step.Interface, _ = at.(string)
	step.Name, ok = name.(string)
	switch {
	case !slices.Contains(provision.CleanInterfaces(), step.Interface):
		return step, invalid("Invalid clean_steps: %s is not one of ['%s']", pyjson.Repr(at), strings.Join(provision.CleanInterfaces(), "', '"))
	case !ok:
		return step, invalid("Invalid clean_steps: %s is not of type 'string'", pyjson.Repr(name))
	case step.Name == "":
		return step, invalid("Invalid clean_steps: '' should be non-empty")
	case slices.Contains(disallowed, step.Interface+"."+step.Name):
		return step, faults.New(faults.Invalid, "StepNotAllowed", "clean step '%s.%s' is not allowed. Disallowed by operator configuration [api]disallow_clean_steps.", step.Interface, step.Name)
	}
	for _, other := range []string{"execute_on_child_nodes", "limit_child_node_execution"} {
		if given, _ := object.Get(other); given != nil && given != false {
			return step, invalid("Invalid clean_steps: steps are not executed on child nodes")
		}
	}
	if args, _ := object.Get("args"); args != nil {
		if step.args, ok = args.(*pyjson.Object); !ok {
			return step, invalid("Invalid clean_steps: %s is not of type 'object'", pyjson.Repr(args))
		}
		step.Args = step.args.Keys()
	}
	step.Printed = nodes.Printed(step.Interface, step.Name)
	return step, nil
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

package baremetal

// The verbs provide, clean and service: which steps are done to a node.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// provide cleans a node by the steps that are due, if any are, and makes it
// available.
func provide(a *API, r *rest.Request, tx store.Tx, n *baremetal.Node, all *asked) (begun, error) {
	if n.Retired {
		return begun{}, faults.New(faults.Invalid, "NodeIsRetired", "The %s operation can't be performed on node %s because it is retired.", "providing", n.UUID)
	}
	due, in := a.automated(n, all)
	return a.cleans(r, tx, n, due, provision.EventProvide, provision.None, operations.NodeProvide, in)
}

// automated is what a node is cleaned by without being asked for it; what one has that
// boots its ramdisk for it, is found by the operation, which fails without the networks that
// it needs.
func (a *API) automated(n *baremetal.Node, all *asked) (due []provision.Step, in steps.CleanInput) {
	if cleaned := n.AutomatedClean; cleaned != nil && *cleaned || cleaned == nil && a.AutomatedClean {
		if all.networks != nil {
			in.Refused = notValid(n, "cleaning", all.networks).Message
			return nil, in
		}
		if in.Ramdisk = nodes.Ramdisk(n); in.Ramdisk {
			return nil, in
		}
		due = provision.Automated(provision.PhaseClean.Steps(nodes.Interfaces(n)))
	}
	return due, in
}

// clean does to a node what a user asks for.
func clean(a *API, r *rest.Request, tx store.Tx, n *baremetal.Node, all *asked) (begun, error) {
	wanted, err := wantedSteps(r, tx, n, all, provision.PhaseClean, all.cleanSteps)
	if err != nil {
		return begun{}, err
	}
	if err := unheld(n); err != nil {
		return begun{}, err
	}
	if err := a.mayHaveSteps(n, "cleaning", "cleaning", all.networks); err != nil {
		return begun{}, err
	}
	due, in := planned(n, all, provision.PhaseClean, wanted)
	return a.cleans(r, tx, n, due, provision.EventClean, provision.Manageable, operations.NodeClean, in)
}

// service does it to a node that has an instance. One that holds gives way to another.
func service(a *API, r *rest.Request, tx store.Tx, n *baremetal.Node, all *asked) (begun, error) {
	wanted, err := wantedSteps(r, tx, n, all, provision.PhaseService, all.serviceSteps)
	if err != nil {
		return begun{}, err
	}
	if err := mayFollow(n, operations.NodeService); err != nil {
		return begun{}, err
	}
	if err := a.mayHaveSteps(n, "service", "servicing", all.networks); err != nil {
		return begun{}, err
	}
	due, in := planned(n, all, provision.PhaseService, wanted)
	return a.cleans(r, tx, n, due, provision.EventService, provision.Active, operations.NodeService, in)
}

// quitService: the instance of a node whose service has failed runs again already.
func quitService(a *API, r *rest.Request, tx store.Tx, n *baremetal.Node, all *asked) (begun, error) {
	if n.Maintenance {
		return begun{}, faults.New(faults.Conflict, "InvalidState", "Can not abort service on node \"%s\" while it is in maintenance mode. "+
			"Please remove the node from maintenance prior to issuing the request to abort the service operation.", n.UUID)
	}
	who, err := moved(a, r, tx, n, all)
	if err == nil {
		err = baremetal.Explain(r.Context(), tx, n.UUID, "By request, the service operation was aborted")
	}
	return who, err
}

// mayHaveSteps refuses a node to which none can be done, its networks among the reasons;
// what they are for has a name in each of the two refusals.
func (a *API) mayHaveSteps(n *baremetal.Node, operation, doing string, networks error) error {
	if n.Maintenance {
		return faults.New(faults.Invalid, "NodeInMaintenance", "The %s operation can't be performed on node %s because it's in maintenance mode.", operation, n.UUID)
	}
	err := nodes.MayBeReached(a.Secrets, n)
	if err == nil {
		err = networks
	}
	if err != nil {
		return notValid(n, doing, err)
	}
	return nil
}

// notValid is the refusal of a node with which something is wrong.
func notValid(n *baremetal.Node, doing string, err error) *faults.Error {
	f := faults.As(err)
	return faults.Wrap(err, f.Kind, f.Code, "Validation of node %s for %s failed: %s", n.UUID, doing, f.Message)
}

// planned is what is to be done of what a user asks for. What a node's interfaces don't
// have is found by the operation, as in the original, which asks the ramdisk first.
func planned(n *baremetal.Node, all *asked, phase provision.Phase, wanted []provision.Wanted) (due []provision.Step, in steps.CleanInput) {
	ramdisk := provision.RamdiskLater
	if all.disableRamdisk != nil && *all.disableRamdisk {
		ramdisk = provision.RamdiskNever
	}
	done, wrong := phase.Fit(wanted, phase.Steps(nodes.Interfaces(n)), ramdisk)
	boots := ramdisk == provision.RamdiskLater && nodes.Ramdisk(n)
	switch needs := len(wrong) > 0 || slices.ContainsFunc(done, func(s provision.Step) bool { return s.Ramdisk }); {
	case boots && needs:
		in.Ramdisk = true
		for _, w := range wanted {
			due = append(due, provision.Step{Interface: w.Interface, Name: w.Name, Told: w.Told})
		}
	case len(wrong) > 0:
		in.Refused = fmt.Sprintf("Cannot %s node %s: %s", phase, n.UUID, strings.Join(wrong, "; "))
	default:
		due = done
	}
	return due, in
}

// cleans has the operation begin that does steps, which are in the node's row.
func (a *API) cleans(r *rest.Request, tx store.Tx, n *baremetal.Node, due []provision.Step, event provision.Event, target provision.State,
	kind operations.Kind, in steps.CleanInput) (begun, error) {
	known := map[string]any{}
	if shown, _ := provision.Next(n.ProvisionState, event); due != nil {
		known[shown.Phase().List()] = nodes.StoredSteps(due)
	}
	return a.steps(r, tx, n, known, event, target, kind, in)
}

// steps writes steps in the node's row, their secrets sealed, and has the operation begin
// that does them; known is where driver_internal_info has each list of them.
func (a *API) steps(r *rest.Request, tx store.Tx, n *baremetal.Node, known map[string]any, event provision.Event, target provision.State,
	kind operations.Kind, in steps.CleanInput) (begun, error) {
	who, err := a.starts(r, tx, n, event, target, kind, in)
	if err != nil {
		return begun{}, err
	}
	info, err := nodes.Known(a.Secrets, n)
	if err != nil {
		return begun{}, err
	}
	for _, phase := range provision.Phases() {
		delete(info, phase.List())
		delete(info, phase.Given())
		delete(info, phase.Index())
		delete(info, phase.Reboot())
	}
	if n, err = a.setInternal(r, tx, n, info); err == nil && len(known) > 0 { // without the secrets of what was done before
		maps.Copy(info, known)
		_, err = a.setInternal(r, tx, n, info)
	}
	return who, err
}

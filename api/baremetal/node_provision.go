package baremetal

// PUT /nodes/{node}/states/provision.

import (
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// asked is what a request for a verb says; what wasn't said is nil, and so is a config
// drive of nothing.
type asked struct {
	verb                                  provision.Verb
	cleanSteps, deploySteps, serviceSteps []any
	configDrive                           any
	runbook, rescuePassword               *string
	disableRamdisk                        *bool
	// image is what the caller sees of the node's image, if Glance has it.
	image seen
	// networks is what is wrong with those of the node that the verb needs.
	networks error
}

func readAsked(r *rest.Request) (*asked, error) {
	given, err := readArguments(r, "target", "configdrive", "clean_steps", "deploy_steps", "rescue_password", "disable_ramdisk", "service_steps", "runbook")
	if err != nil {
		return nil, err
	}
	word, err := given.text("target")
	if err != nil {
		return nil, err
	}
	all := &asked{verb: provision.Verb(word), configDrive: given["configdrive"]}
	switch drive := all.configDrive.(type) {
	case nil:
	case string:
		if drive == "" {
			all.configDrive = nil
		}
	case *pyjson.Object:
		if len(drive.Keys()) == 0 {
			all.configDrive = nil
		}
	default:
		return nil, invalid("Expected types <class 'NoneType'>, <class 'dict'>, <class 'str'> for configdrive: %s", printed(all.configDrive))
	}
	for name, to := range map[string]*[]any{"clean_steps": &all.cleanSteps, "deploy_steps": &all.deploySteps, "service_steps": &all.serviceSteps} {
		list, ok := given[name].([]any)
		if given[name] != nil && !ok {
			return nil, invalid("Expected types <class 'NoneType'>, <class 'list'> for %s: %s", name, printed(given[name]))
		}
		*to = list
	}
	for name, to := range map[string]**string{"rescue_password": &all.rescuePassword, "runbook": &all.runbook} {
		if given[name] == nil {
			continue
		}
		text, err := given.text(name)
		if err != nil {
			return nil, err
		}
		*to = &text
	}
	if given["disable_ramdisk"] != nil {
		word := strings.ToLower(printed(given["disable_ramdisk"]))
		truth, err := boolean("disable_ramdisk", word)
		if err != nil {
			return nil, err
		}
		all.disableRamdisk = &truth
	}
	return all, nil
}

// setProvision does what a verb asks for: a row of the table of verbs says what
// that is.
func (a *API) setProvision(r *rest.Request) (*rest.Response, error) {
	all, err := readAsked(r)
	if err != nil {
		return nil, err
	}
	if err := a.seeImage(r, all); err != nil {
		return nil, err
	}
	if err := a.seeNetworks(r, all); err != nil {
		return nil, err
	}
	var begun begun
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		n, err := a.lockNode(r, tx, "baremetal:node:set_provision_state")
		if err != nil {
			return err
		}
		begun, err = a.provision(r, tx, n, all)
		return err
	})
	if err != nil {
		return nil, err
	}
	a.offer(begun.accepted)
	if begun.knock != "" {
		a.Starter.Knock(begun.knock)
	}
	return underWay(r), nil
}

// begun is what a verb has led to: an operation that was accepted, or one to knock
// at.
type begun struct {
	accepted engine.Accepted
	knock    string
}

// provision does what a verb asks for on a locked node, in the original's order.
func (a *API) provision(r *rest.Request, tx store.Tx, n *baremetal.Node, all *asked) (begun, error) {
	if err := mayGiveSteps(r, n, all); err != nil {
		return begun{}, err
	}
	event, err := provision.Accept(all.verb, r.Version, found(n))
	if err != nil {
		return begun{}, err
	}
	if err := mayDrive(r, all); err != nil {
		return begun{}, err
	}
	if err := fits(r, all); err != nil {
		return begun{}, err
	}
	verb, ok := verbs[place{event, n.ProvisionState}]
	if !ok {
		verb, ok = verbs[place{event: event}]
	}
	if !ok {
		return begun{}, hardware.Unsupported(n.Driver, string(all.verb))
	}
	return verb(a, r, tx, n, all)
}

// found is a node as the rules of verbs know it.
func found(n *baremetal.Node) provision.Node {
	f := provision.Node{ID: n.UUID, State: n.ProvisionState, Maintenance: n.Maintenance}
	if n.Reservation != nil {
		f.Reservation = *n.Reservation
	}
	return f
}

// mayGiveSteps asks the rules of those who bring steps of their own.
func mayGiveSteps(r *rest.Request, n *baremetal.Node, all *asked) error {
	if all.runbook != nil {
		return nil
	}
	const rule = "baremetal:node:set_provision_state:"
	for _, s := range []struct {
		steps []any
		rule  string
	}{{all.cleanSteps, rule + "clean_steps"}, {all.serviceSteps, rule + "service_steps"}} {
		if len(s.steps) == 0 {
			continue
		}
		if err := r.Enforce(s.rule, target(n)); err != nil {
			return err
		}
	}
	return nil
}

// Versions since which a verb may be given more.
const (
	deployStepsSince      = 69
	cleanNoRamdiskSince   = 70
	serviceNoRamdiskSince = 108
)

// fits refuses what the verb has no use for.
func fits(r *rest.Request, all *asked) error {
	refuse := func(name, verbs string) error {
		return faults.New(faults.Invalid, "ClientSideError", "\"%s\" is only valid when setting target provision state to %s", name, verbs)
	}
	verb := all.verb
	if all.disableRamdisk != nil {
		since, known := map[provision.Verb]int{provision.VerbClean: cleanNoRamdiskSince, provision.VerbService: serviceNoRamdiskSince}[verb]
		switch {
		case !known:
			return faults.New(faults.Invalid, "BadRequest", "disable_ramdisk is supported only with manual cleaning or servicing")
		case !r.At(v(since)):
			return faults.New(faults.Invalid, "NotAcceptable", "disable_ramdisk is not acceptable in this API version")
		}
	}
	switch {
	case len(all.cleanSteps) > 0 && verb != provision.VerbClean:
		return refuse("clean_steps", "clean")
	case len(all.deploySteps) > 0 && !r.At(v(deployStepsSince)):
		return faults.New(faults.Invalid, "NotAcceptable", "Request not acceptable. The minimal required API version should be 1.%d", deployStepsSince)
	case len(all.deploySteps) > 0 && verb != provision.VerbActive && verb != provision.VerbRebuild:
		return refuse("deploy_steps", "active or rebuild")
	case all.rescuePassword != nil && verb != provision.VerbRescue:
		return refuse("rescue_password", "rescue")
	case len(all.serviceSteps) > 0 && verb != provision.VerbService:
		return refuse("service_steps", "service")
	}
	return nil
}

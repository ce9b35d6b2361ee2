package baremetal

// PUT /nodes/{node}/states/provision: rescue, which has a node run a ramdisk beside its
// disk, unrescue, and adopt, which takes over a node that runs an instance already.

import (
	"fmt"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/shacrypt"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// adopt takes a node over as it is. What is wrong with its row is found by the
// operation, as in the original.
func adopt(a *API, r *rest.Request, tx store.Tx, n *baremetal.Node, _ *asked) (begun, error) {
	var in steps.NodeAdoptInput
	switch err := a.mayBoot(r, tx, n); {
	case faults.Is(err, faults.Invalid):
		in.Refused = faults.As(err).Message
	case err != nil:
		return begun{}, err
	}
	return a.starts(r, tx, n, provision.EventAdopt, provision.None, operations.NodeAdopt, in)
}

// maxPassword bounds a password: the time that its hash takes grows with it.
const maxPassword = 1024

// rescue keeps the ramdisk's password, hashed and sealed, and has the ramdisk run.
func rescue(a *API, r *rest.Request, tx store.Tx, n *baremetal.Node, all *asked) (begun, error) {
	password := word(all.rescuePassword)
	switch {
	case strings.TrimSpace(password) == "":
		return begun{}, faults.New(faults.Invalid, "ClientSideError", "A non-empty \"rescue_password\" is required when setting target provision state to %s", all.verb)
	case len(password) > maxPassword:
		return begun{}, faults.New(faults.Invalid, "ClientSideError", "The \"rescue_password\" is longer than %d bytes", maxPassword)
	}
	can := func() error {
		if err := a.mayBeRescued(r, tx, n); err != nil {
			return err
		}
		return all.networks
	}
	if err := a.mayRescue(n, "rescuing", "rescue", can); err != nil {
		return begun{}, err
	}
	who, err := a.starts(r, tx, n, provision.EventRescue, provision.None, operations.NodeRescue, nil)
	if err != nil {
		return begun{}, err
	}
	hashed, err := shacrypt.Hash(password)
	if err != nil {
		return begun{}, err
	}
	return who, baremetal.KeepRescue(r.Context(), tx, n.UUID, a.Secrets.Seal([]byte(hashed), nodes.RescuePlace(n)))
}

// mayBeRescued says whether a node's rescue interface can be used. Errors: Invalid.
func (a *API) mayBeRescued(r *rest.Request, q store.Queryer, n *baremetal.Node) error {
	err := nodes.MayRescue(n)
	if err != nil || nodes.Interfaces(n)["rescue"] != nodes.RescueAgent {
		return err
	}
	return a.knownByPort(r, q, n)
}

// unrescue has the node run its instance again.
func unrescue(a *API, r *rest.Request, tx store.Tx, n *baremetal.Node, _ *asked) (begun, error) {
	if err := a.mayRescue(n, "unrescuing", "unrescue", nil); err != nil {
		return begun{}, err
	}
	return a.starts(r, tx, n, provision.EventUnrescue, provision.None, operations.NodeUnrescue, nil)
}

// mayRescue says whether a node's drivers can do what is asked, in the original's order.
func (a *API) mayRescue(n *baremetal.Node, doing, verb string, can func() error) error {
	if n.Maintenance {
		return faults.New(faults.Invalid, "NodeInMaintenance", "The %s operation can't be performed on node %s because it's in maintenance mode.", doing, n.UUID)
	}
	err := nodes.MayBeReached(a.Secrets, n)
	if err == nil && can != nil {
		err = can()
	}
	if err == nil {
		return nil
	}
	f := faults.As(err)
	return faults.Wrap(err, f.Kind, fmt.Sprintf("Instance%s%sFailure", strings.ToUpper(verb[:1]), verb[1:]),
		"Failed to %s instance %s for node %s: Validation failed: %s", verb, orNone(n.InstanceUUID), n.UUID, f.Message)
}

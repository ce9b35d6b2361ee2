package baremetal

// PUT /nodes/{node}/states/power.

import (
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// softSince is the version that knows soft changes of power, and timeouts.
const softSince = 27

func (a *API) setPower(r *rest.Request) (*rest.Response, error) {
	asked, err := readArguments(r, "target", "timeout")
	if err != nil {
		return nil, err
	}
	word, err := asked.text("target")
	if err != nil {
		return nil, err
	}
	seconds, err := asked.number("timeout")
	if err != nil {
		return nil, err
	}
	var accepted engine.Accepted
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		n, err := a.lockNode(r, tx, "baremetal:node:set_power_state")
		if err != nil {
			return err
		}
		target := provision.Power(word)
		if err := mayPower(r, n, target, seconds); err != nil {
			return err
		}
		if n.Reservation == nil {
			if err := nodes.MayPower(a.Secrets, n, target); err != nil {
				return err
			}
		}
		accepted, err = a.begin(r, tx, n, operations.NodePower, steps.NodePowerInput{Target: word, Timeout: a.patience(target, seconds)})
		if err != nil {
			return err
		}
		return baremetal.AwaitPower(r.Context(), tx, n.UUID, target.Target())
	})
	if err != nil {
		return nil, err
	}
	a.offer(accepted)
	return underWay(r), nil
}

// mayPower says whether a change of power can be asked for, in the original's order.
func mayPower(r *rest.Request, n *baremetal.Node, target provision.Power, seconds *int64) error {
	refused := func(state string) error {
		return faults.New(faults.Invalid, "InvalidStateRequested",
			"The requested action \"%s\" can not be performed on node \"%s\" while it is in state \"%s\".", target, r.Param("node"), state)
	}
	switch {
	case (target.Soft() || seconds != nil && *seconds != 0) && !r.At(v(softSince)):
		return notAcceptable()
	case seconds != nil && *seconds < 1:
		return faults.New(faults.Invalid, "Invalid", "timeout has to be positive integer")
	case !target.Known():
		return refused(orNone(n.PowerState))
	case n.ProvisionState == provision.Cleaning || n.ProvisionState == provision.CleanWait:
		return refused(string(n.ProvisionState))
	case target.Target() == provision.PowerOff && n.DisablePowerOff:
		return faults.New(faults.Conflict, "PowerStateFailure", "Failed to set node power state to %s.", target)
	}
	return nil
}

// maxPatience bounds what a request may ask for: the operation ends before a day
// is over.
const maxPatience = 12 * time.Hour

func (a *API) patience(target provision.Power, seconds *int64) time.Duration {
	switch {
	case seconds != nil:
		return time.Duration(min(*seconds, int64(maxPatience/time.Second))) * time.Second
	case target.Soft():
		return a.SoftPowerTimeout
	}
	return a.PowerTimeout
}

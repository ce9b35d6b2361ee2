package baremetal

// Requests that are answered when the work is done, as the original answers them; and
// questions that a node's conductor answers.

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store/baremetal"
)

// waitsFor is how long a request waits for its operation.
const waitsFor = 40 * time.Second

// failures are the kinds of faults that operations end with, by their codes; others are
// internal.
var failures = map[string]faults.Kind{
	"InvalidParameterValue": faults.Invalid, "MissingParameterValue": faults.Invalid, "UnsupportedDriverExtension": faults.Invalid,
	"PowerStateFailure": faults.Conflict, "NodeNotInterrupted": faults.Conflict, "Cancelled": faults.Conflict, "Superseded": faults.Conflict,
	"NoConductor": faults.Unavailable, "SubscriptionNotFound": faults.NotFound,
	"NoFreePhysicalPorts": faults.Invalid, "VifAlreadyAttached": faults.Conflict,
}

// await waits for an operation to end, and gives what it failed with. What lasts longer
// goes on behind the answer, which says so.
func (a *API) await(r *rest.Request, operationID string) error {
	op, err := a.Engine.Await(r.Context(), a.DB.Pool, operationID, waitsFor, engine.ToTheEnd)
	switch {
	case err != nil:
		return err
	case !op.Finished():
		return faults.New(faults.Unavailable, "BMCSlow", "The node's BMC has not done it yet; the operation %s goes on.", operationID)
	}
	if err = op.Failure(failures); err != nil {
		return asBMC(err)
	}
	return nil
}

// shown are the codes of faults of BMCs and of Neutron, which whoever asked is told of.
var shown = []string{"RedfishError", "RedfishConnectionError", "NetworkError", "PortgroupPhysnetInconsistent"}

// asBMC answers what a BMC, or Neutron, has failed with: the original's 500, with its text.
func asBMC(err error) error {
	if f := faults.As(err); f != nil && slices.Contains(shown, f.Code) {
		return refusal(http.StatusInternalServerError, f.Message)
	}
	return err
}

// Conductors answers questions about nodes; hostlink.Reader is the one there is.
type Conductors interface {
	// Ask asks the conductor that listens at linkAddress something about a node.
	Ask(ctx context.Context, conductor, linkAddress, nodeID, question string, about url.Values) (json.RawMessage, error)
}

// question asks the conductor of a node something, and reads the answer.
func (a *API) question(r *rest.Request, n *baremetal.Node, name string, about url.Values, into any) error {
	if n.Conductor == nil {
		return unserved(n)
	}
	at, err := baremetal.ConductorLink(r.Context(), a.DB.Pool, *n.Conductor)
	if err != nil {
		return err
	}
	said, err := a.Conductors.Ask(r.Context(), *n.Conductor, at, n.UUID, name, about)
	if err != nil {
		return asBMC(err)
	}
	if err := json.Unmarshal(said, into); err != nil {
		return faults.Wrap(err, faults.Unavailable, "HostLink", "the conductor's answer can't be read")
	}
	return nil
}

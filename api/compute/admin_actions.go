package compute

// Actions of administrators: os-resetState and injectNetworkInfo.

import (
	"log/slog"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

const (
	policyResetState    = "os_compute_api:os-admin-actions:reset_state"
	policyInjectNetwork = "os_compute_api:os-admin-actions:inject_network_info"
)

// resetState says what a server is: within the request, or by an operation where
// another holds the server, which it pre-empts, or where a move waits to be
// confirmed, whose rest it takes away.
func (a *API) resetState(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[struct {
		State servers.VMState `json:"state"`
	}](r, "os-resetState")
	if err != nil {
		return nil, err
	}
	var accepted engine.Accepted
	err = a.onServer(r, policyResetState, func(tx store.Tx, server *compute.Server) error {
		m, err := finishedMove(r, tx, server)
		if err != nil {
			return err
		}
		if server.OperationID != "" || m != nil {
			accepted, err = a.accept(r, tx, operations.ServerResetState, server, steps.ResetState{VMState: string(asked.State)})
			return err
		}
		state := string(asked.State)
		if err := compute.PublishServer(r.Context(), tx, server.ID, steps.ServerOutcome{VMState: &state}, nil); err != nil {
			return err
		}
		return record(r, tx, server, "resetState")
	})
	if err != nil {
		return nil, err
	}
	a.offer(accepted)
	return nil, nil
}

// injectNetworkInfo reads the server's addresses from Neutron, which is all that
// the original's libvirt driver leaves of it.
func (a *API) injectNetworkInfo(r *rest.Request) (*rest.Response, error) {
	var id string
	err := a.onServer(r, policyInjectNetwork, func(_ store.Tx, server *compute.Server) error {
		id = server.ID
		return notLocked(r.Identity, server)
	})
	if err != nil {
		return nil, err
	}
	if err := a.readAddresses(r, []string{id}); err != nil {
		// The next event of Neutron's, or the next binding, makes up for it.
		slog.WarnContext(r.Context(), "a server is shown with the addresses that it had", "server", id, "error", err)
	}
	return nil, nil
}

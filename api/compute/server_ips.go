package compute

// GET /servers/{server_id}/ips: the addresses alone.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
)

func (a *API) listIPs(r *rest.Request) (*rest.Response, error) {
	server, err := a.serverOf(r, "os_compute_api:ips:index")
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"addresses": plainAddresses(addressesOf(server))}), nil
}

func (a *API) showIPs(r *rest.Request) (*rest.Response, error) {
	server, err := a.serverOf(r, "os_compute_api:ips:show")
	if err != nil {
		return nil, err
	}
	addresses, ok := plainAddresses(addressesOf(server))[r.Param("id")]
	if !ok {
		return nil, faults.New(faults.NotFound, "NetworkNotFound", "Instance is not a member of specified network")
	}
	return rest.JSON(map[string]any{r.Param("id"): addresses}), nil
}

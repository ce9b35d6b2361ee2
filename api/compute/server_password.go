package compute

// /servers/{server_id}/os-server-password: what a guest has posted to the metadata
// service for its user, encrypted by the guest; the next one is taken when this one
// has been cleared.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/store/compute"
)

const (
	policyShowPassword  = "os_compute_api:os-server-password:show"
	policyClearPassword = "os_compute_api:os-server-password:clear"
)

func (a *API) showPassword(r *rest.Request) (*rest.Response, error) {
	server, err := a.serverOf(r, policyShowPassword)
	if err != nil {
		return nil, err
	}
	password, err := compute.PostedPassword(r.Context(), a.DB.Pool, server.ID)
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]string{"password": password}), nil
}

func (a *API) clearPassword(r *rest.Request) (*rest.Response, error) {
	server, err := a.serverOf(r, policyClearPassword)
	if err == nil {
		err = compute.ClearPassword(r.Context(), a.DB.Pool, server.ID)
	}
	return nil, err
}

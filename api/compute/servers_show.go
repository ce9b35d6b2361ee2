package compute

// GET /servers/{id}

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/store/compute"
)

// showServer gives one server; another project's is as good as not there.
func (a *API) showServer(r *rest.Request) (*rest.Response, error) {
	server, err := compute.GetServer(r.Context(), a.DB.Pool, r.Identity.Scope(), r.Param("id"))
	if err != nil {
		return nil, err
	}
	view, err := a.viewAlone(r, server)
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"server": view.detail()}), nil
}

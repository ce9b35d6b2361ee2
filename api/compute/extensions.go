package compute

// GET /extensions: what was an extension once and is always there now.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
)

func (a *API) listExtensions(*rest.Request) (*rest.Response, error) {
	t, err := embedded()
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"extensions": t.extensions}), nil
}

func (a *API) showExtension(r *rest.Request) (*rest.Response, error) {
	t, err := embedded()
	if err != nil {
		return nil, err
	}
	for _, e := range t.extensions {
		if e["alias"] == r.Param("id") {
			return rest.JSON(map[string]any{"extension": e}), nil
		}
	}
	return nil, faults.New(faults.NotFound, "ExtensionNotFound", "The resource could not be found.")
}

package compute

// Who may use a private flavor: GET /flavors/{id}/os-flavor-access and the
// actions addTenantAccess and removeTenantAccess.

import (
	"context"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

type tenantRequest struct {
	Tenant string `json:"tenant"`
}

func (a *API) listFlavorAccess(r *rest.Request) (*rest.Response, error) {
	flavor, err := compute.GetFlavor(r.Context(), a.DB.Pool, r.Identity.Scope(), r.Param("flavor_id"))
	if err != nil {
		return nil, err
	}
	if flavor.Public {
		return nil, faults.New(faults.NotFound, "FlavorIsPublic", "Access list not available for public flavors.")
	}
	return flavorAccess(r, a.DB.Pool, flavor.ID)
}

func (a *API) addFlavorAccess(r *rest.Request) (*rest.Response, error) {
	return a.changeFlavorAccess(r, "addTenantAccess", func(ctx context.Context, tx store.Tx, flavor *compute.Flavor, project string) error {
		if flavor.Public && r.Has(7) {
			return faults.New(faults.Conflict, "FlavorIsPublic", "Can not add access to a public flavor.")
		}
		return compute.AddFlavorAccess(ctx, tx, flavor.ID, project)
	})
}

func (a *API) removeFlavorAccess(r *rest.Request) (*rest.Response, error) {
	return a.changeFlavorAccess(r, "removeTenantAccess", func(ctx context.Context, tx store.Tx, flavor *compute.Flavor, project string) error {
		return compute.RemoveFlavorAccess(ctx, tx, flavor.ID, project)
	})
}

// changeFlavorAccess makes a change for the project that the action's body
// names and answers the list as it is then.
func (a *API) changeFlavorAccess(r *rest.Request, action string, change func(context.Context, store.Tx, *compute.Flavor, string) error) (answer *rest.Response, err error) {
	asked, err := readBody[tenantRequest](r, action)
	if err != nil {
		return nil, err
	}
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		flavor, err := compute.GetFlavor(r.Context(), tx, r.Identity.Scope(), r.Param("id"))
		if err != nil {
			return err
		}
		if err := change(r.Context(), tx, flavor, asked.Tenant); err != nil {
			return err
		}
		answer, err = flavorAccess(r, tx, flavor.ID)
		return err
	})
	return answer, err
}

func flavorAccess(r *rest.Request, q store.Queryer, id string) (*rest.Response, error) {
	projects, err := compute.FlavorAccess(r.Context(), q, id)
	if err != nil {
		return nil, err
	}
	access := make([]map[string]string, len(projects))
	for i, project := range projects {
		access[i] = map[string]string{"flavor_id": id, "tenant_id": project}
	}
	return rest.JSON(map[string]any{"flavor_access": access}), nil
}

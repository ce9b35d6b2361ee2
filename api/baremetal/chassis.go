package baremetal

// Chassis: groups of nodes.

import (
	"github.com/google/uuid"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

func (a *API) listChassis(detailed bool) rest.Handler {
	return func(r *rest.Request) (*rest.Response, error) {
		l, err := chassisResource.listing(r, nil, a.MaxPageSize, detailed)
		if err != nil {
			return nil, err
		}
		if l.Marker != "" {
			if _, err := baremetal.FindChassis(r.Context(), a.DB.Pool, l.Marker); err != nil {
				return nil, err
			}
		}
		all, err := baremetal.ListChassis(r.Context(), a.DB.Pool, l.List)
		if err != nil {
			return nil, err
		}
		return page(r, &chassisResource, l, all, func(c *baremetal.Chassis) string { return c.UUID }, func(c *baremetal.Chassis) map[string]any {
			return chassisView(r, c, l.wanted)
		}), nil
	}
}

// chassisView is what clients are shown of a chassis. The links to its nodes are
// a list in a list, as the original has them.
func chassisView(r *rest.Request, c *baremetal.Chassis, wanted []string) map[string]any {
	shown := view(r, &chassisResource, chassisPlaces, c, c.UUID, wanted)
	if wanted == nil {
		shown["nodes"] = [][]rest.Link{links(r, "chassis", c.UUID, "nodes")}
	}
	return shown
}

func (a *API) showChassis(r *rest.Request) (*rest.Response, error) {
	if err := chassisResource.expected(r, common[4:5]); err != nil {
		return nil, err
	}
	wanted, err := chassisResource.wanted(r)
	if err != nil {
		return nil, err
	}
	c, err := baremetal.FindChassis(r.Context(), a.DB.Pool, r.Param("chassis"))
	if err != nil {
		return nil, err
	}
	return rest.JSON(chassisView(r, c, wanted)), nil
}

func (a *API) createChassis(r *rest.Request) (*rest.Response, error) {
	body, err := object(r, "chassis_create", "chassis")
	if err != nil {
		return nil, err
	}
	c := &baremetal.Chassis{UUID: uuid.NewString()}
	if err := fill(body, c); err != nil {
		return nil, err
	}
	settle(c)
	err = a.DB.InTx(r.Context(), func(tx store.Tx) (err error) {
		if err = baremetal.CreateChassis(r.Context(), tx, c); err == nil {
			c, err = baremetal.FindChassis(r.Context(), tx, c.UUID)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(chassisView(r, c, nil)).WithHeader("Location", r.Link("chassis", c.UUID)), nil
}

func (a *API) updateChassis(r *rest.Request) (*rest.Response, error) {
	changes, err := chassisResource.readPatch(r)
	if err != nil {
		return nil, err
	}
	after := &baremetal.Chassis{}
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		c, err := baremetal.LockChassis(r.Context(), tx, r.Param("chassis"))
		if err != nil {
			return err
		}
		if err := patched(c, changes, "chassis_create", after); err != nil {
			return err
		}
		after.UUID = c.UUID
		if err := baremetal.UpdateChassis(r.Context(), tx, after); err != nil {
			return err
		}
		after, err = baremetal.FindChassis(r.Context(), tx, c.UUID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(chassisView(r, after, nil)), nil
}

func (a *API) deleteChassis(r *rest.Request) (*rest.Response, error) {
	return nil, a.DB.InTx(r.Context(), func(tx store.Tx) error {
		c, err := baremetal.LockChassis(r.Context(), tx, r.Param("chassis"))
		if err != nil {
			return err
		}
		return baremetal.DeleteChassis(r.Context(), tx, c)
	})
}

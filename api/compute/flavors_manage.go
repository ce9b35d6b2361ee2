package compute

// POST /flavors, PUT and DELETE /flavors/{id}: flavors made, described and
// taken away by administrators. Servers keep their own copies.

import (
	"encoding/json"

	"github.com/google/uuid"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// flavorRequest is the body of POST /flavors.
type flavorRequest struct {
	Name        string          `json:"name"`
	ID          json.RawMessage `json:"id"`
	RAM         whole           `json:"ram"`
	VCPUs       whole           `json:"vcpus"`
	Disk        whole           `json:"disk"`
	Ephemeral   whole           `json:"OS-FLV-EXT-DATA:ephemeral"`
	Swap        whole           `json:"swap"`
	RXTXFactor  *json.Number    `json:"rxtx_factor"`
	Public      *truth          `json:"os-flavor-access:is_public"`
	Description *string         `json:"description"`
}

// flavor is the row that the body asks for.
func (f *flavorRequest) flavor() *compute.Flavor {
	made := &compute.Flavor{
		ID: pyStr(f.ID), Name: f.Name, VCPUs: int(f.VCPUs), MemoryMB: int64(f.RAM), RootGB: int64(f.Disk),
		EphemeralGB: int64(f.Ephemeral), SwapMB: int64(f.Swap), RXTXFactor: 1, Public: true, Description: f.Description,
	}
	if len(f.ID) == 0 || string(f.ID) == "null" {
		made.ID = uuid.NewString()
	}
	if f.Public != nil {
		made.Public = bool(*f.Public)
	}
	if f.RXTXFactor != nil {
		if factor, err := f.RXTXFactor.Float64(); err == nil {
			made.RXTXFactor = factor
		}
	}
	return made
}

func (a *API) createFlavor(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[flavorRequest](r, "flavor")
	if err != nil {
		return nil, err
	}
	flavor := asked.flavor()
	// Nobody may use a private one yet, not even who makes it.
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		return compute.CreateFlavor(r.Context(), tx, flavor)
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"flavor": flavorView{flavor, r}.detail()}), nil
}

func (a *API) updateFlavor(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[struct{ Description *string }](r, "flavor")
	if err != nil {
		return nil, err
	}
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		return compute.DescribeFlavor(r.Context(), tx, r.Param("id"), asked.Description)
	})
	if err != nil {
		return nil, err
	}
	return a.showFlavor(r)
}

func (a *API) deleteFlavor(r *rest.Request) (*rest.Response, error) {
	return nil, a.DB.InTx(r.Context(), func(tx store.Tx) error {
		return compute.DeleteFlavor(r.Context(), tx, r.Param("id"))
	})
}

package compute

// /flavors/{flavor_id}/os-extra_specs: what else a flavor asks of its host.

import (
	"encoding/json"
	"maps"
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

func (a *API) listExtraSpecs(r *rest.Request) (*rest.Response, error) {
	flavor, err := compute.GetFlavor(r.Context(), a.DB.Pool, r.Identity.Scope(), r.Param("flavor_id"))
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"extra_specs": orEmpty(flavor.ExtraSpecs)}), nil
}

func (a *API) showExtraSpec(r *rest.Request) (*rest.Response, error) {
	flavor, err := compute.GetFlavor(r.Context(), a.DB.Pool, r.Identity.Scope(), r.Param("flavor_id"))
	if err != nil {
		return nil, err
	}
	value, ok := flavor.ExtraSpecs[r.Param("id")]
	if !ok {
		return nil, noExtraSpec(flavor.ID, r.Param("id"))
	}
	return rest.JSON(map[string]string{r.Param("id"): value}), nil
}

func (a *API) createExtraSpecs(r *rest.Request) (*rest.Response, error) {
	specs, err := readBody[map[string]json.RawMessage](r, "extra_specs")
	if err != nil {
		return nil, err
	}
	return a.setExtraSpecs(r, *specs, func(set map[string]string) any { return map[string]any{"extra_specs": set} })
}

func (a *API) updateExtraSpec(r *rest.Request) (*rest.Response, error) {
	specs, err := r.Object()
	if err != nil {
		return nil, err
	}
	if _, ok := specs[r.Param("id")]; !ok {
		return nil, faults.New(faults.Invalid, "BodyMismatch", "Request body and URI mismatch")
	}
	return a.setExtraSpecs(r, specs, func(set map[string]string) any { return set })
}

// setExtraSpecs adds to the flavor's and answers what was set. Values are kept
// as text, whatever they were sent as.
func (a *API) setExtraSpecs(r *rest.Request, specs map[string]json.RawMessage, show func(map[string]string) any) (*rest.Response, error) {
	set := make(map[string]string, len(specs))
	for name, value := range specs {
		set[name] = pyStr(value)
	}
	if r.Has(86) {
		if err := checkExtraSpecs(set); err != nil {
			return nil, err
		}
	}
	err := a.DB.InTx(r.Context(), func(tx store.Tx) error {
		return compute.SetExtraSpecs(r.Context(), tx, r.Param("flavor_id"), set)
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(show(set)), nil
}

func (a *API) deleteExtraSpec(r *rest.Request) (*rest.Response, error) {
	return nil, a.DB.InTx(r.Context(), func(tx store.Tx) error {
		had, err := compute.RemoveExtraSpec(r.Context(), tx, r.Param("flavor_id"), r.Param("id"))
		if err == nil && !had {
			err = noExtraSpec(r.Param("flavor_id"), r.Param("id"))
		}
		return err
	})
}

func noExtraSpec(flavor, name string) error {
	return faults.New(faults.NotFound, "FlavorExtraSpecsNotFound", "Flavor %s has no extra specs with key %s.", flavor, name)
}

// checkExtraSpecs says whether flavors may have these; the first that may not,
// by name, is the fault.
func checkExtraSpecs(specs map[string]string) error {
	t, err := embedded()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		if err := t.extraSpecs.Check(name, specs[name]); err != nil {
			return err
		}
	}
	return nil
}

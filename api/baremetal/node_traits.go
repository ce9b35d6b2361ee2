package baremetal

// Traits: what a node can do, in the words that flavors ask by.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// maxTraits is the most that a node has.
const maxTraits = 50

func (a *API) listTraits(r *rest.Request) (*rest.Response, error) {
	n, err := a.node(r, a.DB.Pool, "baremetal:node:traits:list")
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"traits": n.Traits}), nil
}

// readTraits are those that a body gives a node or a runbook instead of all that
// it has.
func readTraits(r *rest.Request, s *resource) ([]string, error) {
	if r.Body() != nil {
		if err := check(s.one+"_traits_put", "body", r.Body()); err != nil {
			return nil, err
		}
	}
	body, _ := r.Body().(*pyjson.Object)
	list, given := body.Get("traits")
	if !given {
		return nil, faults.New(faults.Invalid, "Invalid", "A single %[1]s trait may be added via PUT /v1/%[2]s/<%[1]s identifier>/traits/<trait> with no body, "+
			"or all %[1]s traits may be replaced via PUT /v1/%[2]s/<%[1]s identifier>/traits with the list of traits specified in the request body.", s.one, s.many)
	}
	traits := []string{}
	for _, trait := range list.([]any) {
		traits = append(traits, trait.(string))
	}
	return traits, nil
}

// readTrait is the one in the path, which is added.
func readTrait(r *rest.Request) (string, error) {
	trait := r.Param("trait")
	if err := check("trait", "trait", trait); err != nil {
		return "", err
	}
	if body, ok := r.Body().(*pyjson.Object); ok && body.Len() > 0 {
		return "", faults.New(faults.Invalid, "Invalid", "No body should be provided when adding a trait")
	}
	return trait, nil
}

// setTraits replaces all of a node's traits.
func (a *API) setTraits(r *rest.Request) (*rest.Response, error) {
	traits, err := readTraits(r, &nodeResource)
	if err != nil {
		return nil, err
	}
	return nil, a.changeTraits(r, "baremetal:node:traits:set", func(tx store.Tx, n *baremetal.Node) error {
		return baremetal.SetTraits(r.Context(), tx, n.UUID, traits)
	})
}

// addTrait adds the one in the path.
func (a *API) addTrait(r *rest.Request) (*rest.Response, error) {
	trait, err := readTrait(r)
	if err != nil {
		return nil, err
	}
	err = a.changeTraits(r, "baremetal:node:traits:set", func(tx store.Tx, n *baremetal.Node) error {
		return baremetal.AddTraits(r.Context(), tx, n.UUID, trait)
	})
	if err != nil {
		return nil, err
	}
	return (&rest.Response{}).WithHeader("Location", r.Link("nodes", r.Param("node"), "traits", trait)), nil
}

// removeTraits takes away the one in the path, or all.
func (a *API) removeTraits(r *rest.Request) (*rest.Response, error) {
	return nil, a.changeTraits(r, "baremetal:node:traits:delete", func(tx store.Tx, n *baremetal.Node) error {
		if trait := r.Param("trait"); trait != "" {
			return baremetal.RemoveTrait(r.Context(), tx, n.UUID, trait)
		}
		return baremetal.RemoveTraits(r.Context(), tx, n.UUID)
	})
}

// changeTraits is the frame of what changes the traits of a locked node.
func (a *API) changeTraits(r *rest.Request, rule string, change func(store.Tx, *baremetal.Node) error) error {
	return a.DB.InTx(r.Context(), func(tx store.Tx) error {
		n, err := a.lockNode(r, tx, rule)
		if err != nil {
			return err
		}
		if err := change(tx, n); err != nil {
			return err
		}
		after, err := baremetal.Nodes.Find(r.Context(), tx, n.UUID, false)
		if err == nil && len(after.Traits) > maxTraits {
			err = invalid("Could not modify traits for node %s as it would exceed the maximum number of traits per node (%d vs. %d)",
				n.UUID, len(after.Traits), maxTraits)
		}
		return err
	})
}

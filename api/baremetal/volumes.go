package baremetal

// Volumes of nodes: connectors and targets, which storage interfaces of nodes read.

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// ofVolumes are the parameters of lists of connectors and of targets.
var ofVolumes = []filter{{name: "node", since: 32}, {name: "detail", since: 32}}

var volumeConnectors = kind[baremetal.VolumeConnector]{
	resource: &volumeConnectorResource, table: baremetal.VolumeConnectors, rule: "baremetal:volume:", param: "connector", misnamed: "Expected UUID for connector_uuid: %s", what: "connector",
	schema: "volume_connector_create", filters: ofVolumes,
	list: func(a *API, r *rest.Request) (func(*listing) error, error) { return a.partsOfNodes(r, "volume") },
	may:  mayPart(baremetal.VolumeConnectors, "connector", func(c *baremetal.VolumeConnector) string { return c.NodeUUID }),
	create: func(a *API, r *rest.Request, tx store.Tx, _ *pyjson.Object, c *baremetal.VolumeConnector) error {
		if err := connectorFits(c); err != nil {
			return err
		}
		return a.mayHaveVolume(r, tx, c.NodeUUID)
	},
	change: func(a *API, r *rest.Request, tx store.Tx, before, after *baremetal.VolumeConnector, _ []change) error {
		if err := connectorFits(after); err != nil {
			return err
		}
		return a.mayChangeVolume(r, tx, "volume connector update", before.NodeUUID, after.NodeUUID)
	},
	remove: func(_ *API, r *rest.Request, tx store.Tx, c *baremetal.VolumeConnector) error {
		return mayDropVolume(r, tx, "volume connector deletion", c.NodeUUID)
	},
}

var volumeTargets = kind[baremetal.VolumeTarget]{
	resource: &volumeTargetResource, table: baremetal.VolumeTargets, rule: "baremetal:volume:", param: "target", misnamed: "Expected UUID for target_uuid: %s", what: "target",
	schema: "volume_target_create", filters: ofVolumes,
	list: func(a *API, r *rest.Request) (func(*listing) error, error) { return a.partsOfNodes(r, "volume") },
	may:  mayPart(baremetal.VolumeTargets, "target", func(t *baremetal.VolumeTarget) string { return t.NodeUUID }),
	create: func(a *API, r *rest.Request, tx store.Tx, _ *pyjson.Object, t *baremetal.VolumeTarget) error {
		if err := targetFits(t); err != nil {
			return err
		}
		if err := a.mayHaveVolume(r, tx, t.NodeUUID); err != nil {
			return err
		}
		return a.concealTarget(t, nil)
	},
	change: func(a *API, r *rest.Request, tx store.Tx, before, after *baremetal.VolumeTarget, _ []change) error {
		if err := targetFits(after); err != nil {
			return err
		}
		if err := a.mayChangeVolume(r, tx, "volume target update", before.NodeUUID, after.NodeUUID); err != nil {
			return err
		}
		return a.concealTarget(after, before)
	},
	remove: func(_ *API, r *rest.Request, tx store.Tx, t *baremetal.VolumeTarget) error {
		return mayDropVolume(r, tx, "volume target deletion", t.NodeUUID)
	},
	dress: func(r *rest.Request, _ *baremetal.VolumeTarget, _ []string, shown map[string]any) {
		const rule = "baremetal:volume:view_target_properties"
		if _, ok := shown["properties"]; ok && !r.Allows(rule, nil) {
			shown["properties"] = map[string]string{"redacted_contents": "** Value redacted: Requires permission " + rule + " access. Permission denied. **"}
		}
	},
}

// showVolume answers GET /volume and GET /nodes/{node}/volume: where connectors and targets
// are.
func showVolume(r *rest.Request) (*rest.Response, error) {
	parts := []string{"volume"}
	if node := r.Param("node"); node != "" {
		parts = []string{"nodes", node, "volume"}
	}
	at := func(what string) []rest.Link { return links(r, append(parts, what)...) }
	return rest.JSON(map[string]any{"links": at(""), "connectors": at("connectors"), "targets": at("targets")}), nil
}

// bounded refuses a text that is longer than clients may send it.
func bounded(name, value string, most int) error {
	if utf8.RuneCountInString(value) > most {
		return invalid("The value of %s is longer than %d characters", name, most)
	}
	return nil
}

func connectorFits(c *baremetal.VolumeConnector) error {
	if err := bounded("type", c.Type, 32); err != nil {
		return err
	}
	return bounded("connector_id", c.ConnectorID, 255)
}

func targetFits(t *baremetal.VolumeTarget) error {
	if err := bounded("volume_type", t.VolumeType, 64); err != nil {
		return err
	}
	return bounded("volume_id", t.VolumeID, 36)
}

// mayHaveVolume says whether the caller may give a node a connector or a target.
func (a *API) mayHaveVolume(r *rest.Request, tx store.Tx, node string) error {
	_, err := a.mayHave(r, tx, node, "baremetal:volume:create")
	if f := faults.As(err); err != nil && f.Code == "NodeNotFound" {
		return faults.Wrap(err, faults.Invalid, "InvalidInput", "Invalid input for field/attribute node_uuid. Value: '%s'. ", node)
	}
	return err
}

// mayChangeVolume says whether one may become another, or another node's: of a node that is
// off, and that nobody works on.
func (a *API) mayChangeVolume(r *rest.Request, tx store.Tx, what, before, after string) error {
	n, err := idle(r, tx, before)
	if err != nil {
		return err
	}
	if after != before {
		if _, err := a.mayHave(r, tx, after, "baremetal:volume:update"); err != nil {
			return err
		}
	}
	return isOff(n, what)
}

// mayDropVolume says whether one may go: of a node that is off, or that may go itself.
func mayDropVolume(r *rest.Request, tx store.Tx, what, node string) error {
	n, err := idle(r, tx, node)
	if err != nil {
		return err
	}
	if s := n.ProvisionState; s != provision.Available && s.Delete(n.UUID) == nil {
		return nil
	}
	return isOff(n, what)
}

// isOff refuses what is done to nodes that are off alone.
func isOff(n *baremetal.Node, what string) error {
	if n.PowerState != nil && provision.Power(*n.PowerState) == provision.PowerOff {
		return nil
	}
	return faults.New(faults.Invalid, "InvalidStateRequested", "The requested action \"%s\" can not be performed on node \"%s\" while it is in state \"%s\".",
		what, n.UUID, orNone(n.PowerState))
}

// concealTarget masks and seals what is secret in a target. What is masked already is the
// secret that before, if there is one, has in that place.
func (a *API) concealTarget(t, before *baremetal.VolumeTarget) error {
	place := func(t *baremetal.VolumeTarget) string { return "baremetal.volume_targets/" + t.UUID }
	old, found := map[string]any{}, map[string]any{}
	if before != nil && before.Secrets != nil {
		text, err := a.Secrets.Open(before.Secrets, place(before))
		if err == nil {
			err = json.Unmarshal(text, &old)
		}
		if err != nil {
			return fmt.Errorf("the secrets of volume target %s: %w", before.UUID, err)
		}
	}
	value, _, err := pyjson.Parse(t.Properties)
	if err != nil {
		return fmt.Errorf("properties: %w", err)
	}
	nodes.Hide(value, "", nil, old, found)
	if t.Secrets = nil; len(found) == 0 {
		return nil
	}
	if t.Properties, err = json.Marshal(value); err != nil {
		return fmt.Errorf("properties: %w", err)
	}
	text, err := json.Marshal(found)
	if err != nil {
		return fmt.Errorf("the secrets of a volume target: %w", err)
	}
	t.Secrets = a.Secrets.Seal(text, place(t))
	return nil
}

package baremetal

// Patches of nodes: who may change which field, and when.

import (
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// patchRules are the rules of what a path begins with, the first that fits; what
// fits none has the rule of any update (contracts: versioned-fields.json,
// patch_policy_match).
var patchRules = []struct{ prefix, rule string }{
	{"/instance_info", "baremetal:node:update_instance_info"},
	{"/extra", "baremetal:node:update_extra"},
	{"/driver_info", "baremetal:node:update:driver_info"},
	{"/properties", "baremetal:node:update:properties"},
	{"/chassis_uuid", "baremetal:node:update:chassis_uuid"},
	{"/instance_uuid", "baremetal:node:update:instance_uuid"},
	{"/instance_name", "baremetal:node:update_instance_info"},
	{"/lessee", "baremetal:node:update:lessee"},
	{"/owner", "baremetal:node:update:owner"},
	{"/driver", "baremetal:node:update:driver_interfaces"},
	{"/network_data", "baremetal:node:update:network_data"},
	{"/conductor_group", "baremetal:node:update:conductor_group"},
	{"/name", "baremetal:node:update:name"},
	{"/retired", "baremetal:node:update:retired"},
	{"/shard", "baremetal:node:update:shard"},
	{"/parent_node", "baremetal:node:update:parent_node"},
	{"/disable_power_off", "baremetal:node:update:disable_power_off"},
	{"/maintenance", "baremetal:node:set_maintenance"},
}

// rulesOf are the rules that a patch needs.
func rulesOf(changes []change) []string {
	const update = "baremetal:node:update"
	return distinctRules(changes, update, func(c change) string {
		i := slices.IndexFunc(patchRules, func(p struct{ prefix, rule string }) bool { return strings.HasPrefix(c.path, p.prefix) })
		kind, isInterface := strings.CutSuffix(c.root(), "_interface")
		switch {
		case i >= 0:
			return patchRules[i].rule
		case isInterface && slices.Contains(hardware.Interfaces(), hardware.Interface(kind)):
			return update + ":driver_interfaces"
		case c.root() == "automated_clean" && isFalse(c.value):
			return "baremetal:node:disable_cleaning"
		}
		return update
	})
}

func isFalse(value any) bool {
	word, ok := value.(string)
	if !ok {
		return value == false
	}
	is, err := boolean("automated_clean", word)
	return err == nil && !is
}

func (a *API) updateNode(r *rest.Request) (*rest.Response, error) {
	reset, err := resetInterfaces(r)
	if err != nil {
		return nil, err
	}
	changes, err := nodeResource.readPatch(r)
	if err != nil {
		return nil, err
	}
	if reset && len(values(changes, "/driver")) == 0 {
		return nil, faults.New(faults.Invalid, "Invalid", "The reset_interfaces parameter can only be used when changing the node's driver.")
	}
	var after *baremetal.Node
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		n, err := a.lockNode(r, tx, rulesOf(changes)...)
		if err != nil {
			return err
		}
		if err := mayPatch(r, n, changes); err != nil {
			return err
		}
		if after, err = a.patchNode(r, tx, n, changes, reset); err != nil {
			return err
		}
		if n.InstanceUUID != nil && after.InstanceUUID == nil {
			if err := baremetal.EndAllocation(r.Context(), tx, n); err != nil {
				return err
			}
		}
		if err := baremetal.Nodes.Update(r.Context(), tx, after); err != nil {
			return err
		}
		after, err = baremetal.Nodes.Find(r.Context(), tx, n.UUID, false)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(a.nodeView(r, nil)(after)), nil
}

// resetInterfaces says whether a node that gets another driver gets that one's
// own interfaces with it.
func resetInterfaces(r *rest.Request) (bool, error) {
	const name = "reset_interfaces"
	if err := nodeResource.expected(r, []filter{{name: name, since: 45}}); err != nil || !r.Query.Has(name) {
		return false, err
	}
	return boolean(name, r.Query.Get(name))
}

// mayPatch says whether the node can be changed now.
func mayPatch(r *rest.Request, n *baremetal.Node, changes []change) error {
	if n.Maintenance && len(changes) == 1 && changes[0].op == "remove" && changes[0].path == "/instance_uuid" {
		return nil
	}
	if err := n.Position().Update(r.Param("node"), r.Version); err != nil {
		return err
	}
	if err := unlocked(n); err != nil {
		return err
	}
	if len(values(changes, "/owner")) > 0 && n.ProvisionState == provision.Active && !r.Allows("baremetal:node:update_owner_provisioned", target(n)) {
		return faults.New(faults.Conflict, "ClientSideError", "Cannot update owner of node \"%s\" while it is in state \"%s\".", n.UUID, provision.Active)
	}
	for _, name := range values(changes, "/name") {
		word, _ := name.(string)
		if err := named(r, word, "Node "+strings.ReplaceAll(r.Param("node"), "%", "%%")+": Cannot change name to invalid name '%s'"); err != nil {
			return err
		}
	}
	return nil
}

// patchNode is the node after a patch.
func (a *API) patchNode(r *rest.Request, tx store.Tx, n *baremetal.Node, changes []change, reset bool) (*baremetal.Node, error) {
	after := &baremetal.Node{}
	document, err := a.changeable(n)
	if err == nil {
		err = patchedAs(document, n, changes, "node_after_patch", after)
	}
	if err != nil {
		return nil, err
	}
	after.ConductorGroup = strings.ToLower(after.ConductorGroup)
	rewired := after.Driver != n.Driver
	interfaces := interfacesOf(after)
	for i, was := range interfacesOf(n) {
		now := interfaces[i]
		if same(*was, *now) {
			if after.Driver != n.Driver && reset {
				*now = nil
			}
			continue
		}
		rewired = true
		if !n.ProvisionState.Rewirable() && !after.Maintenance {
			return nil, faults.New(faults.Conflict, "InvalidState", "Node %s can not have %s_interface updated unless it is in one of allowed "+
				"(enroll, inspecting, inspect wait, manageable, available) states or in maintenance mode. Current state is '%s'.", n.UUID, i, n.ProvisionState)
		}
	}
	if rewired {
		if err := a.equip(after); err != nil {
			return nil, err
		}
	}
	if err := consequences(n, after); err != nil {
		return nil, err
	}
	if !same(n.ParentNode, after.ParentNode) {
		if err := a.belongs(r, tx, after); err != nil {
			return nil, err
		}
	}
	return after, nodes.Conceal(a.Secrets, after, n)
}

// consequences are the rules about fields that depend on others.
func consequences(before, after *baremetal.Node) error {
	if before.Maintenance && !after.Maintenance {
		after.MaintenanceReason, after.Fault = nil, nil
	}
	if !after.Protected && before.Protected {
		after.ProtectedReason = nil
	}
	if !after.Retired && before.Retired {
		after.RetiredReason = nil
	}
	switch {
	case after.Protected && !before.Protected && before.ProvisionState != provision.Active && before.ProvisionState != provision.Rescue:
		return faults.New(faults.Conflict, "InvalidState", "Node %s can only be made protected in provision states 'active' or 'rescue', "+
			"the current state is '%s'", before.UUID, before.ProvisionState)
	case after.ProtectedReason != nil && !after.Protected && !same(before.ProtectedReason, after.ProtectedReason):
		return invalid("The protected_reason field can only be set when protected is True")
	case after.Retired && !before.Retired && before.ProvisionState == provision.Available:
		return faults.New(faults.Conflict, "InvalidState", "Node %s can not have 'retired' set in provision state 'available', "+
			"the current state is '%s'", before.UUID, before.ProvisionState)
	case after.RetiredReason != nil && !after.Retired && !same(before.RetiredReason, after.RetiredReason):
		return invalid("The retired_reason field can only be set when retired is True")
	case after.InstanceUUID != nil && before.InstanceUUID != nil && !same(before.InstanceUUID, after.InstanceUUID):
		return faults.New(faults.Conflict, "NodeAssociated", "Node %s is associated with instance %s.", before.UUID, *before.InstanceUUID)
	case before.AllocationUUID != nil && after.InstanceUUID == nil && !before.Maintenance && !before.ProvisionState.Rewirable():
		return faults.New(faults.Conflict, "InvalidState", "Node %s with an allocation can not have instance_uuid removed unless it is in one of allowed "+
			"(enroll, inspecting, inspect wait, manageable, available) states or in maintenance mode. Current state is '%s'.", before.UUID, before.ProvisionState)
	case before.ResourceClass != nil && !same(before.ResourceClass, after.ResourceClass) && !before.ProvisionState.Rewirable():
		return faults.New(faults.Conflict, "InvalidState", "Node %s can not have resource_class updated unless it is in one of allowed "+
			"(enroll, inspecting, inspect wait, manageable, available) states. Current state is '%s'.", before.UUID, before.ProvisionState)
	}
	return nil
}

func same(a, b *string) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// change is the frame of what changes a locked node that nobody works on.
func (a *API) change(r *rest.Request, rule string, change func(*baremetal.Node)) error {
	return a.DB.InTx(r.Context(), func(tx store.Tx) error {
		n, err := a.lockNode(r, tx, rule)
		if err == nil {
			err = unlocked(n)
		}
		if err != nil {
			return err
		}
		change(n)
		return baremetal.Nodes.Update(r.Context(), tx, n)
	})
}

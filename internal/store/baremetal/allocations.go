package baremetal

// Allocations: a node that somebody is promised, chosen here.

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/store"
)

// States of an allocation.
const (
	Allocating      = "allocating"
	Allocated       = "active"
	AllocationError = "error"
)

// Allocation is a row of baremetal.allocations; fields as in Node.
type Allocation struct {
	UUID           string          `json:"uuid" write:"once"`
	Name           *string         `json:"name"`
	Owner          *string         `json:"owner" write:"once"`
	ResourceClass  *string         `json:"resource_class" write:"once"`
	Traits         []string        `json:"traits" write:"once"`
	CandidateNodes []string        `json:"candidate_nodes" write:"once"`
	Extra          json.RawMessage `json:"extra"`
	State          string          `json:"state"`
	LastError      *string         `json:"last_error"`
	CreatedAt      time.Time       `json:"created_at"`
	UpdatedAt      *time.Time      `json:"updated_at"`
	// NodeUUID is the node that it has.
	NodeUUID *string `json:"node_uuid" sql:"(SELECT n.uuid FROM baremetal.nodes n WHERE n.allocation_uuid = t.uuid)"`
}

// Allocations are the allocations.
var Allocations = newTable("baremetal.allocations", "AllocationNotFound", "Allocation %s could not be found.", map[string]func(*Allocation) error{
	"allocations_uuid_key": func(a *Allocation) error {
		return faults.New(faults.Conflict, "AllocationAlreadyExists", "An allocation with UUID %s already exists.", a.UUID)
	},
	"allocations_name_key": func(a *Allocation) error {
		return faults.New(faults.Conflict, "AllocationDuplicateName", "An allocation with name %s already exists.", text(a.Name))
	},
})

// suitable is the condition of nodes that an allocation may have: by its class,
// candidates, owner and traits.
const suitable = `t.resource_class = $1 AND t.provision_state = '` + string(provision.Available) + `' AND t.instance_uuid IS NULL AND NOT t.maintenance
	AND t.power_state IS NOT NULL AND (cardinality($2::text[]) = 0 OR t.uuid = ANY ($2::text[]::uuid[])) AND ($3::text IS NULL OR t.owner = $3 OR t.lessee = $3)`

const traited = ` AND NOT EXISTS (SELECT unnest($4::text[]) EXCEPT SELECT trait FROM baremetal.node_traits WHERE node_uuid = t.uuid)`

// tries bounds how often a choice is made again because others took its node.
const tries = 10

// ChooseNode gives a node that an allocation may have, locked until the
// transaction ends: the one of its name if that may be had, else any. Errors:
// Conflict, there is none, with the original's reason.
func ChooseNode(ctx context.Context, tx store.Tx, a *Allocation) (*Node, error) {
	args := []any{a.ResourceClass, a.CandidateNodes, a.Owner, a.Traits, text(a.Name)}
	order := suitable + traited + ` ORDER BY t.name IS NOT DISTINCT FROM $5 DESC, random() LIMIT 1`
	// Those that nobody is choosing right now come first; of the others, one is
	// waited for.
	for _, also := range []string{` FOR UPDATE OF t SKIP LOCKED`, ` FOR UPDATE OF t`} {
		for range tries {
			n, err := Nodes.find(ctx, tx, false, order+also, args...)
			if err == nil || !faults.Is(err, faults.NotFound) {
				return n, err
			}
			var some, fit bool
			err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM baremetal.nodes t WHERE `+suitable+`), EXISTS (SELECT FROM baremetal.nodes t WHERE `+suitable+traited+`)`,
				args[:4]...).Scan(&some, &fit)
			switch {
			case err != nil:
				return nil, store.Translate(err)
			case !some && len(a.CandidateNodes) > 0:
				return nil, notAllocated(a, "none of the requested nodes are available and match the resource class %s", text(a.ResourceClass))
			case !some:
				return nil, notAllocated(a, "no available nodes match the resource class %s", text(a.ResourceClass))
			case !fit:
				return nil, notAllocated(a, "no suitable nodes have the requested traits %s", strings.Join(a.Traits, ", "))
			}
		}
	}
	return nil, notAllocated(a, "all nodes were filtered out during reservation")
}

// Allocate gives a locked node to an allocation.
func Allocate(ctx context.Context, tx store.Tx, a *Allocation, n *Node) error {
	traits, err := json.Marshal(a.Traits)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE baremetal.nodes SET allocation_uuid = $2, instance_uuid = $2, instance_info = jsonb_set(instance_info, '{traits}', $3), updated_at = now()
		WHERE uuid = $1`, n.UUID, a.UUID, traits)
	if n.InstanceUUID == nil {
		n.InstanceUUID = &a.UUID
	}
	if err := Nodes.translate(err, n); err != nil {
		return err
	}
	a.State, a.LastError = Allocated, nil
	return Allocations.Update(ctx, tx, a)
}

// notAllocated is the reason why an allocation has no node.
func notAllocated(a *Allocation, format string, args ...any) error {
	return faults.New(faults.Conflict, "AllocationFailed", "Failed to process allocation %s: %s.", a.UUID, fmt.Sprintf(format, args...))
}

// CanAllocate says whether a node that has an instance already may be given to an
// allocation afterwards.
func CanAllocate(a *Allocation, n *Node) error {
	var reasons []string
	if n.ProvisionState != provision.Active {
		reasons = append(reasons, fmt.Sprintf("Node must be in the \"active\" state, but the current state is \"%s\"", n.ProvisionState))
	}
	if a.ResourceClass != nil && text(n.ResourceClass) != *a.ResourceClass {
		reasons = append(reasons, fmt.Sprintf("Resource class %s does not match the requested resource class %s", text(n.ResourceClass), *a.ResourceClass))
	}
	if slices.ContainsFunc(a.Traits, func(t string) bool { return !slices.Contains(n.Traits, t) }) {
		reasons = append(reasons, fmt.Sprintf("List of traits %v does not match the requested traits %v", n.Traits, a.Traits))
	}
	if len(a.CandidateNodes) > 0 && !slices.Contains(a.CandidateNodes, n.UUID) {
		reasons = append(reasons, fmt.Sprintf("Candidate nodes must be empty or contain the target node, but got %v", a.CandidateNodes))
	}
	switch {
	case len(reasons) > 0:
		return notAllocated(a, "Cannot backfill an allocation for node %s: %s", n.UUID, strings.Join(reasons, "; "))
	case n.InstanceUUID != nil && *n.InstanceUUID != a.UUID:
		return faults.New(faults.Conflict, "NodeAssociated", "Node %s is associated with instance %s.", n.UUID, *n.InstanceUUID)
	}
	return nil
}

// Release takes an allocation's node from it.
func Release(ctx context.Context, tx store.Tx, a *Allocation) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET allocation_uuid = NULL, instance_uuid = NULL, updated_at = now() WHERE allocation_uuid = $1`, a.UUID)
	return store.Translate(err)
}

// EndAllocation takes the allocation of a node away, if it has one.
func EndAllocation(ctx context.Context, tx store.Tx, n *Node) error {
	if n.AllocationUUID == nil {
		return nil
	}
	a := &Allocation{UUID: *n.AllocationUUID}
	if err := Release(ctx, tx, a); err != nil {
		return err
	}
	return Allocations.Delete(ctx, tx, a)
}

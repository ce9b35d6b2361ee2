package agent

// What a node's ramdisk has found becomes the node's.

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/inspection"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// settleTries is how often what was found is looked at while others write to the node's
// row.
const settleTries = 5

// Settle is idempotent by what is kept beside the node's row, which is gone once it has
// become the node's. Errors: as in steps.AgentActivities.
func (a *Activities) Settle(ctx context.Context, in steps.NodeIn) (struct{}, error) {
	for range settleTries {
		if done, err := a.settle(ctx, in.Fence); done || err != nil {
			return struct{}{}, err
		}
	}
	return struct{}{}, faults.New(faults.Unavailable, "NodeChanged", "the node was changed again and again while it was looked at")
}

// settle makes it the node's, unless the node's row was written to meanwhile.
func (a *Activities) settle(ctx context.Context, fence steps.Fence) (done bool, err error) {
	n, err := baremetal.HeldNode(ctx, a.db.Pool, a.engine, fence)
	if err != nil {
		return false, err
	}
	found, err := baremetal.FindingsOf(ctx, a.db.Pool, n.UUID)
	if err != nil || found == nil {
		return true, err
	}
	to, err := a.digest(ctx, n, found)
	if err != nil {
		return false, err
	}
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		if _, err := a.engine.CheckFence(ctx, tx, fence); err != nil {
			return err
		}
		now, err := baremetal.Nodes.Lock(ctx, tx, n.UUID, false)
		if err != nil {
			return err
		}
		if done = reflect.DeepEqual(now, n); !done {
			return nil
		}
		return baremetal.Settle(ctx, tx, to)
	})
	return done, err
}

// digest says what the node is by what was found, by hooks and then by rules.
func (a *Activities) digest(ctx context.Context, n *baremetal.Node, found *baremetal.Findings) (*baremetal.Settled, error) {
	var before, last map[string]any
	err := json.Unmarshal(n.Properties, &before)
	if err == nil {
		last, err = a.lastInventory(ctx, n)
	}
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", n.UUID, err)
	}
	made, err := inspection.Digest(n.UUID, before, found.Found, last, a.Inspection)
	if err != nil {
		return nil, err
	}
	after := *n
	if after.Properties, err = json.Marshal(made.Properties); err != nil {
		return nil, fmt.Errorf("properties of node %s: %w", n.UUID, err)
	}
	to, err := a.carryOut(ctx, n, &after, found)
	if err != nil {
		return nil, err
	}
	to.Made = made
	return to, nil
}

// lastInventory is what an inspection has found before; nil for nothing.
func (a *Activities) lastInventory(ctx context.Context, n *baremetal.Node) (last map[string]any, err error) {
	kept, err := baremetal.FindInventory(ctx, a.db.Pool, n)
	if faults.Is(err, faults.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return last, json.Unmarshal(kept.Inventory, &last)
}

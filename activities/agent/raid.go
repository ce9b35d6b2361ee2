package agent

// What a ramdisk has made of its node's disks: the node's row has it once the step is done.

import (
	"context"
	"encoding/json"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/raid"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// makesRAID are the steps after which a node has other logical disks, and whether it has
// those that the ramdisk tells, or none.
var makesRAID = map[string]bool{"create_configuration": true, "apply_configuration": true, "delete_configuration": false}

// keepRAID writes down what came of a step that is done, if it is one of RAID. Errors:
// Conflict, the ramdisk doesn't tell it; Invalid, nothing can be made of what it tells.
func (s *session) keepRAID(ctx context.Context, in steps.AgentCommandIn, result json.RawMessage) error {
	if in.Step == nil || in.Step.Interface != "raid" {
		return nil
	}
	makes, known := makesRAID[in.Step.Step]
	if !known {
		return nil
	}
	made := map[string]any{}
	if makes {
		var said map[string]json.RawMessage
		if json.Unmarshal(result, &said) != nil || json.Unmarshal(said[string(in.Phase)+"_result"], &made) != nil || len(made) == 0 {
			return faults.New(faults.Conflict, "AgentCommandFailed", "Agent ramdisk didn't return a proper command result while building RAID on %s.", s.node.UUID)
		}
		raid.Stamp(made)
	}
	return s.write(ctx, func(tx store.Tx) error {
		n, err := baremetal.Nodes.Find(ctx, tx, s.node.UUID, false)
		if err != nil {
			return err
		}
		properties, err := raid.Properties(n.Properties, made)
		if err != nil {
			return err
		}
		return baremetal.KeepMadeRAID(ctx, tx, n.UUID, made, properties)
	})
}

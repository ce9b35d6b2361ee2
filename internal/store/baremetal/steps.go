package baremetal

// The steps of a node's operation: in its driver_internal_info, with which of them
// is being done, as the original has them.

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
)

// StepsOf are the steps of a node in a phase, without their arguments.
func StepsOf(n *Node, phase provision.Phase) ([]steps.CleanStep, error) {
	var list []struct {
		steps.CleanStep
		Args struct {
			Seconds json.RawMessage `json:"seconds"`
		} `json:"args"`
	}
	err := readInternal(n, phase.List(), &list)
	all := make([]steps.CleanStep, len(list))
	for at, s := range list {
		all[at] = s.CleanStep
		if seconds, err := strconv.Atoi(strings.Trim(string(s.Args.Seconds), `" `)); err == nil {
			all[at].Seconds = max(seconds, 0)
		}
	}
	return all, err
}

// stepIndex is which of a phase's steps is being done; nil before the first.
func stepIndex(n *Node, phase provision.Phase) (index *int, err error) {
	err = readInternal(n, phase.Index(), &index)
	return index, err
}

// readInternal reads a word of driver_internal_info; one that isn't there leaves to as it
// is.
func readInternal(n *Node, name string, to any) error {
	var info map[string]json.RawMessage
	err := json.Unmarshal(n.DriverInternalInfo, &info)
	if value, there := info[name]; err == nil && there {
		err = json.Unmarshal(value, to)
	}
	if err != nil {
		return fmt.Errorf("driver_internal_info of node %s: %w", n.UUID, err)
	}
	return nil
}

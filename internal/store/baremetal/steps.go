package baremetal

// The steps of a node's operation: in its driver_internal_info, with which of them
// is being done, as the original has them.

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"holdfast.dev/internal/steps"
)

// info is what there is of steps in driver_internal_info.
type info struct {
	Steps []struct {
		steps.CleanStep
		Args struct {
			Seconds json.RawMessage `json:"seconds"`
		} `json:"args"`
	} `json:"clean_steps"`
	Index *int `json:"clean_step_index"`
}

func infoOf(n *Node) (info, error) {
	var i info
	if err := json.Unmarshal(n.DriverInternalInfo, &i); err != nil {
		return i, fmt.Errorf("driver_internal_info of node %s: %w", n.UUID, err)
	}
	return i, nil
}

// StepsOf are the steps of a node's operation, without their arguments.
func StepsOf(n *Node) ([]steps.CleanStep, error) {
	i, err := infoOf(n)
	all := make([]steps.CleanStep, len(i.Steps))
	for at, s := range i.Steps {
		all[at] = s.CleanStep
		if seconds, err := strconv.Atoi(strings.Trim(string(s.Args.Seconds), `" `)); err == nil {
			all[at].Seconds = max(seconds, 0)
		}
	}
	return all, err
}

package steps

// What workflows read and make true of a node's row.

// NodeBrief is what a workflow needs to know of a node.
type NodeBrief struct {
	ID string `json:"id"`
	// Group is that of the conductors that work on it, Conductor the one that the
	// request has named as doing so.
	Group     string `json:"group"`
	Conductor string `json:"conductor"`
	// ProvisionState and PowerState are as clients see them; empty is null.
	ProvisionState string `json:"provision_state"`
	PowerState     string `json:"power_state,omitempty"`
}

// NodeOutcome is what a finished operation makes true of a node's row. A nil
// field stays as it is; its target power and its reservation are always cleared,
// and a fault is its last error.
type NodeOutcome struct {
	PowerState *string `json:"power_state,omitempty"`
}

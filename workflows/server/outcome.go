package server

// What finished operations make true of a server's row.

import "holdfast.dev/internal/steps"

// Values of vm_state that workflows set (contracts: status-map.json).
const (
	vmActive = "active"
	vmError  = "error"
)

// running: the guest runs on host.
func running(host string, power int) *steps.ServerOutcome {
	state := vmActive
	return &steps.ServerOutcome{VMState: &state, PowerState: &power, Host: &host, Launched: true}
}

// failed: nothing is left outside and the row is in ERROR, off any host.
func failed() *steps.ServerOutcome {
	state, none, power := vmError, "", 0
	return &steps.ServerOutcome{VMState: &state, Host: &none, PowerState: &power}
}

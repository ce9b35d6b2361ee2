package server

// What finished operations make true of a server's row. The task state is
// cleared by every one of them.

import "holdfast.dev/internal/steps"

// Values of vm_state that workflows set (contracts: status-map.json).
const (
	vmActive    = "active"
	vmStopped   = "stopped"
	vmPaused    = "paused"
	vmSuspended = "suspended"
	vmRescued   = "rescued"
	vmResized   = "resized"
	vmError     = "error"
	vmDeleted   = "deleted"
	// vmShelved servers are off and can leave their host; vmOffloaded have left it.
	vmShelved   = "shelved"
	vmOffloaded = "shelved_offloaded"
	// vmSoftDeleted servers can be restored.
	vmSoftDeleted = "soft-delete"
)

// Numbers of power states (contracts: status-map.json).
const (
	powerNone    = 0
	powerRunning = 1
	powerOff     = 4
)

// running: the guest runs on host.
func running(host string, power int) *steps.ServerOutcome {
	return &steps.ServerOutcome{VMState: new(vmActive), PowerState: &power, Host: &host, Launched: true}
}

// failed: nothing is left outside and the row is in ERROR, off any host.
func failed() *steps.ServerOutcome {
	return &steps.ServerOutcome{VMState: new(vmError), PowerState: new(powerNone), Host: new("")}
}

// deleted: nothing is left outside but debts; the host stays in the row.
func deleted() *steps.ServerOutcome {
	return &steps.ServerOutcome{VMState: new(vmDeleted), PowerState: new(powerNone), Deleted: true}
}

// broken: the row is in ERROR where it is; an operator has to look.
func broken() *steps.ServerOutcome {
	return &steps.ServerOutcome{VMState: new(vmError)}
}

// unchanged: only the task is over.
func unchanged() *steps.ServerOutcome { return &steps.ServerOutcome{} }

// nothing: the operation shared the server, and has no say in its row.
func nothing() *steps.ServerOutcome { return nil }

// unknown: only the task is over, and nobody can say how the guest is.
func unknown() *steps.ServerOutcome { return &steps.ServerOutcome{PowerState: new(powerNone)} }

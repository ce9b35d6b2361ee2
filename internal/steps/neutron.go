package steps

// Family neutron: the ports of a server, all of them in one step. What a server
// asked for and what it got are rows; only what the story turns on goes through
// the history.

import (
	"context"
	"time"

	"go.temporal.io/sdk/workflow"
)

// InterfaceInput is what an operation on one interface of a server was asked
// for: its place among them, and the port that is to go.
type InterfaceInput struct {
	Position int    `json:"position"`
	PortID   string `json:"port_id,omitempty"`
}

// AllocateIn gives the fenced operation's server its ports on a host.
type AllocateIn struct {
	Fence  Fence  `json:"fence"`
	HostID string `json:"host_id"`
	// Position is that of the only interface that is meant; nil means all.
	Position *int `json:"position,omitempty"`
}

// AllocateOut is what is to be waited for once the guest runs.
type AllocateOut struct {
	Ports int `json:"ports"`
	// PlugPatience is how long Neutron may take to plug them, and PlugFatal
	// says that the build fails otherwise (Nova: vif_plugging_timeout and
	// vif_plugging_is_fatal).
	PlugPatience time.Duration `json:"plug_patience,omitempty"`
	PlugFatal    bool          `json:"plug_fatal,omitempty"`
	// PortID is the port of the only interface that was meant.
	PortID string `json:"port_id,omitempty"`
}

// DeallocateIn takes the fenced operation's server off all its ports.
type DeallocateIn struct {
	Fence Fence `json:"fence"`
	// Position is that of the only interface that is meant, which is the
	// server's no more then; nil means all.
	Position *int `json:"position,omitempty"`
}

// UnbindIn takes the ports of the fenced operation's server off their host.
type UnbindIn struct {
	Fence Fence `json:"fence"`
}

// FollowIn has the ports or the volumes of the fenced operation's server go to a
// host with it.
type FollowIn struct {
	Fence  Fence  `json:"fence"`
	HostID string `json:"host_id"`
}

// NeutronActivities is implemented by activities/neutron.
type NeutronActivities interface {
	// Allocate makes the ports that are ours and binds users' own. It finds by
	// mark what an earlier call has made. Errors: Invalid, NotFound, Conflict,
	// OverLimit (with the original's codes and texts), NoCapacity (the host
	// can't be bound to), Unavailable, Superseded.
	Allocate(context.Context, AllocateIn) (AllocateOut, error)
	// Deallocate deletes ours, by row and by mark, and unbinds users' own; what
	// is gone already is success. Errors: Unavailable, Superseded.
	Deallocate(context.Context, DeallocateIn) (struct{}, error)
	// Unbind takes the server's ports off its host and leaves them to the server;
	// what is gone already is success. Errors: Unavailable, Superseded.
	Unbind(context.Context, UnbindIn) (struct{}, error)
	// Follow binds the server's ports to the host; those that are so already are
	// success. Errors: Unavailable, Superseded.
	Follow(context.Context, FollowIn) (struct{}, error)
	// Refresh writes what Neutron says of the addresses of some servers' ports,
	// for no operation: events about them may have been lost. It is idempotent
	// as reading is. Errors: Unavailable.
	Refresh(context.Context, struct{}) (MaintenanceOut, error)
}

// Neutron is the family's caller.
var Neutron neutronSteps

type neutronSteps struct{}

// serviceStep is a step of a control worker that calls an OpenStack service. One
// whose worker was killed is done again soon enough for the operation to end
// within a minute.
func serviceStep(name string, retry Retry) Step {
	return define(Step{Name: name, Place: Control, StartToClose: 5 * time.Minute, Heartbeat: 15 * time.Second, Retry: retry})
}

var (
	neutronAllocate   = serviceStep("neutron.Allocate", service)
	neutronDeallocate = serviceStep("neutron.Deallocate", undo)
	neutronUnbind     = serviceStep("neutron.Unbind", undo)
	neutronFollow     = serviceStep("neutron.Follow", undo)
	neutronRefresh    = serviceStep("neutron.Refresh", service)
)

// Allocate gives a server its ports.
func (neutronSteps) Allocate(ctx workflow.Context, in AllocateIn) (AllocateOut, error) {
	return call[AllocateOut](ctx, neutronAllocate, ControlQueue, in)
}

// Deallocate takes a server off its ports.
func (neutronSteps) Deallocate(ctx workflow.Context, in DeallocateIn) error {
	_, err := call[struct{}](ctx, neutronDeallocate, ControlQueue, in)
	return err
}

// Unbind takes a server's ports off their host.
func (neutronSteps) Unbind(ctx workflow.Context, in UnbindIn) error {
	_, err := call[struct{}](ctx, neutronUnbind, ControlQueue, in)
	return err
}

// Follow has a server's ports follow it to a host.
func (neutronSteps) Follow(ctx workflow.Context, in FollowIn) error {
	_, err := call[struct{}](ctx, neutronFollow, ControlQueue, in)
	return err
}

// Refresh reads the addresses of servers that were not asked for in a while.
func (neutronSteps) Refresh(ctx workflow.Context) (MaintenanceOut, error) {
	return call[MaintenanceOut](ctx, neutronRefresh, ControlQueue, struct{}{})
}

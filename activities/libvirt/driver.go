package libvirt

// What a hypervisor has to offer.

import (
	"context"
	"encoding/json"

	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
)

// Driver makes, changes and shows the guests of one host.
//
// It is called for one server at a time, and for many servers at once. Every
// method observes first: what is so already is success. It looks at ctx between
// its sub-steps and in every wait, and returns ctx's error soon after it ends,
// leaving whatever it has made where the next call finds it. Its errors are
// faults: Invalid for what can never work, NotFound for a guest that isn't
// there, Unavailable for what another attempt may do.
type Driver interface {
	DiskDriver
	// Build makes the guest and starts it. Half-made ones are finished; one that
	// runs is left as it is; one that stands still is started. It calls confirm
	// last thing before the guest first runs.
	Build(ctx context.Context, spec steps.ServerSpec, confirm Confirm) (Guest, error)
	// Destroy removes the guest and everything else that Build made. It calls
	// confirm before it takes anything away.
	Destroy(ctx context.Context, serverID string, confirm Confirm) error
	// Power drives the guest to the state that the action names, and calls
	// confirm before it changes it. A reboot whose mark is the one that the guest
	// was last rebooted for has been done already. Errors: NotFound.
	Power(ctx context.Context, serverID string, action steps.PowerAction, mark string, confirm Confirm) (Guest, error)
	// Observe shows one guest. Errors: NotFound.
	Observe(ctx context.Context, serverID string) (Guest, error)
	// List shows all guests, half-made and half-removed ones included.
	List(ctx context.Context) ([]Guest, error)
	// Inventory says what the host has.
	Inventory(ctx context.Context) (Inventory, error)
	// Console gives the last length bytes of the guest's console log, all of it
	// that is kept if length is negative. Errors: NotFound.
	Console(ctx context.Context, serverID string, length int) ([]byte, error)
	// Close drops connections; guests stay.
	Close() error
}

// Confirm is asked right before a line that can't be taken back: an error means
// that somebody else owns the server now and the line must not be crossed.
type Confirm func() error

// Guest is a server's domain and disks as its host has them.
type Guest struct {
	ServerID string `json:"server_id"`
	// PowerState is numbered as in steps.PowerOut; 0 for one that is half-made
	// or half-removed.
	PowerState int `json:"power_state"`
}

// shown is the guest's power state as its server shows it.
func (g Guest) shown() int { return int(servers.PowerState(g.PowerState).Shown()) }

// Inventory is what a host has for guests.
type Inventory struct {
	VCPUs    int
	MemoryMB int64
	DiskGB   int64
	// Details are CPU model, features, versions and the like: opaque, an object.
	Details json.RawMessage
}

// Power states (contracts: status-map.json, power_states).
const (
	NoState   = 0
	Running   = 1
	Paused    = 3
	Shutdown  = 4
	Crashed   = 6
	Suspended = 7
)

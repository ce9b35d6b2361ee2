package libvirt

// What a hypervisor has to offer.

import (
	"context"
	"encoding/json"
	"slices"

	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/provider"
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
	ResizeDriver
	// Build makes the guest and starts it. Half-made ones are finished; one that
	// runs is left as it is; one that stands still is started. It calls confirm
	// last thing before the guest first runs.
	Build(ctx context.Context, spec steps.ServerSpec, confirm Confirm) (Guest, error)
	// Inherit gives the guest that Build is to make the disks of the one that
	// another host has of the server, and says whether this host sees that at all.
	// The other's stay as they are, whichever of the two is destroyed.
	Inherit(ctx context.Context, spec steps.ServerSpec, hostID string) (bool, error)
	// Destroy removes the guest and everything else that Build made. It calls
	// confirm before it takes anything away.
	Destroy(ctx context.Context, serverID string, confirm Confirm) error
	// Power drives the guest to the state that the action names, and calls
	// confirm before it changes it. A reboot whose mark is the one that the guest
	// was last rebooted for has been done already. Errors: NotFound.
	Power(ctx context.Context, serverID string, action steps.PowerAction, mark string, confirm Confirm) (Guest, error)
	// Plug gives the guest a volume or a port, running or not. It calls confirm
	// before it changes the guest. Errors: NotFound.
	Plug(ctx context.Context, serverID string, device Device, confirm Confirm) error
	// Unplug has the guest let go of the volume or port, and waits for it. It
	// calls confirm before it changes the guest. A guest that is not there has
	// let go. Errors: Conflict (code DeviceDetachFailed), the guest keeps it.
	Unplug(ctx context.Context, serverID, deviceID string, confirm Confirm) error
	// Plugged says whether the guest has the volume or port.
	Plugged(ctx context.Context, serverID, deviceID string) (bool, error)
	// Rescue has the guest run from the image that the control plane names for
	// it (Servers' Image of the host link), its own root disk second or, with
	// from.Stable, all of its disks before it. It calls confirm before it turns
	// the guest off. Errors: NotFound.
	Rescue(ctx context.Context, serverID string, from steps.Rescue, confirm Confirm) (Guest, error)
	// PrepareImage has the image that the control plane names for the server on
	// the host, and checks that it fits the spec. The guest is left alone.
	PrepareImage(ctx context.Context, spec steps.ServerSpec) error
	// CacheImage has an image on the host before a server starts from it, where the
	// driver keeps images. Errors: Invalid, NotFound, Unavailable.
	CacheImage(ctx context.Context, imageID string) error
	// Rebuild makes the guest of the spec: its disks on the host are new, from
	// that image, and it runs, unless in.Off. It calls confirm before it takes
	// anything away. A guest that was rebuilt for the mark already is the answer.
	// From its first line on the guest is the new one: a rebuild that was cut
	// short is finished by whoever starts the guest next.
	Rebuild(ctx context.Context, in steps.RebuildIn, mark string, confirm Confirm) (Guest, error)
	Migrator
	SwapDriver
	// Observe shows one guest. Errors: NotFound.
	Observe(ctx context.Context, serverID string) (Guest, error)
	// Diagnostics says how a guest does; of one that doesn't run, its power state
	// only. Errors: NotFound.
	Diagnostics(ctx context.Context, serverID string) (servers.Diagnostics, error)
	// List shows all guests, half-made and half-removed ones included.
	List(ctx context.Context) ([]Guest, error)
	// Inventory says what the host has.
	Inventory(ctx context.Context) (Inventory, error)
	// Console gives the last length bytes of the guest's console log, all of it
	// that is kept if length is negative. Errors: NotFound.
	Console(ctx context.Context, serverID string, length int) ([]byte, error)
	SnapshotDriver
	// Close drops connections; guests stay.
	Close() error
}

// Device is a volume or a port: one of them is set.
type Device struct {
	Volume *steps.Volume
	Port   *steps.Port
}

// ID is the volume's or the port's.
func (d Device) ID() string {
	if d.Volume != nil {
		return d.Volume.ID
	}
	return d.Port.ID
}

// Keep gives a spec with the device in it, once, and Drop one without it: what
// the guest is made from when it is made anew.
func (d Device) Keep(spec steps.ServerSpec) steps.ServerSpec {
	spec = Drop(spec, d.ID())
	if d.Volume != nil {
		spec.Volumes = append(spec.Volumes, *d.Volume)
	} else {
		spec.Ports = append(spec.Ports, *d.Port)
	}
	return spec
}

// Replace gives a spec that has the volume in the place of the one of its id.
func Replace(spec steps.ServerSpec, volume steps.Volume) steps.ServerSpec {
	spec.Volumes = slices.Clone(spec.Volumes)
	if v := spec.Volume(volume.ID); v != nil {
		*v = volume
	}
	return spec
}

// Drop gives a spec without a device.
func Drop(spec steps.ServerSpec, id string) steps.ServerSpec {
	spec.Volumes = slices.DeleteFunc(slices.Clone(spec.Volumes), func(v steps.Volume) bool { return v.ID == id })
	spec.Ports = slices.DeleteFunc(slices.Clone(spec.Ports), func(p steps.Port) bool { return p.ID == id })
	return spec
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
	// NUMA are the host's cells with all of their CPUs as shared; nil if it can't say.
	NUMA *numa.Host
	// Devices are on its PCI buses.
	Devices []pci.Device
	// Resources are other classes of which the host has some, by itself.
	Resources map[string]provider.Inventory
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

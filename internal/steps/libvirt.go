package steps

// Family libvirt: what is done to a guest on its host. Every input carries a
// Token; the host keeps the highest it has seen per server and refuses older.

import (
	"context"
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/pci"
)

// Token fences work on a host: a host that has seen a higher one for the same
// server refuses with a Superseded error, and checks again before the line
// that can't be taken back. Older says which is which.
type Token struct {
	ServerID    string `json:"server_id"`
	OperationID string `json:"operation_id"`
	Generation  int64  `json:"generation"`
	Attempt     int    `json:"attempt"`
	Step        string `json:"step"`
}

// Older says that t must be refused by a host that has seen seen: of an
// earlier owner, of an earlier attempt, or of an attempt that is being undone.
func (t Token) Older(seen Token) bool {
	if t.Generation != seen.Generation {
		return t.Generation < seen.Generation
	}
	if t.Attempt != seen.Attempt {
		return t.Attempt < seen.Attempt
	}
	return t.Step != operations.StepUndo && seen.Step == operations.StepUndo
}

// ServerSpec is all that a host has to know of a server to build its guest:
// under 64 kB and without a secret. User data, keys and passwords are fetched
// over the host link.
type ServerSpec struct {
	ServerID  string `json:"server_id"`
	Name      string `json:"name"`
	Hostname  string `json:"hostname"`
	ProjectID string `json:"project_id"`
	UserID    string `json:"user_id"`
	VCPUs     int    `json:"vcpus"`
	// MemoryMB and the disks' GB are MiB and GiB, as Nova has them. What is made
	// on the host is what LocalDisks says.
	MemoryMB    int `json:"memory_mb"`
	RootGB      int `json:"root_gb"`
	EphemeralGB int `json:"ephemeral_gb,omitempty"`
	SwapMB      int `json:"swap_mb,omitempty"`
	// ImageID is empty for a server that boots from a volume.
	ImageID         string            `json:"image_id,omitempty"`
	ImageProperties map[string]string `json:"image_properties,omitempty"`
	ExtraSpecs      map[string]string `json:"extra_specs,omitempty"`
	ConfigDrive     bool              `json:"config_drive,omitempty"`
	// Flavor is its name and Generation the owner's at the build: both are only
	// written down with the guest.
	Flavor     string   `json:"flavor,omitempty"`
	Generation int64    `json:"generation,omitempty"`
	Ports      []Port   `json:"ports,omitempty"`
	Volumes    []Volume `json:"volumes,omitempty"`
	// Disks are those on the host, in the order of their names.
	Disks []Disk `json:"disks,omitempty"`
	// NUMA is where the guest lies on the host's cells; nil anywhere.
	NUMA *numa.Placement `json:"numa,omitempty"`
	// Devices are those of the host that the guest has.
	Devices pci.Devices `json:"devices,omitempty"`
}

// BuildIn makes a guest: disks and a running domain.
type BuildIn struct {
	Token Token      `json:"token"`
	Spec  ServerSpec `json:"spec"`
	// HeirOf is set if the guest is to have the disks of the one on that host, where
	// they are on storage that both see; elsewhere it has new ones. Shared says
	// which of the two is expected; nil is either.
	HeirOf string `json:"heir_of,omitempty"`
	Shared *bool  `json:"shared,omitempty"`
}

// BuildOut is the guest as it runs.
type BuildOut struct {
	PowerState int `json:"power_state"`
}

// DestroyIn removes a guest, its disks and everything else that Build made.
type DestroyIn struct {
	Token Token `json:"token"`
}

// PowerAction is what to do to a guest's power.
type PowerAction string

// Power actions; each drives the guest to one known state and succeeds if it
// is there already (reboots excepted, which remember the token they served).
const (
	PowerStart      PowerAction = "start"
	PowerStop       PowerAction = "stop"
	PowerReboot     PowerAction = "reboot"
	PowerHardReboot PowerAction = "hard-reboot"
	PowerPause      PowerAction = "pause"
	PowerUnpause    PowerAction = "unpause"
	PowerSuspend    PowerAction = "suspend"
	PowerResume     PowerAction = "resume"
	// PowerForceStop is PowerStop without waiting for the guest to shut down.
	PowerForceStop PowerAction = "force-stop"
	// PowerInjectNMI gives the guest a non-maskable interrupt, once for a token.
	PowerInjectNMI PowerAction = "inject-nmi"
	// PowerFreeze has a guest that runs stand still as it is; one that doesn't is
	// left alone.
	PowerFreeze PowerAction = "freeze"
	// PowerObserve reads the power state and changes nothing.
	PowerObserve PowerAction = "observe"
)

// PowerIn changes a guest's power.
type PowerIn struct {
	Token  Token       `json:"token"`
	Action PowerAction `json:"action"`
	// Discarded says of a PowerStop that all that the guest writes to is thrown away
	// next, unless it goes on: it isn't asked to shut down, but frozen.
	Discarded bool `json:"discarded,omitempty"`
}

// PowerOut is the power state after the action, numbered as Nova does
// (contracts: status-map.json): 0 no state, 1 running, 3 paused, 4 shut down
// (with its memory saved, too), 6 crashed.
type PowerOut struct {
	PowerState int `json:"power_state"`
	// Missing says that the host has no such guest.
	Missing bool `json:"missing,omitempty"`
}

// LibvirtActivities is implemented by activities/libvirt. Every method is
// idempotent by observing before it acts.
type LibvirtActivities interface {
	DiskActivities
	ResizeActivities
	// Build: a guest of this server that runs already is success. Half-made
	// ones are finished or made again. Errors: Invalid (bad image), Superseded.
	Build(context.Context, BuildIn) (BuildOut, error)
	// Destroy: a guest that is gone already is success. Errors: Superseded.
	Destroy(context.Context, DestroyIn) (struct{}, error)
	// Power: errors NotFound (no such guest), Superseded.
	Power(context.Context, PowerIn) (PowerOut, error)
	// Rescue: a guest that runs from the image already is success. Errors:
	// Invalid (bad image), NotFound (no such guest), Superseded.
	Rescue(context.Context, RescueIn) (PowerOut, error)
	// PrepareImage: an image that is there is success. Errors: Invalid (bad
	// image), Superseded.
	PrepareImage(context.Context, PrepareImageIn) (struct{}, error)
	// Rebuild: a guest that has been made anew under the token's operation is
	// success. Errors: Invalid (bad image), Superseded.
	Rebuild(context.Context, RebuildIn) (PowerOut, error)
	DeviceActivities
	VolumeSwaps
	LibvirtSnapshots
	MigrationActivities
}

// Libvirt is the family's caller. Each call names the host's id.
var Libvirt libvirtSteps

type libvirtSteps struct{}

// HostPatience is how long a step waits for its host's worker before the host
// is asked about.
const HostPatience = 30 * time.Second

var (
	libvirtBuild = define(Step{Name: "libvirt.Build", Place: OnHost, StartToClose: 20 * time.Minute,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: service})
	libvirtDestroy = define(Step{Name: "libvirt.Destroy", Place: OnHost, StartToClose: 5 * time.Minute,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: undo})
	libvirtPower = define(Step{Name: "libvirt.Power", Place: OnHost, StartToClose: 5 * time.Minute,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: service})
)

// Build makes a guest on a host.
func (libvirtSteps) Build(ctx workflow.Context, host string, in BuildIn) (BuildOut, error) {
	return call[BuildOut](ctx, libvirtBuild, HostQueue(host), in)
}

// Destroy removes a guest from a host.
func (libvirtSteps) Destroy(ctx workflow.Context, host string, in DestroyIn) error {
	_, err := call[struct{}](ctx, libvirtDestroy, HostQueue(host), in)
	return err
}

// Power changes a guest's power.
func (libvirtSteps) Power(ctx workflow.Context, host string, in PowerIn) (PowerOut, error) {
	return call[PowerOut](ctx, libvirtPower, HostQueue(host), in)
}

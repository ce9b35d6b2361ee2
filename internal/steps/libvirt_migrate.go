package steps

// Family libvirt: a guest that moves to another host while it runs.

import (
	"context"
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/numa"
)

// DepartIn asks the host of a guest what another one has to know of it.
type DepartIn struct {
	Token Token `json:"token"`
}

// Departure is what the host that a guest is to leave says of it.
type Departure struct {
	// KVM, Machine and CPU are what the guest runs on; CPU is libvirt's XML.
	KVM     bool   `json:"kvm,omitempty"`
	Machine string `json:"machine,omitempty"`
	CPU     string `json:"cpu,omitempty"`
	// Folder is where its disks are, Sizes are theirs in bytes, by file.
	Folder string           `json:"folder"`
	Sizes  map[string]int64 `json:"sizes,omitempty"`
	// Marker is in the folder: who sees it there sees the same disks.
	Marker string `json:"marker"`
	// Boot is the kernel's that the host runs.
	Boot string `json:"boot,omitempty"`
}

// LandIn has a host make what a guest needs that is to come.
type LandIn struct {
	Token Token      `json:"token"`
	Spec  ServerSpec `json:"spec"`
	From  Departure  `json:"from"`
	// Block says whether the disks are to be moved; nil leaves it to what there is.
	Block *bool `json:"block,omitempty"`
}

// Landing is where a guest is to come to.
type Landing struct {
	// URI is what the other host's hypervisor connects to, Address where memory
	// and disks are sent.
	URI     string `json:"uri"`
	Address string `json:"address"`
	// Folder is where its disks will be, and Volumes how its volumes are reached.
	Folder  string            `json:"folder"`
	Volumes map[string]string `json:"volumes,omitempty"`
	// Shared says that the disks are there already; HostID is whose they are then.
	Shared bool   `json:"shared,omitempty"`
	HostID string `json:"host_id,omitempty"`
	// SameMachine says that both hosts have one kernel.
	SameMachine bool `json:"same_machine,omitempty"`
	// NUMA is where the guest will lie on the other host's cells; nil anywhere.
	NUMA *numa.Placement `json:"numa,omitempty"`
}

// MigrateIn moves a guest.
type MigrateIn struct {
	Token Token   `json:"token"`
	To    Landing `json:"to"`
	// Mark names the operation that began it.
	Mark string `json:"mark"`
	// Only has one that is under way watched to its end, and none begun.
	Only bool `json:"only,omitempty"`
	// Abort ends one that is under way.
	Abort bool `json:"abort,omitempty"`
	// Stays has a guest go on that stands still because it leaves: the other host
	// has said that it has nothing of it.
	Stays bool `json:"stays,omitempty"`
}

// MigrationUnsettled is the code of the error of Migrate of a guest that stands
// still on its old host and may run on the new one.
const MigrationUnsettled = "MigrationUnsettled"

// MoveProgress is how far a move has come, in bytes.
type MoveProgress struct {
	MemoryTotal     int64 `json:"memory_total"`
	MemoryProcessed int64 `json:"memory_processed"`
	MemoryRemaining int64 `json:"memory_remaining"`
	DiskTotal       int64 `json:"disk_total"`
	DiskProcessed   int64 `json:"disk_processed"`
	DiskRemaining   int64 `json:"disk_remaining"`
}

// ForceCompleteIn forces a move that is under way to come to its end.
type ForceCompleteIn struct {
	Token Token `json:"token"`
}

// LandedIn asks a host for a guest that was to come.
type LandedIn struct {
	Token Token `json:"token"`
}

// LandedOut is what there is of it.
type LandedOut struct {
	// Here says that the guest runs here, Coming that it is still on its way.
	Here       bool `json:"here,omitempty"`
	Coming     bool `json:"coming,omitempty"`
	PowerState int  `json:"power_state"`
	// Downtime and Elapsed are milliseconds; 0 is unknown.
	Downtime uint64 `json:"downtime,omitempty"`
	Elapsed  uint64 `json:"elapsed,omitempty"`
}

// MigrationActivities are those of LibvirtActivities that move running guests.
type MigrationActivities interface {
	// Depart: errors Conflict (the guest doesn't run, or can't leave), Superseded.
	Depart(context.Context, DepartIn) (Departure, error)
	// Land: what is made already stays. Errors: Conflict (the host can't run the
	// guest), Superseded.
	Land(context.Context, LandIn) (Landing, error)
	// Migrate returns when the guest has left. One that an earlier call has begun
	// is taken over; a cancel aborts it. Errors: Conflict (the guest has stayed),
	// NotFound with the code MigrationUnsettled, Superseded.
	Migrate(context.Context, MigrateIn) (struct{}, error)
	// ForceComplete: a move that is over is not touched. Errors: Superseded.
	ForceComplete(context.Context, ForceCompleteIn) (struct{}, error)
	// Landed reads. Errors: Superseded.
	Landed(context.Context, LandedIn) (LandedOut, error)
}

// MoveTime bounds a live migration: hosts give one up long before, by their own
// configuration.
const MoveTime = 24 * time.Hour

var (
	libvirtDepart = define(Step{Name: "libvirt.Depart", Place: OnHost, StartToClose: 5 * time.Minute,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: service})
	libvirtLand = define(Step{Name: "libvirt.Land", Place: OnHost, StartToClose: 20 * time.Minute,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: service})
	libvirtMigrate = define(Step{Name: "libvirt.Migrate", Place: OnHost, StartToClose: MoveTime,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: undo})
	libvirtForceComplete = define(Step{Name: "libvirt.ForceComplete", Place: OnHost, StartToClose: time.Minute,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: service})
	libvirtLanded = define(Step{Name: "libvirt.Landed", Place: OnHost, StartToClose: time.Minute,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: undo})
)

// Depart asks a guest's host what another one has to know.
func (libvirtSteps) Depart(ctx workflow.Context, host string, in DepartIn) (Departure, error) {
	return call[Departure](ctx, libvirtDepart, HostQueue(host), in)
}

// Land prepares a host for a guest.
func (libvirtSteps) Land(ctx workflow.Context, host string, in LandIn) (Landing, error) {
	return call[Landing](ctx, libvirtLand, HostQueue(host), in)
}

// Migrate moves a guest away from its host.
func (libvirtSteps) Migrate(ctx workflow.Context, host string, in MigrateIn) error {
	_, err := call[struct{}](ctx, libvirtMigrate, HostQueue(host), in)
	return err
}

// ForceComplete forces a move to its end.
func (libvirtSteps) ForceComplete(ctx workflow.Context, host string, in ForceCompleteIn) error {
	_, err := call[struct{}](ctx, libvirtForceComplete, HostQueue(host), in)
	return err
}

// Landed asks a host for a guest that was to come.
func (libvirtSteps) Landed(ctx workflow.Context, host string, in LandedIn) (LandedOut, error) {
	return call[LandedOut](ctx, libvirtLanded, HostQueue(host), in)
}

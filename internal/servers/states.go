package servers

// States: what a server is (VMState), what is being done to it (TaskState),
// what its host says of its power (PowerState), and the one word that clients
// are shown (contracts: status-map.json).

import (
	"slices"
	"strings"
)

// VMState is what a server is while nothing is being done to it.
type VMState string

// VM states; the strings are the ones that clients see in OS-EXT-STS:vm_state.
const (
	VMActive           VMState = "active"
	VMBuilding         VMState = "building"
	VMPaused           VMState = "paused"
	VMSuspended        VMState = "suspended"
	VMStopped          VMState = "stopped"
	VMRescued          VMState = "rescued"
	VMResized          VMState = "resized"
	VMSoftDeleted      VMState = "soft-delete"
	VMDeleted          VMState = "deleted"
	VMError            VMState = "error"
	VMShelved          VMState = "shelved"
	VMShelvedOffloaded VMState = "shelved_offloaded"
)

// TaskState is what an operation is doing to a server; empty (null to clients)
// when none holds it.
type TaskState string

// Task states, in the order of the original's table.
const (
	TaskNone                       TaskState = ""
	TaskScheduling                 TaskState = "scheduling"
	TaskBlockDeviceMapping         TaskState = "block_device_mapping"
	TaskNetworking                 TaskState = "networking"
	TaskSpawning                   TaskState = "spawning"
	TaskImageSnapshot              TaskState = "image_snapshot"
	TaskImageSnapshotPending       TaskState = "image_snapshot_pending"
	TaskImagePendingUpload         TaskState = "image_pending_upload"
	TaskImageUploading             TaskState = "image_uploading"
	TaskImageBackup                TaskState = "image_backup"
	TaskUpdatingPassword           TaskState = "updating_password"
	TaskResizePrep                 TaskState = "resize_prep"
	TaskResizeMigrating            TaskState = "resize_migrating"
	TaskResizeMigrated             TaskState = "resize_migrated"
	TaskResizeFinish               TaskState = "resize_finish"
	TaskResizeReverting            TaskState = "resize_reverting"
	TaskResizeConfirming           TaskState = "resize_confirming"
	TaskRebooting                  TaskState = "rebooting"
	TaskRebootPending              TaskState = "reboot_pending"
	TaskRebootStarted              TaskState = "reboot_started"
	TaskRebootingHard              TaskState = "rebooting_hard"
	TaskRebootPendingHard          TaskState = "reboot_pending_hard"
	TaskRebootStartedHard          TaskState = "reboot_started_hard"
	TaskPausing                    TaskState = "pausing"
	TaskUnpausing                  TaskState = "unpausing"
	TaskSuspending                 TaskState = "suspending"
	TaskResuming                   TaskState = "resuming"
	TaskPoweringOff                TaskState = "powering-off"
	TaskPoweringOn                 TaskState = "powering-on"
	TaskRescuing                   TaskState = "rescuing"
	TaskUnrescuing                 TaskState = "unrescuing"
	TaskRebuilding                 TaskState = "rebuilding"
	TaskRebuildBlockDeviceMapping  TaskState = "rebuild_block_device_mapping"
	TaskRebuildSpawning            TaskState = "rebuild_spawning"
	TaskMigrating                  TaskState = "migrating"
	TaskDeleting                   TaskState = "deleting"
	TaskSoftDeleting               TaskState = "soft-deleting"
	TaskRestoring                  TaskState = "restoring"
	TaskShelving                   TaskState = "shelving"
	TaskShelvingImagePendingUpload TaskState = "shelving_image_pending_upload"
	TaskShelvingImageUploading     TaskState = "shelving_image_uploading"
	TaskShelvingOffloading         TaskState = "shelving_offloading"
	TaskUnshelving                 TaskState = "unshelving"
)

// PowerState is what the host says of the guest's power.
type PowerState int

// Power states, numbered as clients see them in OS-EXT-STS:power_state.
const (
	PowerNone      PowerState = 0
	PowerRunning   PowerState = 1
	PowerPaused    PowerState = 3
	PowerShutdown  PowerState = 4
	PowerCrashed   PowerState = 6
	PowerSuspended PowerState = 7
)

// Shown is what clients see of a state that a host tells. A guest whose memory
// is saved on disk is off: libvirt says so of it, and with it the original
// (nova/virt/libvirt: suspend is a managed save). That it can be resumed is its
// server's VMState to say.
func (p PowerState) Shown() PowerState {
	if p == PowerSuspended {
		return PowerShutdown
	}
	return p
}

// StatusUnknown is shown for a vm_state that the table doesn't have.
const StatusUnknown = "UNKNOWN"

// statuses is the word for each vm_state: the one under TaskNone, unless the
// task state has one of its own.
var statuses = map[VMState]map[TaskState]string{
	VMActive: {
		TaskNone:                      "ACTIVE",
		TaskRebooting:                 "REBOOT",
		TaskRebootPending:             "REBOOT",
		TaskRebootStarted:             "REBOOT",
		TaskRebootingHard:             "HARD_REBOOT",
		TaskRebootPendingHard:         "HARD_REBOOT",
		TaskRebootStartedHard:         "HARD_REBOOT",
		TaskUpdatingPassword:          "PASSWORD",
		TaskRebuilding:                "REBUILD",
		TaskRebuildBlockDeviceMapping: "REBUILD",
		TaskRebuildSpawning:           "REBUILD",
		TaskMigrating:                 "MIGRATING",
		TaskResizePrep:                "RESIZE",
		TaskResizeMigrating:           "RESIZE",
		TaskResizeMigrated:            "RESIZE",
		TaskResizeFinish:              "RESIZE",
	},
	VMBuilding: {TaskNone: "BUILD"},
	VMStopped: {
		TaskNone:                      "SHUTOFF",
		TaskResizePrep:                "RESIZE",
		TaskResizeMigrating:           "RESIZE",
		TaskResizeMigrated:            "RESIZE",
		TaskResizeFinish:              "RESIZE",
		TaskRebuilding:                "REBUILD",
		TaskRebuildBlockDeviceMapping: "REBUILD",
		TaskRebuildSpawning:           "REBUILD",
	},
	VMResized:   {TaskNone: "VERIFY_RESIZE", TaskResizeReverting: "REVERT_RESIZE"},
	VMPaused:    {TaskNone: "PAUSED", TaskMigrating: "MIGRATING"},
	VMSuspended: {TaskNone: "SUSPENDED"},
	VMRescued:   {TaskNone: "RESCUE"},
	VMError: {
		TaskNone:                      "ERROR",
		TaskRebuilding:                "REBUILD",
		TaskRebuildBlockDeviceMapping: "REBUILD",
		TaskRebuildSpawning:           "REBUILD",
	},
	VMDeleted:          {TaskNone: "DELETED"},
	VMSoftDeleted:      {TaskNone: "SOFT_DELETED"},
	VMShelved:          {TaskNone: "SHELVED"},
	VMShelvedOffloaded: {TaskNone: "SHELVED_OFFLOADED"},
}

// Status is the word that clients are shown for a server in these states.
func Status(vm VMState, task TaskState) string {
	words, ok := statuses[vm]
	if !ok {
		return StatusUnknown
	}
	if word, ok := words[task]; ok {
		return word
	}
	return words[TaskNone]
}

// FromStatus gives the states to look for when clients filter by status words,
// in any case of letters. Tasks is nil if one of the words is a vm_state's own:
// then, as in the original, the task state is not looked at. Both are nil for
// words that no state shows.
func FromStatus(words ...string) (vms []VMState, tasks []TaskState) {
	anyTask := false
	for vm, byTask := range statuses {
		for task, word := range byTask {
			if !slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, word) }) {
				continue
			}
			vms = append(vms, vm)
			tasks = append(tasks, task)
			anyTask = anyTask || task == TaskNone
		}
	}
	slices.Sort(vms)
	slices.Sort(tasks)
	if anyTask {
		tasks = nil
	}
	return slices.Compact(vms), slices.Compact(tasks)
}

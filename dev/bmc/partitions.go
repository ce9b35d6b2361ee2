package bmc

// The partitions of a machine's disk, as its ramdisk makes them, and what starts the image
// that is in one of them.

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
)

// Partitions are those of a disk that the image of one was written to.
type Partitions struct {
	// Root and EFI are the ids of the file systems; EFI is empty without one.
	Root, EFI string
	// Label is the kind of partition table.
	Label string
	// RootMB, SwapMB and EphemeralMB are how large they are, 0 for none.
	RootMB, SwapMB, EphemeralMB int64
	// Ephemeral is the id of the file system of the ephemeral one, EphemeralFormat its kind.
	Ephemeral, EphemeralFormat string
}

// partitioned is what an agent is told beside of the image of a partition.
type partitioned struct {
	RootMB          *int64  `json:"root_mb"`
	SwapMB          *int64  `json:"swap_mb"`
	EphemeralMB     *int64  `json:"ephemeral_mb"`
	EphemeralFormat *string `json:"ephemeral_format"`
	Preserve        *bool   `json:"preserve_ephemeral"`
	BootMode        string  `json:"deploy_boot_mode"`
	BootOption      string  `json:"boot_option"`
	Label           string  `json:"disk_label"`
}

// partition makes the partitions for an image of a size, in bytes. What was there is gone,
// but an ephemeral partition that is to be kept.
func (m *Machine) partition(told arguments, size int64) (*Partitions, *agentError) {
	var p partitioned
	var keys map[string]json.RawMessage
	for _, to := range []any{&p, &keys} {
		if err := told.read("image_info", to); err != nil {
			return nil, err
		}
	}
	for _, needed := range []string{"kernel", "ramdisk", "root_gb", "root_mb", "swap_mb", "ephemeral_mb", "ephemeral_format", "configdrive", "preserve_ephemeral", "deploy_boot_mode", "boot_option"} {
		if _, given := keys[needed]; !given {
			return nil, trouble("KeyError", "Command execution failed", "'"+needed+"'")
		}
	}
	switch {
	case p.RootMB == nil || p.SwapMB == nil || p.EphemeralMB == nil || p.Preserve == nil || p.BootOption != "local" || *p.EphemeralMB > 0 && p.EphemeralFormat == nil:
		return nil, malformed("%s", told["image_info"])
	case (size+1<<20-1)>>20 > *p.RootMB:
		return nil, malformed("Root partition is too small for requested image. Image virtual size: %d MB, Root size: %d MB", (size+1<<20-1)>>20, *p.RootMB)
	}
	made := &Partitions{Root: uuid.NewString(), Label: p.Label, RootMB: *p.RootMB, SwapMB: *p.SwapMB, EphemeralMB: *p.EphemeralMB}
	if p.BootMode == "uefi" {
		made.EFI = uuid.NewString()[:9]
	}
	if *p.EphemeralMB > 0 {
		made.Ephemeral, made.EphemeralFormat = uuid.NewString(), *p.EphemeralFormat
		if old := m.Content().Partitions; *p.Preserve && old != nil && old.Ephemeral != "" {
			made.Ephemeral, made.EphemeralFormat = old.Ephemeral, old.EphemeralFormat
		}
	}
	return made, nil
}

// fromDisk is what a machine runs that starts from its disk: the image of a partition needs
// something that starts it.
func (m *Machine) fromDisk() Runs {
	if disk := m.Content(); disk.Partitions != nil && !disk.Installed {
		return Nothing
	}
	return Disk
}

// partitions tells of what has been written; of a whole disk nothing is known.
func partitions(_ context.Context, a *Agent, _ arguments) (any, *agentError) {
	of := a.machine.Content().Partitions
	if of == nil {
		return map[string]any{}, nil
	}
	found := map[string]any{"root uuid": of.Root, "efi system partition uuid": nil, "PReP Boot partition uuid": nil}
	if of.EFI != "" {
		found["efi system partition uuid"] = of.EFI
	}
	return found, nil
}

// installBootLoader has the disk be started from, if it is told where on that.
func installBootLoader(_ context.Context, a *Agent, told arguments) (any, *agentError) {
	var root, efi *string
	var mode string
	for name, to := range map[string]any{"root_uuid": &root, "efi_system_part_uuid": &efi, "target_boot_mode": &mode} {
		if err := told.read(name, to); err != nil {
			return nil, err
		}
	}
	m := a.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.disk.Partitions
	is := func(said *string, want string) bool {
		return said == nil && want == "" || said != nil && *said == want
	}
	switch {
	case m.disk.SHA256 == "":
		return nil, trouble("DeviceNotFound", "Error finding the disk or partition device to deploy the image onto", "No partition with UUID found on device /dev/sda")
	case of != nil && (!is(root, of.Root) || !is(efi, of.EFI)) || (mode != "uefi" && mode != "bios"):
		return nil, trouble("CommandExecutionError", "Command execution failed", fmt.Sprintf("Installing GRUB2 boot loader to device /dev/sda failed with %s", told))
	}
	m.disk.Installed = true
	return nil, nil
}

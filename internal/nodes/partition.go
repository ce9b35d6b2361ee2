package nodes

// Images of one partition, and how the disks are laid out that they are written to.

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/pyjson"
)

// Layout are the partitions of a disk that the image of one is written to.
type Layout struct {
	// RootGB, SwapMB and EphemeralGB are how large they are; 0 is none, of the latter.
	RootGB, SwapMB, EphemeralGB int64
	// EphemeralFormat is the file system that is made on the ephemeral one; empty for none.
	EphemeralFormat string
	// PreserveEphemeral says that what is there stays.
	PreserveEphemeral bool
}

// usualFormat is the file system of an ephemeral partition (default_ephemeral_format).
const usualFormat = "ext4"

// Kept is the layout as the node's row remembers it after a deployment.
func (l Layout) Kept() map[string]any {
	return map[string]any{"root_gb": l.RootGB, "swap_mb": l.SwapMB, "ephemeral_gb": l.EphemeralGB}
}

// Layout reads what instance_info says of one. Errors: Invalid.
func (i Info) Layout() (l Layout, err error) {
	if !i.given("root_gb") {
		return l, i.missing("Some parameters were missing in node's instance_info. Missing are: ['root_gb']")
	}
	if preserve := i.get("preserve_ephemeral"); preserve != nil {
		var ok bool
		if l.PreserveEphemeral, ok = pyjson.Truth(preserve); !ok {
			return l, i.invalid("Invalid parameter preserve_ephemeral: Unrecognized value '%s', acceptable values are: %s", pyjson.Str(preserve), pyjson.Truths)
		}
	}
	for _, size := range []struct {
		name string
		to   *int64
	}{{"root_gb", &l.RootGB}, {"swap_mb", &l.SwapMB}, {"ephemeral_gb", &l.EphemeralGB}} {
		if *size.to, err = i.size(size.name); err != nil {
			return l, err
		}
	}
	if l.EphemeralFormat = i.text("ephemeral_format"); l.EphemeralFormat == "" && l.EphemeralGB > 0 {
		l.EphemeralFormat = usualFormat
	}
	if l.PreserveEphemeral {
		return l, i.unchanged(l)
	}
	return l, nil
}

// maxSize is the largest partition, in its unit.
const maxSize = 1<<31 - 1

// size reads one of a partition; 0 if there is none.
func (i Info) size(name string) (int64, error) {
	value := i.get(name)
	var n int64
	ok := true
	switch of := value.(type) {
	case nil:
	case *big.Int:
		if n, ok = of.Int64(), of.IsInt64(); !ok {
			n = -1
		}
	case float64:
		ok = of >= 0 && of <= maxSize
		n = int64(of)
	case string:
		var err error
		n, err = strconv.ParseInt(strings.TrimSpace(of), 10, 64)
		ok = err == nil
	default:
		ok = false
	}
	if !ok || n < 0 || n > maxSize {
		return 0, i.invalid("Invalid parameter %s: %s is not an integer value.", name, pyjson.Str(value))
	}
	return n, nil
}

// unchanged refuses a layout that isn't the one of which something is to be kept.
func (i Info) unchanged(l Layout) error {
	var known struct{ Instance map[string]int64 }
	if err := json.Unmarshal(i.node.DriverInternalInfo, &known); err != nil {
		return fmt.Errorf("driver_internal_info of node %s: %w", i.node.UUID, err)
	}
	if known.Instance == nil {
		return nil
	}
	var wrong strings.Builder
	for _, size := range []struct {
		name string
		now  int64
	}{{"root_gb", l.RootGB}, {"swap_mb", l.SwapMB}, {"ephemeral_gb", l.EphemeralGB}} {
		if was := known.Instance[size.name]; was != size.now {
			fmt.Fprintf(&wrong, " Deployed value of %s was %d but requested value is %d.", size.name, was, size.now)
		}
	}
	if wrong.Len() > 0 {
		return i.invalid("The following parameters have different values from previous deployment:%s", &wrong)
	}
	return nil
}

// partition is what a ramdisk is told beside of an image of one; drive is what instance_info
// has of a config drive.
func (i Info) partition(drive any) (map[string]any, error) {
	l, err := i.Layout()
	if err != nil {
		return nil, err
	}
	mode, err := i.BootMode()
	if err != nil {
		return nil, err
	}
	told := map[string]any{"kernel": i.get("kernel"), "ramdisk": i.get("ramdisk"), "root_gb": i.get("root_gb"), "root_mb": 1024 * l.RootGB, "swap_mb": l.SwapMB,
		"ephemeral_mb": 1024 * l.EphemeralGB, "ephemeral_format": nil, "configdrive": drive, "preserve_ephemeral": l.PreserveEphemeral, "image_type": imageTypes[0],
		"deploy_boot_mode": mode, "boot_option": "local"}
	if l.EphemeralFormat != "" {
		told["ephemeral_format"] = l.EphemeralFormat
	}
	label, err := i.capability("disk_label")
	if err != nil {
		return nil, err
	}
	if label == "" && mode == provision.UEFI {
		label = "gpt"
	}
	if label != "" {
		told["disk_label"] = label
	}
	return told, nil
}

// Partitions are those of a disk by what ramdisks call them; empty for one that isn't there.
type Partitions struct {
	Root string `json:"root uuid"`
	EFI  string `json:"efi system partition uuid"`
	PReP string `json:"PReP Boot partition uuid"`
}

// BootLoader is what a ramdisk is told to install so that the node starts from its disk; nil
// if nothing is to be installed. Whole says that the image is a whole disk's. Errors:
// Invalid.
func (i Info) BootLoader(whole bool, of Partitions) (map[string]any, error) {
	mode, err := i.BootMode()
	if err != nil {
		return nil, err
	}
	optional := func(uuid string, there bool) any {
		if uuid == "" || !there {
			return nil
		}
		return uuid
	}
	switch raid := i.softwareRAID(); {
	case whole && !raid && mode != provision.UEFI:
		return nil, nil
	case whole && !raid:
		of.Root = "" // the image starts by itself
	case raid && i.text("image_rootfs_uuid") != "":
		of.Root = i.text("image_rootfs_uuid")
	case !whole && of.Root == "":
		return nil, i.invalid("No root UUID returned from the ramdisk for node %s", i.node.UUID)
	}
	var properties struct {
		Arch string `json:"cpu_arch"`
	}
	if err := json.Unmarshal(i.node.Properties, &properties); err != nil {
		return nil, fmt.Errorf("properties of node %s: %w", i.node.UUID, err)
	}
	return map[string]any{"root_uuid": optional(of.Root, true), "efi_system_part_uuid": optional(of.EFI, !whole && mode == provision.UEFI),
		"prep_boot_part_uuid": optional(of.PReP, strings.HasPrefix(properties.Arch, "ppc64")), "target_boot_mode": mode}, nil
}

// softwareRAID says whether the node's disks are to be joined by its own system.
func (i Info) softwareRAID() bool {
	var target struct {
		Disks []struct{ Controller string } `json:"logical_disks"`
	}
	if json.Unmarshal(i.node.TargetRAIDConfig, &target) != nil {
		return false
	}
	for _, disk := range target.Disks {
		if disk.Controller == "software" {
			return true
		}
	}
	return false
}

package compute

// A server's disks as a whole: what boots, how much room they take on the host.

import (
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store/compute"
)

// maxLocalDisks is how many disks on the host a server may have
// (max_local_block_devices).
const maxLocalDisks = 3

// swapFormat is guest_format of a disk that is swap.
const swapFormat = "swap"

// diskBuses are the buses that there are (Nova: objects.fields.DiskBus).
var diskBuses = []string{"fdc", "ide", "sata", "scsi", "usb", "virtio", "xen", "lxc", "uml"}

// checkDevices holds the devices against each other, their sources and the
// flavor, in the original's order.
func (a *API) checkDevices(r *rest.Request, b *build) error {
	if err := checkTogether(b.asked, b.devices); err != nil {
		return err
	}
	if err := a.checkSources(r, b.devices); err != nil {
		return err
	}
	return checkSizes(b.devices, b.flavor)
}

// checkNames refuses a volume of the request that is called like the root disk,
// which an image is for.
func checkNames(asked *createRequest, devices []compute.BlockDevice) error {
	for _, d := range devices {
		if len(asked.Devices) > 0 && asked.ImageRef != "" && d.IsVolume() && servers.BareName(d.DeviceName) == rootDevice {
			return faults.New(faults.Invalid, "InvalidRequest", "The volume cannot be assigned the same device name as the root device %s", rootDevice)
		}
	}
	return nil
}

func checkTogether(asked *createRequest, devices []compute.BlockDevice) error {
	if err := servers.CheckDisks(len(devices)); err != nil { // before anybody is asked for each of them
		return err
	}
	isOwn := func(d compute.BlockDevice) bool { return d.SourceType == "volume" }
	if asked.count.most > 1 && slices.ContainsFunc(devices, isOwn) {
		return faults.New(faults.Invalid, "InvalidRequest", "Cannot attach one or more volumes to multiple instances")
	}
	return checkBoot(devices, asked.ImageRef != "" && len(asked.Devices)+len(asked.OldDevices) == 0)
}

// checkBoot: the indexes to boot by are 0 and on without a gap, unless the
// request has an image and no mapping, not even one of no_device.
func checkBoot(devices []compute.BlockDevice, imageAlone bool) error {
	var indexes []int
	for _, d := range devices {
		if d.BootIndex != nil {
			indexes = append(indexes, *d.BootIndex)
		}
	}
	slices.Sort(indexes)
	right := len(indexes) > 0 || imageAlone
	for i, index := range indexes {
		right = right && i == index
	}
	if !right {
		return badDevice("Boot sequence for the instance and image/block device mapping combination is not valid.")
	}
	return nil
}

// checkSizes holds what is on the host's disk against the flavor: a disk without
// a size has the flavor's, and the flavor's own disks count where none is given.
func checkSizes(devices []compute.BlockDevice, flavor *compute.Flavor) error {
	local, ephemeral := 0, []int64{}
	var swap []int64
	for _, d := range devices {
		switch {
		case d.IsVolume():
			continue
		case d.IsSwap():
			swap = append(swap, int64(d.VolumeSizeGB))
		case d.IsEphemeral():
			size := int64(d.VolumeSizeGB)
			if size == 0 {
				size = flavor.EphemeralGB
			}
			ephemeral = append(ephemeral, size)
		}
		local++
	}
	if len(ephemeral) == 0 && flavor.EphemeralGB > 0 {
		local++
	}
	if len(swap) == 0 && flavor.SwapMB > 0 {
		local++
	}
	switch {
	case sum(ephemeral) > flavor.EphemeralGB:
		return faults.New(faults.Invalid, "InvalidBDMEphemeralSize",
			"Ephemeral disks requested are larger than the instance type allows. If no size is given in one block device mapping, flavor ephemeral size will be used.")
	case len(swap) > 1:
		return badDevice("More than one swap drive requested.")
	case sum(swap) > flavor.SwapMB:
		return faults.New(faults.Invalid, "InvalidBDMSwapSize", "Swap drive requested is larger than instance type allows.")
	case local > maxLocalDisks:
		return badDevice("You specified more local devices than the limit allows")
	}
	return nil
}

func sum(sizes []int64) (all int64) {
	for _, size := range sizes {
		all += size
	}
	return all
}

// rootVolume is the device that boots, if Cinder has it.
func rootVolume(devices []compute.BlockDevice) *compute.BlockDevice {
	i := slices.IndexFunc(devices, func(d compute.BlockDevice) bool { return d.IsVolume() && d.Boots() })
	if i < 0 {
		return nil
	}
	return &devices[i]
}

// bootsFromVolume says whether the root disk is Cinder's.
func bootsFromVolume(devices []compute.BlockDevice) bool { return rootVolume(devices) != nil }

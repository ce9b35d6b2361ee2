package compute

// The image that a server is made of: there, active, and not too large for the
// flavor.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/store/compute"
)

// policyZeroDisk is for flavors that don't say how large the disk may become.
const policyZeroDisk = "os_compute_api:servers:create:zero_disk_flavor"

// checkImage checks the image that the root disk is made of, and gives its
// properties.
func checkImage(r *rest.Request, asked *createRequest, image *openstack.Image, flavor *compute.Flavor, root *compute.BlockDevice) (map[string]string, error) {
	if asked.ImageRef != "" && root == nil && flavor.RootGB == 0 && r.Enforce(policyZeroDisk, nil) != nil {
		return nil, faults.New(faults.Forbidden, "BootFromVolumeRequiredForZeroDiskFlavor",
			"Only volume-backed servers are allowed for flavors with zero disk.")
	}
	if image == nil {
		return nil, nil
	}
	return image.Properties, fits(image, flavor, root)
}

// imageOf is the request's image, or that of the volume to boot from; nil if there
// is none.
func (a *API) imageOf(r *rest.Request, asked *createRequest, root *compute.BlockDevice) (*openstack.Image, error) {
	switch {
	case !a.reachable(r.Identity), asked.ImageRef == "" && root == nil:
		return nil, nil
	case asked.ImageRef == "":
		return a.rootSource(r, root)
	}
	image, err := a.Neighbours.Image(r.Context(), r.Identity, string(asked.ImageRef))
	if faults.Is(err, faults.NotFound) {
		err = faults.New(faults.Invalid, "ImageNotFound", "Can not find requested image")
	}
	return image, err
}

const gib = 1 << 30

// fits holds an image against a flavor, or against the volume that is the root
// disk; of one that exists already Cinder has checked the size.
func fits(image *openstack.Image, flavor *compute.Flavor, root *compute.BlockDevice) error {
	disk := flavor.RootGB * gib
	switch {
	case image.Status != "active":
		return faults.New(faults.Invalid, "ImageNotActive", "Image %s is not active.", image.ID)
	case image.MinRAMMB > flavor.MemoryMB:
		return faults.New(faults.Invalid, "FlavorMemoryTooSmall", "Flavor's memory is too small for requested image.")
	case root != nil && root.VolumeSizeGB > 0 && image.MinDiskGB > int64(root.VolumeSizeGB):
		return faults.New(faults.Invalid, "VolumeSmallerThanMinDisk",
			"Volume is smaller than the minimum size specified in image metadata. Volume size is %d bytes, minimum size is %d bytes.",
			int64(root.VolumeSizeGB)*gib, image.MinDiskGB*gib)
	case root != nil || flavor.RootGB == 0:
		return nil
	case image.SizeBytes > disk:
		return faults.New(faults.Invalid, "FlavorDiskSmallerThanImage",
			"Flavor's disk is too small for requested image. Flavor disk is %d bytes, image is %d bytes.", disk, image.SizeBytes)
	case image.MinDiskGB > flavor.RootGB:
		return faults.New(faults.Invalid, "FlavorDiskSmallerThanMinDisk",
			"Flavor's disk is smaller than the minimum size specified in image metadata. Flavor disk is %d bytes, minimum size is %d bytes.",
			disk, image.MinDiskGB*gib)
	}
	return nil
}

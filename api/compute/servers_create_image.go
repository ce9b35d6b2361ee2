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

// image asks Glance for the request's image and gives its properties.
func (a *API) image(r *rest.Request, id string, flavor *compute.Flavor, fromVolume bool) (map[string]string, error) {
	if id == "" {
		return nil, nil
	}
	if !fromVolume && flavor.RootGB == 0 && r.Enforce(policyZeroDisk, nil) != nil {
		return nil, faults.New(faults.Forbidden, "BootFromVolumeRequiredForZeroDiskFlavor",
			"Only volume-backed servers are allowed for flavors with zero disk.")
	}
	if !a.reachable(r.Identity) {
		return nil, nil
	}
	image, err := a.Neighbours.Image(r.Context(), r.Identity, id)
	if faults.Is(err, faults.NotFound) {
		return nil, faults.New(faults.Invalid, "ImageNotFound", "Can not find requested image")
	}
	if err != nil {
		return nil, err
	}
	return image.Properties, fits(image, flavor, fromVolume)
}

const gib = 1 << 30

// fits holds an image against a flavor; the disk is Cinder's to check where
// there is a volume.
func fits(image *openstack.Image, flavor *compute.Flavor, fromVolume bool) error {
	disk := flavor.RootGB * gib
	switch {
	case image.Status != "active":
		return faults.New(faults.Invalid, "ImageNotActive", "Image %s is not active.", image.ID)
	case image.MinRAMMB > flavor.MemoryMB:
		return faults.New(faults.Invalid, "FlavorMemoryTooSmall", "Flavor's memory is too small for requested image.")
	case fromVolume || flavor.RootGB == 0:
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

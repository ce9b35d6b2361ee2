package compute

// What a server's disks are made of, asked of Cinder and Glance.

import (
	"cmp"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/store/compute"
)

// sources are what has been asked for one request.
type sources struct {
	*API
	r     *rest.Request
	types map[string]string
	// given are the volumes that devices before have taken.
	given []string
}

// checkSources checks devices in the order of the request, and fills in what
// their sources know: sizes, and the names of volume types.
func (a *API) checkSources(r *rest.Request, devices []compute.BlockDevice) error {
	s := &sources{API: a, r: r}
	for i := range devices {
		if err := s.check(&devices[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *sources) check(d *compute.BlockDevice) error {
	ask := s.reachable(s.r.Identity)
	if d.VolumeType != "" && ask {
		if err := s.nameType(d); err != nil {
			return err
		}
	}
	if ask && d.IsVolume() {
		if err := s.find(d); err != nil {
			return err
		}
	}
	switch {
	case d.IsVolume() && d.SourceType == "image" && d.VolumeSizeGB == 0:
		return badDevice("Images with destination_type 'volume' need to have a non-zero size specified")
	case d.IsVolume() && d.SourceType == "blank" && d.VolumeSizeGB == 0:
		return badDevice("Blank volumes (source: 'blank', dest: 'volume') need to have non-zero size")
	case d.DiskBus != "" && !slices.Contains(diskBuses, d.DiskBus):
		return faults.New(faults.Invalid, "InvalidBDMDiskBus", "Block Device Mapping is Invalid.")
	}
	return nil
}

// nameType replaces a volume type's id by its name.
func (s *sources) nameType(d *compute.BlockDevice) (err error) {
	if s.types == nil {
		if s.types, err = s.Neighbours.VolumeTypes(s.r.Context(), s.r.Identity); err != nil {
			return err
		}
	}
	name, ok := s.types[d.VolumeType]
	if !ok {
		return faults.New(faults.Invalid, "VolumeTypeNotFound", "Volume type %s could not be found.", d.VolumeType)
	}
	d.VolumeType = name
	return nil
}

// find looks the source of a volume up.
func (s *sources) find(d *compute.BlockDevice) error {
	var err error
	switch d.SourceType {
	case "volume":
		return s.take(d)
	case "snapshot":
		var snapshot *openstack.Volume
		if snapshot, err = s.Neighbours.Snapshot(s.r.Context(), s.r.Identity, d.SourceID); err == nil {
			d.VolumeSizeGB = cmp.Or(d.VolumeSizeGB, snapshot.SizeGB)
		}
	case "image":
		_, err = s.Neighbours.Image(s.r.Context(), s.r.Identity, d.SourceID)
	}
	if faults.Is(err, faults.NotFound) {
		return badDevice("failed to get %s %s.", d.SourceType, d.SourceID)
	}
	return err
}

// multiattachSince is the microversion that lets servers share volumes.
const multiattachSince = 60

// take checks that an existing volume can be the server's, as Cinder will when
// it is reserved.
func (s *sources) take(d *compute.BlockDevice) error {
	volume, err := s.Neighbours.Volume(s.r.Context(), s.r.Identity, d.VolumeID)
	switch {
	case faults.Is(err, faults.NotFound):
		return faults.New(faults.Invalid, "VolumeNotFound", "Volume %s could not be found.", d.VolumeID)
	case err != nil:
		return err
	case volume.Multiattach && !s.r.Has(multiattachSince):
		return faults.New(faults.Invalid, "MultiattachNotSupportedOldMicroversion",
			"Multiattach volumes are only supported starting with compute API version 2.60.")
	case slices.Contains(s.given, d.VolumeID):
		return notReservable(d.VolumeID, "reserved")
	case volume.Status != "available" && !(volume.Multiattach && volume.Status == "in-use"):
		return notReservable(d.VolumeID, volume.Status)
	}
	s.given, d.VolumeSizeGB, d.Multiattach = append(s.given, d.VolumeID), volume.SizeGB, volume.Multiattach
	return nil
}

// notReservable has Cinder's words as Nova passes them on.
func notReservable(volumeID, status string) error {
	return faults.New(faults.Invalid, "InvalidVolume", "Invalid volume: Invalid input received: Invalid volume: "+
		"Volume %s status must be available or downloading to reserve, but the current status is %s.", volumeID, status)
}

// rootSource is the image that a volume to boot from comes from.
func (a *API) rootSource(r *rest.Request, root *compute.BlockDevice) (*openstack.Image, error) {
	volumeID := root.VolumeID
	switch root.SourceType {
	case "image":
		image, err := a.Neighbours.Image(r.Context(), r.Identity, root.SourceID)
		if faults.Is(err, faults.NotFound) {
			err = badDevice("failed to get image %s.", root.SourceID)
		}
		return image, err
	case "snapshot":
		snapshot, err := a.Neighbours.Snapshot(r.Context(), r.Identity, root.SourceID)
		if faults.Is(err, faults.NotFound) {
			err = faults.New(faults.Invalid, "SnapshotNotFound", "Snapshot %s could not be found.", root.SourceID)
		}
		if err != nil {
			return nil, err
		}
		volumeID = snapshot.VolumeID
	case "blank":
		return nil, nil
	}
	volume, err := a.Neighbours.Volume(r.Context(), r.Identity, volumeID)
	switch {
	case faults.Is(err, faults.NotFound):
		return nil, badDevice("failed to get volume %s.", volumeID)
	case err != nil:
		return nil, err
	case strings.EqualFold(volume.Bootable, "false"):
		return nil, faults.New(faults.Invalid, "InvalidBDMVolumeNotBootable", "Block Device %s is not bootable.", volumeID)
	}
	return volume.Image(), nil
}

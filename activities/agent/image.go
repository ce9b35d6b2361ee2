package agent

// What a ramdisk is told to write to a node's disk: the image of instance_info with its
// config drive, and the boot loader.

import (
	"context"
	"encoding/json"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// wholeDisk is where the node's row has that its image is a whole disk's, from when it was
// written on, and rootUUID which file system of its is the root, if anybody knows.
const (
	wholeDisk = "is_whole_disk_image"
	rootUUID  = "root_uuid_or_disk_id"
)

// imageArgs are what a ramdisk is told to write: the image, and the config drive,
// which it reads at either place.
func (s *session) imageArgs(ctx context.Context) (map[string]any, error) {
	instance, err := nodes.InstanceInfo(s.box, s.node)
	if err != nil {
		return nil, err
	}
	driver, err := nodes.DriverInfo(s.box, s.node)
	if err != nil {
		return nil, err
	}
	if err := instance.MayDeploy(); err != nil {
		return nil, err
	}
	file, err := s.imageFile(ctx, instance)
	if err != nil {
		return nil, err
	}
	image, whole, err := instance.ImageInfo(driver, file)
	if err != nil {
		return nil, err
	}
	known := map[string]any{wholeDisk: whole}
	if file != nil && file.Properties["rootfs_uuid"] != nil {
		known[rootUUID] = file.Properties["rootfs_uuid"]
	}
	if err := s.write(ctx, func(tx store.Tx) error { return baremetal.KeepInternal(ctx, tx, s.node.UUID, known) }); err != nil {
		return nil, err
	}
	args := map[string]any{"image_info": image}
	switch drive := instance.ConfigDrive().(type) {
	case string:
		image["configdrive"], args["configdrive"] = drive, drive
	case *pyjson.Object:
		text, err := s.drive(drive)
		if err != nil {
			return nil, err
		}
		image["configdrive"], args["configdrive"] = text, text
	}
	return args, nil
}

// bootLoader is what the ramdisk is told to install, by what it has said of the disk; nil
// for nothing. The row remembers the disk.
func (s *session) bootLoader(ctx context.Context, said json.RawMessage) (params any, err error) {
	var of nodes.Partitions
	if err := json.Unmarshal(said, &of); err != nil {
		return nil, faults.Wrap(err, faults.Invalid, "AgentAPIError", "what the agent says of the disk can't be read")
	}
	whole, written := s.known[wholeDisk].(bool)
	if !written {
		return nil, nil
	}
	instance, err := nodes.InstanceInfo(s.box, s.node)
	if err != nil {
		return nil, err
	}
	if whole {
		of.Root = s.text(rootUUID)
	}
	told, err := instance.BootLoader(whole, of)
	if err != nil || told == nil {
		return nil, err
	}
	known := map[string]any{}
	if !whole {
		layout, err := instance.Layout()
		if err != nil {
			return nil, err
		}
		known[rootUUID], known["instance"] = of.Root, layout.Kept()
	}
	return told, s.write(ctx, func(tx store.Tx) error { return baremetal.KeepInternal(ctx, tx, s.node.UUID, known) })
}

// imageFile is what Glance knows of the image, and where the ramdisk reads it; nil if
// Glance doesn't have it. Errors: Invalid, NotFound, Unavailable.
func (s *session) imageFile(ctx context.Context, instance nodes.Info) (*openstack.ImageFile, error) {
	id := instance.GlanceImage()
	if id == "" {
		return nil, nil
	}
	medium, err := baremetal.BootFileOf(ctx, s.db.Pool, s.node.UUID)
	if err != nil {
		return nil, err
	}
	if medium == nil || s.URL == "" {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "the conductor serves no images to the ramdisk: conductor.boot_url says where it would")
	}
	file, err := s.Glance.ImageFile(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := instance.FitsMemory(file.DiskFormat, file.Size); err != nil {
		return nil, err
	}
	file.URL, file.Token = nodes.ImageAt(s.URL, medium.Name), ""
	return &file, nil
}

package steps

// Rebuild: a guest's disks are made anew, from another image or from the same.

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// Rebuild is the input of operations.ServerRebuild: the image, and what becomes
// of the server's row with it; nil fields stay. What else its guest is told is
// sealed in its next boot data.
type Rebuild struct {
	// ImageID is empty for a server that boots from a volume.
	ImageID         string            `json:"image_id,omitempty"`
	ImageProperties map[string]string `json:"image_properties,omitempty"`
	// VolumeID is the volume that the server boots from if that is filled anew, from
	// VolumeImage.
	VolumeID    string `json:"volume_id,omitempty"`
	VolumeImage string `json:"volume_image,omitempty"`
	// KeepEphemeral leaves the ephemeral disks as they are.
	KeepEphemeral bool `json:"keep_ephemeral,omitempty"`

	Name       *string `json:"name,omitempty"`
	Hostname   *string `json:"hostname,omitempty"`
	DiskConfig *string `json:"disk_config,omitempty"`
	AccessIPv4 *string `json:"access_ip_v4,omitempty"`
	AccessIPv6 *string `json:"access_ip_v6,omitempty"`
	// KeyName is empty for no key.
	KeyName *string `json:"key_name,omitempty"`
	// Description, Metadata and Certificates are replaced as a whole.
	Description  *Description       `json:"description,omitempty"`
	Metadata     *map[string]string `json:"metadata,omitempty"`
	Certificates *[]string          `json:"certificates,omitempty"`
}

// Description is what a server's is set to; nil text is none.
type Description struct {
	Text *string `json:"text"`
}

// Over gives the spec of a server that is rebuilt so.
func (r Rebuild) Over(spec ServerSpec) ServerSpec {
	if spec.ImageID != "" {
		spec.ImageID = r.ImageID
	}
	spec.ImageProperties = r.ImageProperties
	if r.Name != nil {
		spec.Name = *r.Name
	}
	if r.Hostname != nil {
		spec.Hostname = *r.Hostname
	}
	return spec
}

// PrepareImageIn has a host get ready the image that a guest is rebuilt from.
type PrepareImageIn struct {
	Token Token      `json:"token"`
	Spec  ServerSpec `json:"spec"`
}

// RebuildIn makes a guest's disks anew; its ports and volumes stay.
type RebuildIn struct {
	Token         Token      `json:"token"`
	Spec          ServerSpec `json:"spec"`
	KeepEphemeral bool       `json:"keep_ephemeral,omitempty"`
	// Off leaves the guest off.
	Off bool `json:"off,omitempty"`
}

var (
	libvirtPrepareImage = define(Step{Name: "libvirt.PrepareImage", Place: OnHost, StartToClose: 20 * time.Minute,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: service})
	libvirtRebuild = define(Step{Name: "libvirt.Rebuild", Place: OnHost, StartToClose: 20 * time.Minute,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: service})
)

// PrepareImage has a host get an image ready; the guest is left alone.
func (libvirtSteps) PrepareImage(ctx workflow.Context, host string, in PrepareImageIn) error {
	_, err := call[struct{}](ctx, libvirtPrepareImage, HostQueue(host), in)
	return err
}

// Rebuild makes a guest's disks anew and starts it.
func (libvirtSteps) Rebuild(ctx workflow.Context, host string, in RebuildIn) (PowerOut, error) {
	return call[PowerOut](ctx, libvirtRebuild, HostQueue(host), in)
}

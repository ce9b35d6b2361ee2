package hosts

// What hosts are told of the servers that are claimed for them.

import (
	"context"
	"encoding/json"
	"slices"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Services is what is asked of Glance and Cinder; openstack.Session is one.
type Services interface {
	ImageFile(ctx context.Context, imageID string) (openstack.ImageFile, error)
	ImageUpload(ctx context.Context, imageID string) (openstack.ImageUpload, error)
	Attachment(ctx context.Context, projectID, attachmentID string) (driver string, data json.RawMessage, err error)
}

// ConfigDrives gives the files of a server's config drive; serverdata.Source is one.
type ConfigDrives interface {
	ConfigDrive(ctx context.Context, serverID string) (map[string][]byte, error)
}

// Servers implements hostlink.Servers.
type Servers struct {
	DB       *store.DB
	Drives   ConfigDrives
	Services Services
}

var _ hostlink.Servers = (*Servers)(nil)

// server gives a server that has room on the host. One that is elsewhere isn't
// there for it.
func (s *Servers) server(ctx context.Context, hostID, serverID string) (*compute.Server, error) {
	claimed, err := compute.HasClaim(ctx, s.DB.Pool, serverID, hostID)
	if err != nil {
		return nil, err
	}
	if !claimed {
		return nil, faults.New(faults.NotFound, "InstanceNotFound", "Instance %s could not be found.", serverID)
	}
	return compute.GetServer(ctx, s.DB.Pool, "", serverID)
}

// Image tells of the image that the server is to start from: the one that a
// rescue or a rebuild names while it is at work, or else the server's own.
func (s *Servers) Image(ctx context.Context, hostID, serverID string) (hostlink.Image, error) {
	server, err := s.server(ctx, hostID, serverID)
	if err != nil {
		return hostlink.Image{}, err
	}
	id, err := compute.StartsFrom(ctx, s.DB.Pool, server)
	if err != nil {
		return hostlink.Image{}, err
	}
	if id == "" {
		return hostlink.Image{}, faults.New(faults.NotFound, "ImageNotFound", "server %s starts from no image", serverID)
	}
	return s.image(ctx, id)
}

// WantedImage tells of an image that the host is to have, and of no other: who asked
// for it has seen it in their own name.
func (s *Servers) WantedImage(ctx context.Context, hostID, imageID string) (hostlink.Image, error) {
	wanted, err := compute.WantedImages(ctx, s.DB.Pool, hostID)
	if err != nil {
		return hostlink.Image{}, err
	}
	if !slices.Contains(wanted, imageID) {
		return hostlink.Image{}, faults.New(faults.NotFound, "ImageNotFound", "image %s isn't wanted on the host", imageID)
	}
	return s.image(ctx, imageID)
}

func (s *Servers) image(ctx context.Context, id string) (hostlink.Image, error) {
	f, err := s.Services.ImageFile(ctx, id)
	return hostlink.Image{ID: id, DiskFormat: f.DiskFormat, Size: f.Size, HashAlgo: f.HashAlgo, HashValue: f.HashValue,
		Checksum: f.Checksum, URL: f.URL, Token: f.Token}, err
}

// ConfigDrive gives the files of the server's config drive.
func (s *Servers) ConfigDrive(ctx context.Context, hostID, serverID string) (hostlink.ConfigDrive, error) {
	if _, err := s.server(ctx, hostID, serverID); err != nil {
		return hostlink.ConfigDrive{}, err
	}
	files, err := s.Drives.ConfigDrive(ctx, serverID)
	return hostlink.ConfigDrive{Files: files}, err
}

// Volumes gives the connections of the server's attachments, of a volume that is to
// take another's place too.
func (s *Servers) Volumes(ctx context.Context, hostID, serverID string) (hostlink.Volumes, error) {
	server, err := s.server(ctx, hostID, serverID)
	if err != nil {
		return hostlink.Volumes{}, err
	}
	devices, err := compute.BlockDevices(ctx, s.DB.Pool, serverID)
	if err != nil {
		return hostlink.Volumes{}, err
	}
	answer := hostlink.Volumes{Connections: []hostlink.Connection{}}
	add := func(volumeID, attachmentID string) (err error) {
		c := hostlink.Connection{VolumeID: volumeID}
		if c.DriverType, c.Data, err = s.Services.Attachment(ctx, server.ProjectID, attachmentID); err == nil {
			answer.Connections = append(answer.Connections, c)
		}
		return err
	}
	for _, d := range devices {
		if d.IsVolume() && d.AttachmentID != "" {
			if err := add(d.VolumeID, d.AttachmentID); err != nil {
				return hostlink.Volumes{}, err
			}
		}
		if d.Swap.AttachmentID != "" && !d.Swap.Replaced {
			if err := add(d.Swap.VolumeID, d.Swap.AttachmentID); err != nil {
				return hostlink.Volumes{}, err
			}
		}
	}
	return answer, nil
}

// Upload tells where the image belongs that is being made of the server, and
// shows that it is on its way there.
func (s *Servers) Upload(ctx context.Context, hostID, serverID string) (hostlink.Upload, error) {
	if _, err := s.server(ctx, hostID, serverID); err != nil {
		return hostlink.Upload{}, err
	}
	text, err := compute.InputOfHolder(ctx, s.DB.Pool, serverID)
	if err != nil {
		return hostlink.Upload{}, err
	}
	var asked steps.ImageInput
	if err := json.Unmarshal(text, &asked); err != nil || asked.ImageID == "" {
		return hostlink.Upload{}, faults.Wrap(err, faults.NotFound, "NoImage", "no image is being made of server %s", serverID)
	}
	to, err := s.Services.ImageUpload(ctx, asked.ImageID)
	if err != nil {
		return hostlink.Upload{}, err
	}
	return hostlink.Upload{ImageID: asked.ImageID, Active: to.Active, URL: to.URL, Token: to.Token}, compute.ShowUploading(ctx, s.DB.Pool, serverID)
}

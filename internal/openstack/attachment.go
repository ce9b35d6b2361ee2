package openstack

// Cinder: how an attached volume is reached.

import (
	"context"
	"encoding/json"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/attachments"

	"holdfast.dev/internal/faults"
)

// notData are the members of connection_info that stand beside the driver's data.
var notData = []string{"driver_volume_type", "attachment_id", "status"}

// Attachment gives connection_info of an attachment: the type of driver, and its
// data, which holds secrets. Cinder shows both in one object. Errors: Unavailable,
// also where it has no host yet.
func (s *Session) Attachment(ctx context.Context, projectID, attachmentID string) (driver string, data json.RawMessage, err error) {
	client, err := s.Volume(ctx, projectID)
	if err != nil {
		return "", nil, err
	}
	attachment, err := attachments.Get(ctx, client, attachmentID).Extract()
	if err != nil {
		return "", nil, faults.Wrap(err, faults.Unavailable, "CinderConnectionFailed", "Connection to cinder host failed")
	}
	info := attachment.ConnectionInfo
	driver, _ = info["driver_volume_type"].(string)
	if driver == "" {
		return "", nil, faults.New(faults.Unavailable, "VolumeNotConnected", "attachment %s is connected to no host", attachmentID)
	}
	for _, name := range notData {
		delete(info, name)
	}
	if data, err = json.Marshal(info); err != nil {
		return "", nil, faults.Wrap(err, faults.Unavailable, "CinderConnectionFailed", "what Cinder says of attachment %s can't be read", attachmentID)
	}
	return driver, data, nil
}

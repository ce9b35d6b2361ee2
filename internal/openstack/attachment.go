package openstack

// Cinder: how an attached volume is reached.

import (
	"context"
	"encoding/json"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/attachments"

	"holdfast.dev/internal/faults"
)

// Attachment gives connection_info of an attachment: the type of driver, and its
// data, which holds secrets. Errors: Unavailable.
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
	// Cinder shows the driver's data beside its type; some show it below "data".
	var content any = info
	if nested, ok := info["data"].(map[string]any); ok {
		content = nested
	}
	data, err = json.Marshal(content)
	if err != nil {
		return "", nil, faults.Wrap(err, faults.Unavailable, "CinderConnectionFailed", "what Cinder says of attachment %s can't be read", attachmentID)
	}
	return driver, data, nil
}

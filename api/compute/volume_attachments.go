package compute

// GET /servers/{server_id}/os-volume_attachments: which volumes a server has.

import (
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/store/compute"
)

const attachmentRule = "os_compute_api:os-volumes-attachments:"

// attachmentField is a member of an attachment; one whose value is nil is shown
// as null.
type attachmentField struct {
	name     string
	versions microversion.Range
	value    func(*compute.BlockDevice) any
}

// withIDs is the microversion that shows Cinder's id of an attachment, and its
// device's, in place of the volume's.
const withIDs = 89

// attachmentFields are all there are (contracts: response-schemas.json,
// volume_attachments; api_samples/os-volume_attachments).
var attachmentFields = []attachmentField{
	{"id", microversion.Between(1, withIDs-1), func(d *compute.BlockDevice) any { return d.VolumeID }},
	{"volumeId", microversion.From(1), func(d *compute.BlockDevice) any { return d.VolumeID }},
	{"serverId", microversion.From(1), func(d *compute.BlockDevice) any { return d.ServerID }},
	{"device", microversion.From(1), func(d *compute.BlockDevice) any { return textOrNil(d.DeviceName) }},
	{"tag", microversion.From(70), func(d *compute.BlockDevice) any { return textOrNil(d.Tag) }},
	{"delete_on_termination", microversion.From(79), func(d *compute.BlockDevice) any { return d.DeleteOnTermination }},
	{"attachment_id", microversion.From(withIDs), func(d *compute.BlockDevice) any { return d.AttachmentID }},
	{"bdm_uuid", microversion.From(withIDs), func(d *compute.BlockDevice) any { return d.ID }},
}

func textOrNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// listAttachments answers a page of them.
func (a *API) listAttachments(r *rest.Request) (*rest.Response, error) {
	devices, err := a.attachmentsOf(r, attachmentRule+"index")
	if err != nil {
		return nil, err
	}
	limit, err := pageSize(r.Query, a.MaxPageSize)
	if err != nil {
		return nil, err
	}
	offset, err := pageOffset(r.Query)
	if err != nil {
		return nil, err
	}
	if limit == 0 {
		limit = a.MaxPageSize
	}
	devices = devices[min(offset, len(devices)):]
	shown := []map[string]any{}
	for _, d := range devices[:min(limit, len(devices))] {
		shown = append(shown, attachmentView(r, d))
	}
	return rest.JSON(map[string]any{"volumeAttachments": shown}), nil
}

// showAttachment looks one up by its volume.
func (a *API) showAttachment(r *rest.Request) (*rest.Response, error) {
	devices, err := a.attachmentsOf(r, attachmentRule+"show")
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(devices, func(d *compute.BlockDevice) bool { return d.VolumeID == r.Param("id") })
	if i < 0 {
		return nil, faults.New(faults.NotFound, "VolumeBDMNotFound", "Instance %s is not attached to volume %s", r.Param("server_id"), r.Param("id"))
	}
	return rest.JSON(map[string]any{"volumeAttachment": attachmentView(r, devices[i])}), nil
}

// attachmentsOf are the volumes of the request's server: those that have an
// attachment, and before its id was shown also those that are about to.
func (a *API) attachmentsOf(r *rest.Request, rule string) ([]*compute.BlockDevice, error) {
	server, err := a.serverOf(r, rule)
	if err != nil || !server.HasDevices {
		return nil, err
	}
	devices, err := compute.BlockDevices(r.Context(), a.DB.Pool, server.ID)
	return slices.DeleteFunc(devices, func(d *compute.BlockDevice) bool {
		return d.VolumeID == "" || d.AttachmentID == "" && r.Has(withIDs)
	}), err
}

func attachmentView(r *rest.Request, d *compute.BlockDevice) map[string]any {
	shown := map[string]any{}
	for _, f := range attachmentFields {
		// Only a device without a name is left out.
		if value := f.value(d); f.versions.Has(r.Version) && (value != nil || f.name != "device") {
			shown[f.name] = value
		}
	}
	return shown
}

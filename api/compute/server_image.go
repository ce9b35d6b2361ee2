package compute

// POST /servers/{id}/action createImage and createBackup: the image is made in
// Glance in the caller's name, then the operation that fills it is accepted.

import (
	"context"
	"log/slog"
	"maps"
	"strconv"

	"github.com/google/uuid"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

const (
	policyCreateImage        = "os_compute_api:servers:create_image"
	policyCreateImageVolumes = "os_compute_api:servers:create_image:allow_volume_backed"
	policyCreateBackup       = "os_compute_api:os-create-backup"
)

// imageable are the states of a server of which an image may be made.
var imageable = []servers.VMState{servers.VMActive, servers.VMStopped, servers.VMPaused, servers.VMSuspended}

var (
	createImage = powerAction{"createImage", policyCreateImage, operations.ServerCreateImage, servers.TaskImageSnapshotPending, precondition{
		name: "createImage", vmStates: imageable, taskStates: idle, launched: true}}
	createBackup = powerAction{"createBackup", policyCreateBackup, operations.ServerCreateBackup, servers.TaskImageBackup, precondition{
		name: "createBackup", vmStates: imageable, taskStates: idle, launched: true}}
)

const (
	// imageIDSince is the microversion whose answers name the image in their body.
	imageIDSince = 45
	// imageMetadataFree is the one from which the quota of metadata doesn't bound
	// what images are given.
	imageMetadataFree = 39
)

// imageRequest is the body of either action.
type imageRequest struct {
	Name       string            `json:"name"`
	Metadata   map[string]string `json:"metadata"`
	BackupType string            `json:"backup_type"`
	Rotation   whole             `json:"rotation"`
}

func (a *API) createImage(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[imageRequest](r, createImage.key)
	if err != nil {
		return nil, err
	}
	made, err := a.makeImage(r, createImage, asked)
	if err != nil || r.Has(imageIDSince) {
		return made.answer(), err
	}
	return (&rest.Response{}).WithHeader("Location", made.location), nil
}

func (a *API) createBackup(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[imageRequest](r, createBackup.key)
	if err != nil {
		return nil, err
	}
	made, err := a.makeImage(r, createBackup, asked)
	if err != nil || r.Has(imageIDSince) {
		return made.answer(), err
	}
	if asked.Rotation == 0 {
		return nil, nil
	}
	return (&rest.Response{}).WithHeader("Location", r.Link("images", made.ImageID)), nil
}

// imaging is the image of one request.
type imaging struct {
	steps.ImageInput
	// location is where Glance has it, member the project that it is shared with.
	location, member string
}

func (i *imaging) answer() *rest.Response {
	if i == nil {
		return nil
	}
	return rest.JSON(map[string]any{"image_id": i.ImageID})
}

// makeImage makes the image and accepts the action's operation. If that isn't
// accepted, the image goes again.
func (a *API) makeImage(r *rest.Request, action powerAction, asked *imageRequest) (*imaging, error) {
	made, document, err := a.planImage(r, action, asked)
	if err != nil {
		return nil, err
	}
	if err := a.createImageOf(r, made, document); err != nil {
		return nil, err
	}
	accepted, err := a.acceptImage(r, action, made)
	if err != nil {
		a.dropImage(r, made.ImageID)
		return nil, err
	}
	a.offer(accepted)
	return made, nil
}

// createImageOf makes the image in Glance, where it waits for its data.
func (a *API) createImageOf(r *rest.Request, made *imaging, document map[string]any) (err error) {
	if !a.reachable(r.Identity) {
		return faults.New(faults.Unavailable, "GlanceConnectionFailed", "Connection to glance host failed")
	}
	made.location, err = a.Neighbours.CreateImage(r.Context(), r.Identity, document, made.member)
	return err
}

// newImaging is an image of the caller's.
func newImaging(who rest.Identity, name string) *imaging {
	return &imaging{ImageInput: steps.ImageInput{ImageID: uuid.NewString(), Name: name, Owner: who.ProjectID}}
}

// planImage checks the request and says what image is to be made.
func (a *API) planImage(r *rest.Request, action powerAction, asked *imageRequest) (*imaging, map[string]any, error) {
	server, err := a.serverOf(r, action.policy)
	if err != nil {
		return nil, nil, err
	}
	if err := a.fewProperties(r, asked.Metadata); err != nil {
		return nil, nil, err
	}
	devices, err := compute.BlockDevices(r.Context(), a.DB.Pool, server.ID)
	if err != nil {
		return nil, nil, err
	}
	made := newImaging(r.Identity, asked.Name)
	made.BackupType, made.Rotation = asked.BackupType, int(asked.Rotation)
	for _, d := range devices {
		made.OfVolumes = made.OfVolumes || d.IsVolume() && d.Boots()
	}
	if made.OfVolumes && action.key == createImage.key {
		if err := r.Enforce(policyCreateImageVolumes, serverTarget(server)); err != nil {
			return nil, nil, err
		}
	}
	if err := action.check(r, server); err != nil {
		return nil, nil, err
	}
	if made.OfVolumes && action.key == createBackup.key {
		return nil, nil, faults.New(faults.Invalid, "InvalidRequest", "Backup is not supported for volume-backed instances.")
	}
	return made, made.document(r.Identity, server, asked.Metadata), nil
}

// fewProperties holds the image's properties against the quota of metadata.
func (a *API) fewProperties(r *rest.Request, metadata map[string]string) error {
	if r.Has(imageMetadataFree) || len(metadata) == 0 {
		return nil
	}
	limits, err := compute.Limits(r.Context(), a.DB.Pool, r.Identity.ProjectID)
	if err != nil {
		return err
	}
	if most := limits["metadata_items"]; most >= 0 && int64(len(metadata)) > most {
		return faults.New(faults.Forbidden, "MetadataLimitExceeded", "Image metadata limit exceeded")
	}
	return nil
}

// notInherited are properties of a server's image that its own images haven't
// (contracts: image-properties.json; non_inheritable_image_properties).
var notInherited = []string{"cache_in_nova", "bittorrent", "cinder_encryption_key_id", "cinder_encryption_key_deletion_policy",
	"img_signature", "img_signature_hash_method", "img_signature_key_type", "img_signature_certificate_uuid",
	"mappings", "block_device_mapping", "img_mappings", "img_block_device_mapping", "owner", "min_disk", "min_ram", "disk_format", "container_format"}

// ofVolumes are those that one of a server that boots from a volume gets anew.
var ofVolumes = []string{"block_device_mapping", "bdm_v2", "root_device_name"}

// document is the image as Glance is asked to make it. A root disk is copied to
// a qcow2 file; an image of volumes has no data, and the same form.
func (i *imaging) document(who rest.Identity, server *compute.Server, metadata map[string]string) map[string]any {
	properties := maps.Clone(server.ImageProperties)
	if properties == nil {
		properties = map[string]string{}
	}
	for _, name := range notInherited {
		delete(properties, name)
	}
	if server.ImageID != "" {
		properties["base_image_ref"] = server.ImageID
	}
	visibility := "private"
	if who.ProjectID != server.ProjectID {
		visibility, i.member = "shared", server.ProjectID
	}
	if i.OfVolumes {
		maps.Copy(properties, metadata)
		for _, name := range ofVolumes {
			delete(properties, name)
		}
	} else {
		properties["instance_uuid"], properties["user_id"], properties["image_type"] = server.ID, who.UserID, "snapshot"
		maps.Copy(properties, metadata)
	}
	if i.BackupType != "" {
		properties["image_type"], properties["backup_type"] = "backup", i.BackupType
	}
	document := map[string]any{}
	for name, value := range properties {
		document[name] = value
	}
	minDisk, _ := strconv.ParseInt(server.ImageProperties["min_disk"], 10, 64) // what isn't a number asks for nothing
	minRAM, _ := strconv.ParseInt(server.ImageProperties["min_ram"], 10, 64)
	maps.Copy(document, map[string]any{"id": i.ImageID, "name": i.Name, "visibility": visibility, "disk_format": "qcow2", "container_format": "bare",
		"min_disk": max(minDisk, server.Flavor.RootGB), "min_ram": minRAM})
	return document
}

// acceptImage is the promise: task and operation in one transaction, and the
// image in the operation's ledger.
func (a *API) acceptImage(r *rest.Request, action powerAction, made *imaging) (accepted engine.Accepted, err error) {
	err = a.onServer(r, action.policy, func(tx store.Tx, server *compute.Server) error {
		if err := action.check(r, server); err != nil {
			return err
		}
		accepted, err = a.accept(r, tx, action.kind, server, made.ImageInput,
			operations.Effect{Kind: operations.EffectImage, Ref: made.ImageID, State: operations.Done})
		if err != nil {
			return err
		}
		return compute.SetTask(r.Context(), tx, server.ID, action.task)
	})
	return accepted, err
}

// dropImage deletes an image that nothing was accepted for, whether or not the
// caller still waits.
func (a *API) dropImage(r *rest.Request, imageID string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), openstack.CallTimeout)
	defer cancel()
	if err := a.Neighbours.DeleteImage(ctx, r.Identity, imageID); err != nil && !faults.Is(err, faults.NotFound) {
		slog.WarnContext(ctx, "an image stays behind", "image", imageID, "error", err)
	}
}

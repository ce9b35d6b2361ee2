package compute

// The action rebuild: a server's disks are made anew, from another image or from
// the same; what it is called and what its guest is told may change with them.

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

const (
	policyRebuild             = "os_compute_api:servers:rebuild"
	policyRebuildCertificates = "os_compute_api:servers:rebuild:trusted_certs"
)

var rebuildable = precondition{name: "rebuild", vmStates: []servers.VMState{servers.VMActive, servers.VMStopped, servers.VMError},
	taskStates: idle, launched: true, unlocked: true}

// Microversions: since when the answer shows the key and the user data, and since
// when a volume that the server boots from is filled anew.
const (
	rebuildShowsKey      = 54
	rebuildShowsUserData = 57
	rebuildOfVolumes     = 93
)

// rebuildRequest is the body; what isn't sent stays.
type rebuildRequest struct {
	ImageRef      string             `json:"imageRef"`
	Name          *string            `json:"name"`
	AdminPass     string             `json:"adminPass"`
	Metadata      *map[string]string `json:"metadata"`
	KeepEphemeral truth              `json:"preserve_ephemeral"`
	DiskConfig    *string            `json:"OS-DCF:diskConfig"`
	AccessIPv4    *string            `json:"accessIPv4"`
	AccessIPv6    *string            `json:"accessIPv6"`
	Personality   []fileRequest      `json:"personality"`
	Description   json.RawMessage    `json:"description"`
	KeyName       json.RawMessage    `json:"key_name"`
	UserData      json.RawMessage    `json:"user_data"`
	Certificates  json.RawMessage    `json:"trusted_image_certificates"`
	Hostname      *string            `json:"hostname"`
}

// rebuilding is a request whose parts have been looked up.
type rebuilding struct {
	steps.Rebuild
	asked *rebuildRequest
	// files and userData are the guest's; key is the pair that is asked for.
	files createRequest
	key   *compute.Keypair
	boot  compute.BootData
}

// rebuild asks Glance and Cinder first, outside of any transaction, and looks at
// the server again when it accepts. The row changes when the guest has.
func (a *API) rebuild(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[rebuildRequest](r, "rebuild")
	if err != nil {
		return nil, err
	}
	plan, err := a.planRebuild(r, asked)
	if err != nil {
		return nil, err
	}
	var accepted engine.Accepted
	var server *compute.Server
	err = a.onServer(r, policyRebuild, func(tx store.Tx, s *compute.Server) error {
		if err := rebuildable.check(r, s); err != nil {
			return err
		}
		limits, err := compute.Limits(r.Context(), tx, r.Identity.ProjectID)
		if err != nil {
			return err
		}
		if asked.Metadata != nil {
			if err := fewEnough(*asked.Metadata, limits["metadata_items"]); err != nil {
				return err
			}
		}
		if err := plan.files.checkFiles(limits); err != nil {
			return err
		}
		if err := a.tellNext(r, tx, s, plan); err != nil {
			return err
		}
		if accepted, err = a.accept(r, tx, operations.ServerRebuild, s, plan.Rebuild); err != nil {
			return err
		}
		if err := compute.SetTask(r.Context(), tx, s.ID, servers.TaskRebuilding); err != nil {
			return err
		}
		server, err = compute.GetServer(r.Context(), tx, "", s.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	a.offer(accepted)
	return a.showRebuilt(r, compute.Rebuilt(server, plan.Rebuild), plan.boot)
}

// planRebuild checks the request in the original's order.
func (a *API) planRebuild(r *rest.Request, asked *rebuildRequest) (*rebuilding, error) {
	server, err := a.serverOf(r, policyRebuild)
	if err != nil {
		return nil, err
	}
	if asked.Certificates != nil {
		if err := r.Enforce(policyRebuildCertificates, serverTarget(server)); err != nil {
			return nil, err
		}
	}
	if err := rebuildable.check(r, server); err != nil {
		return nil, err
	}
	plan := &rebuilding{asked: asked, Rebuild: steps.Rebuild{KeepEphemeral: bool(asked.KeepEphemeral), Name: asked.Name, Hostname: asked.Hostname,
		DiskConfig: asked.DiskConfig, AccessIPv4: asked.AccessIPv4, AccessIPv6: asked.AccessIPv6, Metadata: asked.Metadata}}
	if err := plan.read(); err != nil {
		return nil, err
	}
	if err := a.rebuildKey(r, plan); err != nil {
		return nil, err
	}
	return plan, a.rebuildFrom(r, server, plan)
}

// read takes what may be sent as null out of the body.
func (p *rebuilding) read() error {
	if p.asked.Description != nil {
		p.Description = new(steps.Description)
		if err := json.Unmarshal(p.asked.Description, &p.Description.Text); err != nil {
			return notOfType("description", p.asked.Description, "string', 'null")
		}
	}
	if p.asked.Certificates != nil {
		ids := []string{}
		if err := json.Unmarshal(p.asked.Certificates, &ids); err != nil {
			return notOfType("trusted_image_certificates", p.asked.Certificates, "array', 'null")
		}
		ids = append([]string{}, ids...)
		p.Certificates = &ids
	}
	p.files = createRequest{Personality: p.asked.Personality, UserData: textOrNone(p.asked.UserData)}
	var err error
	p.boot, err = p.files.bootData(cmp.Or(p.asked.AdminPass, newPassword()))
	return err
}

// rebuildKey finds the caller's keypair.
func (a *API) rebuildKey(r *rest.Request, p *rebuilding) error {
	if p.KeyName = textOrNone(p.asked.KeyName); p.KeyName == nil || *p.KeyName == "" {
		return nil
	}
	var err error
	p.key, err = a.keypairOf(r, *p.KeyName)
	return err
}

// rebuildFrom checks the image against the server, and its volumes.
func (a *API) rebuildFrom(r *rest.Request, server *compute.Server, p *rebuilding) error {
	p.ImageID, p.ImageProperties = p.asked.ImageRef, server.ImageProperties
	var root *compute.BlockDevice
	if server.ImageID == "" {
		var err error
		if root, err = a.rebuiltVolume(r, server, p); err != nil {
			return err
		}
	}
	if !a.reachable(r.Identity) {
		return nil
	}
	image, err := a.Neighbours.Image(r.Context(), r.Identity, p.asked.ImageRef)
	switch {
	case faults.Is(err, faults.NotFound):
		return faults.New(faults.Invalid, "ImageNotFound", "Cannot find image for rebuild")
	case err != nil:
		return err
	}
	p.ImageProperties = image.Properties
	if err := fits(image, &server.Flavor, root); err != nil {
		return err
	}
	if image.ID != server.ImageID {
		if err := staysOnCells(server, image.Properties); err != nil {
			return err
		}
	}
	return a.volumesInUse(r, server, faults.Invalid)
}

// rebuiltVolume is the volume that a server boots from: it is filled anew, or, before
// the original did so, left as it is, so that only the image which it was made of can
// be asked for.
func (a *API) rebuiltVolume(r *rest.Request, server *compute.Server, p *rebuilding) (*compute.BlockDevice, error) {
	if p.Certificates != nil && len(*p.Certificates) > 0 {
		return nil, faults.New(faults.Invalid, "CertificateValidationFailed", "Image certificate validation is not supported for volume-backed servers.")
	}
	devices, err := compute.BlockDevices(r.Context(), a.DB.Pool, server.ID)
	if err != nil {
		return nil, err
	}
	different := faults.New(faults.Invalid, "ImageUnacceptable",
		"Image %s is unacceptable: Unable to rebuild with a different image for a volume-backed server.", p.asked.ImageRef)
	at := slices.IndexFunc(devices, func(d *compute.BlockDevice) bool { return d.IsVolume() && d.Boots() })
	if at < 0 || !a.reachable(r.Identity) {
		return nil, different
	}
	p.ImageID = ""
	if r.Has(rebuildOfVolumes) {
		p.VolumeID, p.VolumeImage = devices[at].VolumeID, p.asked.ImageRef
		return devices[at], nil
	}
	volume, err := a.Neighbours.Volume(r.Context(), r.Identity, devices[at].VolumeID)
	if err == nil && volume.Image().ID != p.asked.ImageRef {
		err = different
	}
	return devices[at], err
}

// tellNext seals what the guest is told once it is anew: user data and key are
// what they were where the request names none.
func (a *API) tellNext(r *rest.Request, tx store.Tx, server *compute.Server, p *rebuilding) error {
	was, err := compute.GetBootData(r.Context(), tx, a.Secrets, server.ID)
	if err != nil && !faults.Is(err, faults.NotFound) {
		return err
	}
	if p.asked.UserData == nil {
		p.boot.UserData = was.UserData
	}
	switch {
	case p.KeyName == nil:
		p.boot.KeyName, p.boot.KeyType, p.boot.KeyData = was.KeyName, was.KeyType, was.KeyData
	case p.key != nil:
		p.boot.KeyName, p.boot.KeyType, p.boot.KeyData = p.key.Name, p.key.Type, p.key.PublicKey
	}
	return compute.SetNextBootData(r.Context(), tx, a.Secrets, server.ID, p.boot)
}

// showRebuilt is the answer: the server as it will be.
func (a *API) showRebuilt(r *rest.Request, server *compute.Server, boot compute.BootData) (*rest.Response, error) {
	shown, err := a.showChanged(r, server)
	if err != nil {
		return nil, err
	}
	delete(shown, "OS-EXT-SRV-ATTR:user_data")
	shown["adminPass"] = boot.AdminPassword
	if r.Has(rebuildShowsKey) {
		shown["key_name"] = server.KeyName
	}
	if r.Has(rebuildShowsUserData) {
		shown["user_data"] = nil
		if boot.UserData != nil {
			shown["user_data"] = base64.StdEncoding.EncodeToString(boot.UserData)
		}
	}
	return rest.JSON(map[string]any{"server": shown}).WithHeader("Location", r.Link("servers", server.ID)), nil
}

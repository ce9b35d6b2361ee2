package baremetal

// PUT /nodes/{node}/states/provision: active, deploy and rebuild, which write an image to
// a node's disk.

import (
	"encoding/json"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// Versions since which config drives may be more.
const (
	driveOfObjectSince = 56
	driveVendorSince   = 59
	driveRebuildSince  = 35
)

// base64Letters are those of a config drive's text.
const base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\n"

// mayDrive says whether the request may bring the config drive that it brings.
func mayDrive(r *rest.Request, all *asked) error {
	refuse := func(format string, args ...any) error {
		return faults.New(faults.Invalid, "ClientSideError", format, args...)
	}
	if all.configDrive == nil {
		return nil
	}
	allowed := []string{string(provision.VerbActive)}
	if r.At(v(driveRebuildSince)) {
		allowed = append(allowed, string(provision.VerbRebuild))
	}
	if !slices.Contains(allowed, string(all.verb)) {
		return refuse("Adding a config drive is only supported when setting provision state to %s", strings.Join(allowed, ", "))
	}
	switch drive := all.configDrive.(type) {
	case *pyjson.Object:
		if err := driveObject(drive); err != nil {
			return err
		}
		if !r.At(v(driveOfObjectSince)) {
			return refuse("Providing a JSON object for configdrive is only supported starting with API version 1.%d", driveOfObjectSince)
		}
		if _, given := drive.Get("vendor_data"); given && !r.At(v(driveVendorSince)) {
			return refuse("Providing vendor_data in configdrive is only supported starting with API version 1.%d", driveVendorSince)
		}
	case string:
		if !strings.Contains(drive, "://") && strings.Trim(drive, base64Letters) != "" {
			return refuse("Invalid configdrive format: it is neither a JSON, nor a URL, nor a base64 string")
		}
	}
	return nil
}

// driveObject checks what a config drive is made of.
func driveObject(drive *pyjson.Object) error {
	for _, key := range drive.Keys() {
		value, _ := drive.Get(key)
		_, object := value.(*pyjson.Object)
		_, list := value.([]any)
		_, text := value.(string)
		ok := value == nil || object
		switch key {
		case "meta_data", "network_data", "vendor_data":
		case "user_data":
			ok = ok || list || text
		default:
			return faults.New(faults.Invalid, "ClientSideError", "Invalid configdrive format: Additional properties are not allowed ('%s' was unexpected)", key)
		}
		if !ok {
			return faults.New(faults.Invalid, "ClientSideError", "Invalid configdrive format: %s is not valid under any of the given schemas", printed(value))
		}
	}
	return nil
}

// seen is an image of Glance that the caller has asked for, and what is wrong with it.
type seen struct {
	id    string
	wrong error
}

// seeImage asks Glance for the image of a node that is to be deployed, in the caller's own
// name: conductors see more than callers do. Errors: those of the node.
func (a *API) seeImage(r *rest.Request, all *asked) error {
	if a.Images == nil || all.verb != provision.VerbActive && all.verb != provision.VerbDeploy && all.verb != provision.VerbRebuild {
		return nil
	}
	n, err := a.node(r, a.DB.Pool, "baremetal:node:set_provision_state")
	if err != nil || !nodes.Ramdisk(n) {
		return err
	}
	instance, err := nodes.InstanceInfo(a.Secrets, n)
	if err != nil {
		return err
	}
	if all.image.id = instance.GlanceImage(); all.image.id != "" {
		all.image.wrong = a.judgeImage(r, instance, all.image.id)
	}
	return nil
}

// judgeImage says whether an image of Glance can be deployed by the caller. Errors:
// Invalid, Unavailable.
func (a *API) judgeImage(r *rest.Request, instance nodes.Info, id string) error {
	image, err := a.Images.Image(r.Context(), r.Identity, id)
	switch {
	case faults.Is(err, faults.NotFound):
		return invalid("Image %s can not be found.", id)
	case err != nil:
		return err
	case image.Status != "active":
		return faults.New(faults.Invalid, "ImageUnacceptable", "Image %s is unacceptable: The image is required to be in an active state.", id)
	}
	properties := map[string]any{}
	for name, value := range image.Properties {
		properties[name] = value
	}
	if err := instance.FitsImage(properties); err != nil {
		return err
	}
	return instance.FitsMemory(image.Properties["disk_format"], image.SizeBytes)
}

// fits says whether that is the image of a node. Errors: those that it was seen with, and
// Conflict: the node has another one by now.
func (s seen) fits(a *API, n *baremetal.Node) error {
	if a.Images == nil || !nodes.Ramdisk(n) {
		return nil
	}
	instance, err := nodes.InstanceInfo(a.Secrets, n)
	if err != nil {
		return err
	}
	if id := instance.GlanceImage(); id != s.id {
		return faults.New(faults.Conflict, "ClientSideError", "The image of node %s was changed meanwhile; try again", n.UUID)
	}
	return s.wrong
}

// LesseeSource says who the lessee is of a node that is deployed and has none.
type LesseeSource string

const (
	// LesseeOfInstance: the project that instance_info names.
	LesseeOfInstance LesseeSource = "instance"
	// LesseeOfRequest: that of the request.
	LesseeOfRequest LesseeSource = "request"
)

// deploy has an image written to a node, rebuild to one that has an instance.
func deploy(a *API, r *rest.Request, tx store.Tx, n *baremetal.Node, all *asked) (begun, error) {
	accepted, err := a.deploys(r, tx, n, all, provision.EventDeploy, operations.NodeDeploy)
	if err != nil {
		return accepted, err
	}
	return accepted, a.lends(r, tx, n)
}

// lends gives a node its lessee, if there is somebody to be that.
func (a *API) lends(r *rest.Request, tx store.Tx, n *baremetal.Node) error {
	project := ""
	switch a.Lessees {
	case LesseeOfRequest:
		project = r.Identity.ProjectID
	case LesseeOfInstance:
		var instance map[string]any
		if err := json.Unmarshal(n.InstanceInfo, &instance); err != nil {
			return err
		}
		project, _ = instance["project_id"].(string)
	}
	if project == "" {
		return nil
	}
	return baremetal.Lend(r.Context(), tx, n.UUID, project)
}

func rebuild(a *API, r *rest.Request, tx store.Tx, n *baremetal.Node, all *asked) (begun, error) {
	if n.Protected {
		return begun{}, isProtected(n)
	}
	return a.deploys(r, tx, n, all, provision.EventRebuild, operations.NodeRebuild)
}

// deploys checks what the image is said to be and by which steps it is to be written,
// keeps the config drive with the node and has the image written. A rebuild without a
// config drive has the one that is there.
func (a *API) deploys(r *rest.Request, tx store.Tx, n *baremetal.Node, all *asked, event provision.Event, kind operations.Kind) (begun, error) {
	if n.Maintenance {
		return begun{}, faults.New(faults.Invalid, "NodeInMaintenance", "The %s operation can't be performed on node %s because it's in maintenance mode.", "provisioning", n.UUID)
	}
	given, err := readSteps(provision.PhaseDeploy, all.deploySteps)
	if err != nil {
		return begun{}, err
	}
	err = a.mayDeploy(r, tx, n)
	if err == nil {
		err = all.image.fits(a, n)
	}
	var due []provision.Step
	if err == nil {
		due, err = a.deployment(r, tx, n, given)
	}
	if err != nil {
		f := faults.As(err)
		return begun{}, faults.Wrap(err, f.Kind, "InstanceDeployFailure", "Failed to validate deploy or power info for node %s: %s", n.UUID, f.Message)
	}
	known := map[string]any{provision.PhaseDeploy.List(): nodes.StoredSteps(due)}
	if len(given) > 0 {
		known[provision.PhaseDeploy.Given()] = nodes.StoredWanted(given)
	}
	accepted, err := a.steps(r, tx, n, known, event, provision.None, kind, steps.CleanInput{})
	if err != nil || all.configDrive == nil {
		return accepted, err
	}
	return accepted, a.keepDrive(r, tx, n.UUID, all.configDrive)
}

// mayDeploy says whether the node's drivers can write the image that its row names.
func (a *API) mayDeploy(r *rest.Request, q store.Queryer, n *baremetal.Node) error {
	if err := nodes.MayPower(a.Secrets, n, provision.PowerOn); err != nil {
		return err
	}
	switch name := word(n.DeployInterface); name {
	case "fake":
		return nil
	case "direct", "autodetect":
	default:
		return faults.New(faults.Invalid, "InvalidParameterValue", "this release has no deploy interface \"%s\"", name)
	}
	if !nodes.BootsRamdisk(n) {
		return faults.New(faults.Invalid, "InvalidParameterValue", "this release deploys by no boot interface \"%s\"", nodes.BootInterface(n))
	}
	if err := a.knownByPort(r, q, n); err != nil {
		return err
	}
	instance, err := nodes.InstanceInfo(a.Secrets, n)
	if err != nil {
		return err
	}
	return instance.MayDeploy()
}

// deployment are the steps of a deployment of a node, as far as they are known before its
// ramdisk was asked; given are those of the request. Errors: Invalid.
func (a *API) deployment(r *rest.Request, q store.Queryer, n *baremetal.Node, given []provision.Wanted) ([]provision.Step, error) {
	ramdisk := provision.RamdiskAsked // without one there is nobody else to ask
	if nodes.Ramdisk(n) {
		ramdisk = provision.RamdiskLater
	}
	return nodes.Deployment(r.Context(), q, a.Secrets, n, nil, ramdisk, given)
}

// keepDrive has the node's instance_info have a config drive, which is a secret.
func (a *API) keepDrive(r *rest.Request, tx store.Tx, id string, drive any) error {
	n, err := baremetal.Nodes.Find(r.Context(), tx, id, false)
	if err != nil {
		return err
	}
	value, err := a.revealed(n, "instance_info")
	if err != nil {
		return err
	}
	info, ok := value.(*pyjson.Object)
	if !ok {
		info = &pyjson.Object{}
	}
	info.Set("configdrive", drive)
	after := *n
	if after.InstanceInfo, err = json.Marshal(info); err != nil {
		return err
	}
	if err := nodes.Conceal(a.Secrets, &after, n); err != nil {
		return err
	}
	return baremetal.Nodes.Update(r.Context(), tx, &after)
}

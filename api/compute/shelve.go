package compute

// The actions shelve, shelveOffload and unshelve.

import (
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
	policyShelve         = "os_compute_api:os-shelve:shelve"
	policyShelveOffload  = "os_compute_api:os-shelve:shelve_offload"
	policyUnshelve       = "os_compute_api:os-shelve:unshelve"
	policyUnshelveToHost = "os_compute_api:os-shelve:unshelve_to_host"
)

var (
	shelve = powerAction{"shelve", policyShelve, operations.ServerShelve, servers.TaskShelving, precondition{
		name: "shelve", vmStates: imageable, taskStates: idle, launched: true, unlocked: true}}
	shelveOffload = powerAction{"shelveOffload", policyShelveOffload, operations.ServerShelveOffload, servers.TaskShelvingOffloading, precondition{
		name: "shelveOffload", vmStates: []servers.VMState{servers.VMShelved}, taskStates: idle, launched: true, unlocked: true}}
	unshelve = powerAction{"unshelve", policyUnshelve, operations.ServerUnshelve, servers.TaskUnshelving, precondition{
		name: "unshelve", vmStates: []servers.VMState{servers.VMShelved, servers.VMShelvedOffloaded}, taskStates: idle, launched: true, unlocked: true}}
)

// shelve makes the image that the server starts from later, and accepts the
// operation that fills it. One that boots from a volume needs none, and leaves
// its host at once.
func (a *API) shelve(r *rest.Request) (*rest.Response, error) {
	server, err := compute.GetServer(r.Context(), a.DB.Pool, r.Identity.Scope(), r.Param("id"))
	if err != nil {
		return nil, err
	}
	if err := r.Enforce(policyShelve, serverTarget(server)); err != nil {
		return nil, err
	}
	if err := shelve.check(r, server); err != nil {
		return nil, err
	}
	devices, err := compute.BlockDevices(r.Context(), a.DB.Pool, server.ID)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(devices, func(d *compute.BlockDevice) bool { return d.IsVolume() && d.Boots() }) {
		return nil, a.acceptShelve(r, steps.ShelveInput{Offload: true})
	}
	made := newImaging(r.Identity, server.Name+"-shelved")
	if err := a.createImageOf(r, made, made.document(r.Identity, server, nil)); err != nil {
		return nil, err
	}
	if err := a.acceptShelve(r, steps.ShelveInput{ImageInput: made.ImageInput, Offload: a.OffloadShelved}); err != nil {
		a.dropImage(r, made.ImageID)
		return nil, err
	}
	return nil, nil
}

// acceptShelve is the promise: task and operation in one transaction, and the
// image in the operation's ledger.
func (a *API) acceptShelve(r *rest.Request, asked steps.ShelveInput) error {
	var holds []operations.Effect
	if asked.ImageID != "" {
		holds = append(holds, operations.Effect{Kind: operations.EffectImage, Ref: asked.ImageID, State: operations.Done})
	}
	return a.acceptAction(r, shelve, asked, holds...)
}

// acceptAction accepts the operation of an action with what it was asked for.
func (a *API) acceptAction(r *rest.Request, action powerAction, asked any, holds ...operations.Effect) error {
	var accepted engine.Accepted
	err := a.onServer(r, action.policy, func(tx store.Tx, server *compute.Server) (err error) {
		if err := action.check(r, server); err != nil {
			return err
		}
		if accepted, err = a.accept(r, tx, action.kind, server, asked, holds...); err != nil {
			return err
		}
		return compute.SetTask(r.Context(), tx, server.ID, action.task)
	})
	if err == nil {
		a.offer(accepted)
	}
	return err
}

// unshelveZone is the microversion since which requests may name a zone; which of
// them may name a host their schemas say.
const unshelveZone = 77

// unshelve says where the server may run, and accepts the operation.
func (a *API) unshelve(r *rest.Request) (*rest.Response, error) {
	var to steps.Destination
	if r.Has(unshelveZone) {
		asked, err := readBody[map[string]*string](r, unshelve.key)
		if err != nil {
			return nil, err
		}
		if zone, given := (*asked)["availability_zone"]; given {
			to.Zone = new(text(zone))
		}
		to.Host = text((*asked)["host"])
	}
	if err := a.checkDestination(r, to); err != nil {
		return nil, err
	}
	return nil, a.acceptAction(r, unshelve, steps.UnshelveInput{Destination: to})
}

// text is nothing for null.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// checkDestination holds a zone and a host against the server and the hosts
// there are, in the original's order.
func (a *API) checkDestination(r *rest.Request, to steps.Destination) error {
	server, err := compute.GetServer(r.Context(), a.DB.Pool, r.Identity.Scope(), r.Param("id"))
	if err != nil {
		return err
	}
	if err := r.Enforce(policyUnshelve, serverTarget(server)); err != nil {
		return err
	}
	if err := unshelve.check(r, server); err != nil || to == (steps.Destination{}) {
		return err
	}
	if server.VMState != servers.VMShelvedOffloaded {
		return faults.New(faults.Conflict, "UnshelveInstanceInvalidState", "Specifying an availability zone or a host when unshelving server \"%s\" "+
			"with status \"%s\" is not supported. The server status must be SHELVED_OFFLOADED.", server.ID, server.VMState)
	}
	zone := server.AvailabilityZone
	if to.Zone != nil {
		if zone = *to.Zone; zone != "" {
			if err := isZone(r.Context(), a.DB.Pool, zone); err != nil {
				return err
			}
		}
	}
	if to.Host == "" {
		return nil
	}
	if err := r.Enforce(policyUnshelveToHost, serverTarget(server)); err != nil {
		return err
	}
	host, err := hostNamed(r.Context(), a.DB.Pool, to.Host)
	if err == nil && zone != "" && host.AvailabilityZone != zone {
		err = faults.New(faults.Conflict, "UnshelveHostNotInAZ", "Host \"%s\" is not in the availability zone \"%s\".", to.Host, zone)
	}
	return err
}

package compute

// The action evacuate: a server whose host is down is made anew on another.

import (
	"cmp"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// evacuate allows any task: what is at work on a host that is down is taken over.
var evacuate = powerAction{"evacuate", "os_compute_api:os-evacuate", operations.ServerEvacuate, servers.TaskRebuilding, precondition{
	name: "evacuate", vmStates: []servers.VMState{servers.VMActive, servers.VMStopped, servers.VMError}, launched: true, placed: true}}

// Microversions: since when nobody says whether the disks are shared, and the
// answer has no password, and since when the guest is left off.
const (
	evacuateFindsStorage = 14
	evacuateLeavesOff    = 95
)

// evacuateRequest is the body; which of it a version has its schema says.
type evacuateRequest struct {
	Host            string  `json:"host"`
	OnSharedStorage truth   `json:"onSharedStorage"`
	AdminPass       *string `json:"adminPass"`
	Force           truth   `json:"force"`
}

// check says what doesn't hold of the request by itself, in the original's order.
func (q *evacuateRequest) check() error {
	switch {
	case bool(q.Force) && q.Host == "":
		return faults.New(faults.Invalid, "NoDestination", "Can't force to a non-provided destination")
	case bool(q.OnSharedStorage) && q.AdminPass != nil:
		return faults.New(faults.Invalid, "PasswordOnSharedStorage", "admin password can't be changed on existing disk")
	}
	return nil
}

// password is the guest's new one; none for disks that stay.
func (q *evacuateRequest) password() *string {
	switch {
	case q.AdminPass != nil:
		return q.AdminPass
	case bool(q.OnSharedStorage):
		return nil
	}
	return new(newPassword())
}

// evacuate accepts the operation: preconditions, task, migration and operation in
// one transaction.
func (a *API) evacuate(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[evacuateRequest](r, evacuate.key)
	if err != nil {
		return nil, err
	}
	server, err := a.serverOf(r, evacuate.policy)
	if err != nil {
		return nil, err
	}
	if err := asked.check(); err != nil {
		return nil, err
	}
	if err := a.checkNewHost(r, server, asked.Host); err != nil {
		return nil, err
	}
	password := asked.password()
	var accepted engine.Accepted
	err = a.onServer(r, evacuate.policy, func(tx store.Tx, server *compute.Server) (err error) {
		accepted, err = a.acceptEvacuate(r, tx, server, asked, password)
		return err
	})
	if err != nil {
		return nil, err
	}
	a.offer(accepted)
	if r.Has(evacuateFindsStorage) {
		return nil, nil
	}
	return rest.JSON(map[string]any{"adminPass": password}), nil
}

// checkNewHost refuses a host that isn't there, or that the server is on.
func (a *API) checkNewHost(r *rest.Request, server *compute.Server, name string) error {
	if name == "" {
		return nil
	}
	_, err := compute.HostByName(r.Context(), a.DB.Pool, name)
	switch {
	case faults.Is(err, faults.NotFound):
		return faults.New(faults.NotFound, "ComputeHostNotFound", "Compute host %s not found.", name)
	case err != nil:
		return err
	case server.Host != nil && server.Host.Name == name:
		return faults.New(faults.Invalid, "SameHost", "The target host can't be the same one.")
	}
	return nil
}

// acceptEvacuate is the promise. An evacuation that runs already does what is asked.
func (a *API) acceptEvacuate(r *rest.Request, tx store.Tx, server *compute.Server, asked *evacuateRequest, password *string) (engine.Accepted, error) {
	var none engine.Accepted
	if err := evacuate.check(r, server); err != nil {
		return none, err
	}
	home, err := compute.GetHost(r.Context(), tx, server.HostID)
	if err != nil {
		return none, err
	}
	if home.Up(a.HostDownAfter) {
		return none, faults.New(faults.Invalid, "ComputeServiceInUse", "Compute service of %s is still in use.", home.Name)
	}
	input := steps.EvacuateInput{Host: asked.Host, Stopped: r.Has(evacuateLeavesOff)}
	if !r.Has(evacuateFindsStorage) {
		input.OnSharedStorage = new(bool(asked.OnSharedStorage))
	}
	accepted, err := a.accept(r, tx, evacuate.kind, server, input)
	if err != nil || accepted.Meeting == operations.Join {
		return accepted, err
	}
	err = compute.StartMigration(r.Context(), tx, server, &compute.Migration{OperationID: accepted.OperationID, UserID: r.Identity.UserID,
		Type: servers.Evacuation, Status: servers.MigrationAccepted, Dest: asked.Host, New: server.Flavor, NewRoom: server.Size()})
	if err != nil {
		return none, err
	}
	if word := cmp.Or(password, new("")); *word != "" {
		if err := compute.SetAdminPassword(r.Context(), tx, a.Secrets, server.ID, *word); err != nil {
			return none, err
		}
	}
	return accepted, compute.SetTask(r.Context(), tx, server.ID, evacuate.task)
}

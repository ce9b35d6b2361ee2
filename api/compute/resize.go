package compute

// The actions resize, migrate, confirmResize and revertResize: a server gets
// another size or another host, and waits there to be confirmed or reverted.

import (
	"encoding/json"
	"slices"
	"strings"

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
	policyResize        = "os_compute_api:servers:resize"
	policyConfirmResize = "os_compute_api:servers:confirm_resize"
	policyRevertResize  = "os_compute_api:servers:revert_resize"
	policyMigrate       = "os_compute_api:os-migrate-server:migrate"
	policyMigrateTo     = "os_compute_api:os-migrate-server:migrate:host"

	// migrateTo is the microversion since which a migration may name its host.
	migrateTo = 56
)

var (
	resizable     = movable("resize")
	migratable    = movable("migrate")
	confirmable   = unconfirmed("confirmResize")
	revertable    = unconfirmed("revertResize")
	errNotResized = faults.New(faults.Invalid, "MigrationNotFound", "Instance has not been resized.")
)

// movable is what a server needs whose guest moves while it stands still.
func movable(name string) precondition {
	return precondition{name: name, vmStates: []servers.VMState{servers.VMActive, servers.VMStopped}, taskStates: idle, launched: true, placed: true, unlocked: true}
}

// unconfirmed is what one needs that has been moved.
func unconfirmed(name string) precondition {
	return precondition{name: name, vmStates: []servers.VMState{servers.VMResized}, taskStates: idle, launched: true, unlocked: true}
}

// flavorID is what a resize names its flavor by, a word or a number.
type flavorID string

// UnmarshalJSON implements json.Unmarshaler.
func (f *flavorID) UnmarshalJSON(text []byte) error {
	*f = flavorID(pyStr(text))
	return nil
}

// resizeRequest is the body of the action resize.
type resizeRequest struct {
	Flavor     flavorID `json:"flavorRef"`
	DiskConfig string   `json:"OS-DCF:diskConfig"`
}

// resize asks Glance first, outside of any transaction.
func (a *API) resize(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[resizeRequest](r, "resize")
	if err != nil {
		return nil, err
	}
	server, err := a.serverOf(r, policyResize)
	if err != nil {
		return nil, err
	}
	if err := a.canMove(r, a.DB.Pool, resizable, server); err != nil {
		return nil, err
	}
	flavor, err := a.resizedTo(r, server, asked)
	if err != nil {
		return nil, err
	}
	return nil, a.move(r, policyResize, resizable, moving{kind: operations.ServerResize, flavor: flavor, diskConfig: asked.DiskConfig,
		Resize: steps.Resize{SameHost: a.ResizeOnSameHost}})
}

// canMove checks a server that is to be moved, its host included.
func (a *API) canMove(r *rest.Request, q store.Queryer, p precondition, server *compute.Server) error {
	if err := p.check(r, server); err != nil {
		return err
	}
	return a.hostUp(r, q, server.HostID)
}

// resizedTo is the flavor that a server is to have, checked in the original's order.
func (a *API) resizedTo(r *rest.Request, server *compute.Server, asked *resizeRequest) (*compute.Flavor, error) {
	if fixed := strings.ToLower(strings.TrimSpace(server.ImageProperties["auto_disk_config"])); fixed == "disabled" && asked.DiskConfig == "AUTO" {
		return nil, faults.New(faults.Invalid, "AutoDiskConfigDisabledByImage", "Requested image %s has automatic disk resize disabled.", server.ImageID)
	}
	flavor, err := a.flavorFor(r.Context(), r.Identity.ProjectID, string(asked.Flavor))
	if err != nil {
		return nil, err
	}
	switch ofImage := server.ImageID != ""; {
	case ofImage && flavor.RootGB == 0 && server.Flavor.RootGB != 0:
		return nil, faults.New(faults.Invalid, "CannotResizeDisk", "Server disk was unable to be resized because: Resize to zero disk flavor is not allowed.")
	case flavor.ID == server.Flavor.ID && flavor.CreatedAt.Equal(server.Flavor.CreatedAt):
		return nil, faults.New(faults.Invalid, "CannotResizeToSameFlavor", "When resizing, instances must change flavor!")
	}
	if err := a.fitsItsImage(r, server, flavor); err != nil {
		return nil, err
	}
	return flavor, a.canHave(flavor, server.ImageProperties)
}

// fitsItsImage refuses a flavor that is too small for what the server was made of.
func (a *API) fitsItsImage(r *rest.Request, server *compute.Server, flavor *compute.Flavor) error {
	if server.ImageID == "" || !a.reachable(r.Identity) {
		return nil
	}
	image, err := a.Neighbours.Image(r.Context(), r.Identity, server.ImageID)
	if faults.Is(err, faults.NotFound) { // it has been deleted since; the server has what it needs of it
		return nil
	}
	if err != nil {
		return err
	}
	now := *image
	now.Status = "active"
	return fits(&now, flavor, nil)
}

// migrate moves a server in its own size.
func (a *API) migrate(r *rest.Request) (*rest.Response, error) {
	var asked struct {
		Host *string `json:"host"`
	}
	if r.Has(migrateTo) {
		body, err := readBody[json.RawMessage](r, "migrate")
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(*body, &asked); err != nil {
			return nil, invalidField("migrate", *body, "%s is not valid", rest.PyRepr(*body))
		}
	}
	rule, m := policyMigrate, moving{kind: operations.ServerMigrate}
	if asked.Host != nil && *asked.Host != "" {
		rule, m.Host = policyMigrateTo, *asked.Host
	}
	return nil, a.move(r, rule, migratable, m)
}

// moving is a move that is asked for; without a flavor the server keeps its own.
type moving struct {
	kind       operations.Kind
	flavor     *compute.Flavor
	diskConfig string
	steps.Resize
}

// migration is the move's row.
func (m moving) migration(server *compute.Server) *compute.Migration {
	row := &compute.Migration{Type: servers.Migrate, Status: servers.MigrationPreMigrating, New: server.Flavor, NewRoom: server.Size()}
	if m.flavor != nil {
		row.Type, row.New = servers.Resize, *m.flavor
		row.NewRoom = compute.Room{VCPUs: m.flavor.VCPUs, MemoryMB: m.flavor.MemoryMB, DiskGB: m.flavor.DiskGB()}
	}
	if row.NewDiskConfig = m.diskConfig; m.diskConfig == "" {
		row.NewDiskConfig = compute.DiskConfigManual
	}
	return row
}

// move accepts a move: its row, its quota and its operation are one transaction.
func (a *API) move(r *rest.Request, rule string, p precondition, m moving) error {
	var accepted engine.Accepted
	err := a.onServer(r, rule, func(tx store.Tx, server *compute.Server) error {
		if err := a.canMove(r, tx, p, server); err != nil {
			return err
		}
		if err := canGo(r, tx, server, m.Host); err != nil {
			return err
		}
		var err error
		if accepted, err = a.accept(r, tx, m.kind, server, m.Resize); err != nil {
			return err
		}
		row := m.migration(server)
		row.UserID, row.OperationID = r.Identity.UserID, accepted.OperationID
		if err := compute.StartMigration(r.Context(), tx, server, row); err != nil {
			return err
		}
		return compute.SetTask(r.Context(), tx, server.ID, servers.TaskResizePrep)
	})
	if err == nil {
		a.offer(accepted)
	}
	return err
}

// canGo checks the host that a migration names.
func canGo(r *rest.Request, tx store.Tx, server *compute.Server, name string) error {
	if name == "" {
		return nil
	}
	host, err := compute.HostByName(r.Context(), tx, name)
	switch {
	case faults.Is(err, faults.NotFound):
		return faults.New(faults.Invalid, "ComputeHostNotFound", "Compute host %s could not be found.", name)
	case err == nil && host.ID == server.HostID:
		return faults.New(faults.Invalid, "CannotMigrateToSameHost", "Cannot migrate to the host where the server exists.")
	}
	return err
}

// confirmResize needs the old host up: what is left there goes.
func (a *API) confirmResize(r *rest.Request) (*rest.Response, error) {
	return nil, a.endMove(r, policyConfirmResize, confirmable, ending{operations.ServerConfirmResize, servers.MigrationConfirming, servers.TaskNone,
		func(tx store.Tx, m *compute.Migration) error {
			if m.SourceID == "" {
				return nil
			}
			return a.hostUp(r, tx, m.SourceID)
		}})
}

func (a *API) revertResize(r *rest.Request) (*rest.Response, error) {
	return nil, a.endMove(r, policyRevertResize, revertable, ending{operations.ServerRevertResize, servers.MigrationReverting, servers.TaskResizeReverting,
		func(_ store.Tx, m *compute.Migration) error {
			if m.SourceID == "" { // it has been forgotten, and the old guest with it
				return errNotResized
			}
			return nil
		}})
}

// ending is how a move ends: the operation, what its row and its server show
// meanwhile, and what it needs.
type ending struct {
	kind   operations.Kind
	status servers.MigrationStatus
	task   servers.TaskState
	check  func(store.Tx, *compute.Migration) error
}

// endMove accepts the end of a move that waits for it.
func (a *API) endMove(r *rest.Request, rule string, p precondition, end ending) error {
	var accepted engine.Accepted
	err := a.onServer(r, rule, func(tx store.Tx, server *compute.Server) error {
		if err := p.check(r, server); err != nil {
			return err
		}
		m, err := finishedMove(r, tx, server)
		if err == nil && m == nil {
			err = errNotResized
		}
		if err != nil {
			return err
		}
		if err := end.check(tx, m); err != nil {
			return err
		}
		if accepted, err = a.accept(r, tx, end.kind, server, nil); err != nil {
			return err
		}
		if err := compute.SetMigrationStatus(r.Context(), tx, server.ID, end.status); err != nil {
			return err
		}
		return compute.SetTask(r.Context(), tx, server.ID, end.task)
	})
	if err == nil {
		a.offer(accepted)
	}
	return err
}

// finishedMove gives the server's move that waits to be confirmed or reverted; nil
// if none does.
func finishedMove(r *rest.Request, tx store.Tx, server *compute.Server) (*compute.Migration, error) {
	m, err := compute.OpenMigration(r.Context(), tx, server.ID)
	if err != nil || m == nil || m.Status != servers.MigrationFinished || !slices.Contains([]servers.MigrationType{servers.Migrate, servers.Resize}, m.Type) {
		return nil, err
	}
	return m, nil
}

package compute

// Live migration: its request, its abort and its completion by force.

import (
	"context"
	"encoding/json"
	"strconv"
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

const policyMigrateLive = "os_compute_api:os-migrate-server:migrate_live"

// Versions at which the request for a live migration changed.
const (
	forceIsAsked  = 30 // before, a named host was gone to without asking the scheduler
	answersAtOnce = 34 // before, the answer told of what could be known before the guest moves
	forceIsNoMore = 68
	abortsQueued  = 65
)

var (
	beforeLiveMigration = precondition{name: "os-migrateLive", vmStates: []servers.VMState{servers.VMActive, servers.VMPaused},
		taskStates: idle, launched: true, placed: true, unlocked: true}
	whileLiveMigrating = precondition{name: "force_complete", vmStates: []servers.VMState{servers.VMActive},
		taskStates: []servers.TaskState{servers.TaskMigrating}, launched: true, unlocked: true}
	beforeAbort = precondition{name: "abort live migration", taskStates: []servers.TaskState{servers.TaskMigrating}, unlocked: true}
)

// liveMigrationBody is what was asked for; booleans come as words too.
type liveMigrationBody struct {
	Host  *string `json:"host"`
	Block word    `json:"block_migration"`
	Force word    `json:"force"`
}

// word is a JSON boolean or a string.
type word string

func (w *word) UnmarshalJSON(text []byte) error {
	var said any
	if err := json.Unmarshal(text, &said); err != nil {
		return err
	}
	switch said := said.(type) {
	case bool:
		*w = word(strconv.FormatBool(said))
	case string:
		*w = word(strings.ToLower(said))
	}
	return nil
}

// yes reads a word as the schemas have it (oslo's strict boolean).
func (w word) yes() bool {
	switch w {
	case "true", "t", "1", "on", "y", "yes":
		return true
	}
	return false
}

// liveMigrate accepts a live migration: its row and its operation are one transaction.
func (a *API) liveMigrate(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[liveMigrationBody](r, "os-migrateLive")
	if err != nil {
		return nil, err
	}
	in := steps.LiveMigration{}
	if asked.Host != nil {
		in.Host = *asked.Host
	}
	if block := asked.Block.yes(); asked.Block != "auto" && asked.Block != "" {
		in.Block = &block
	}
	in.Force = in.Host != "" && (!r.Has(forceIsAsked) || !r.Has(forceIsNoMore) && asked.Force.yes())
	if in.Host == "" && r.Has(forceIsAsked) && !r.Has(forceIsNoMore) && asked.Force.yes() {
		return nil, faults.New(faults.Invalid, "BadRequest", "Can't force to a non-provided destination")
	}
	var accepted engine.Accepted
	err = a.onServer(r, policyMigrateLive, func(tx store.Tx, server *compute.Server) error {
		if in.Host != "" {
			if err := r.Enforce(policyMigrateLive+":host", serverTarget(server)); err != nil {
				return err
			}
		}
		if err := beforeLiveMigration.check(r, server); err != nil {
			return err
		}
		if err := isHost(r.Context(), tx, in.Host); err != nil {
			return err
		}
		var err error
		if accepted, err = a.accept(r, tx, operations.ServerLiveMigrate, server, in); err != nil {
			return err
		}
		err = compute.StartMigration(r.Context(), tx, server, &compute.Migration{UserID: r.Identity.UserID, OperationID: accepted.OperationID,
			Type: servers.LiveMigration, Status: servers.MigrationAccepted, New: server.Flavor, NewRoom: server.Size()})
		if err != nil {
			return err
		}
		return compute.SetTask(r.Context(), tx, server.ID, servers.TaskMigrating)
	})
	if err != nil {
		return nil, err
	}
	a.offer(accepted)
	if !r.Has(answersAtOnce) {
		return nil, a.awaitMove(r, accepted.OperationID)
	}
	return nil, nil
}

// awaitMove waits until a guest is on its way, and gives what kept it from that.
func (a *API) awaitMove(r *rest.Request, operationID string) error {
	return a.awaitUnless(r, operationID, func() (bool, error) {
		m, err := compute.MigrationOf(r.Context(), a.DB.Pool, operationID)
		return m != nil && (m.Status == servers.MigrationRunning || m.Status == servers.MigrationPostMigrating), err
	})
}

// isHost refuses a host that isn't there; none is any.
func isHost(ctx context.Context, q store.Queryer, host string) error {
	if host == "" {
		return nil
	}
	_, err := hostNamed(ctx, q, host)
	return err
}

// hostNamed is the host that a body names.
func hostNamed(ctx context.Context, q store.Queryer, name string) (*compute.Host, error) {
	host, err := compute.HostByName(ctx, q, name)
	if faults.Is(err, faults.NotFound) {
		err = faults.New(faults.Invalid, "ComputeHostNotFound", "Compute host %s could not be found.", name)
	}
	return host, err
}

// abortMigration asks for the end of a live migration.
func (a *API) abortMigration(r *rest.Request) (*rest.Response, error) {
	err := a.onMigration(r, "os_compute_api:servers:migrations:delete", beforeAbort, faults.NotFound, func(tx store.Tx, server *compute.Server, m *compute.Migration) error {
		abortable := []servers.MigrationStatus{servers.MigrationRunning}
		if r.Has(abortsQueued) {
			abortable = append(abortable, servers.MigrationQueued, servers.MigrationPreparing)
		}
		if err := m.MustBe("abort live migration", abortable...); err != nil {
			return err
		}
		if _, err := a.Engine.RequestCancel(r.Context(), tx, m.OperationID, r.Identity.UserID); err != nil {
			return err
		}
		return record(r, tx, server, "live_migration_cancel")
	})
	return nil, err
}

// forceComplete has a live migration that runs come to its end.
func (a *API) forceComplete(r *rest.Request) (*rest.Response, error) {
	var operationID string
	err := a.onMigration(r, "os_compute_api:servers:migrations:force_complete", whileLiveMigrating, faults.Invalid, func(tx store.Tx, server *compute.Server, m *compute.Migration) error {
		operationID = m.OperationID
		if err := m.MustBe("force_complete", servers.MigrationRunning); err != nil {
			return err
		}
		if err := compute.ForceComplete(r.Context(), tx, m); err != nil {
			return err
		}
		return record(r, tx, server, "live_migration_force_complete")
	})
	if err != nil {
		return nil, err
	}
	a.Starter.Knock(operationID)
	return nil, nil
}

// onMigration does something with a live migration of the server that the path
// names; missing is the kind of the refusal where it has no such migration.
func (a *API) onMigration(r *rest.Request, rule string, needs precondition, missing faults.Kind, do func(store.Tx, *compute.Server, *compute.Migration) error) error {
	return a.DB.InTx(r.Context(), func(tx store.Tx) error {
		server, err := compute.LockServer(r.Context(), tx, r.Identity.Scope(), r.Param("server_id"))
		if err != nil {
			return err
		}
		if err := r.Enforce(rule, serverTarget(server)); err != nil {
			return err
		}
		if err := needs.check(r, server); err != nil {
			return err
		}
		notThere := faults.New(missing, "MigrationNotFoundForInstance", "Migration %s not found for instance %s", r.Param("id"), server.ID)
		id, err := strconv.ParseInt(r.Param("id"), 10, 32)
		if err != nil {
			return notThere
		}
		m, err := compute.ServerMigration(r.Context(), tx, server.ID, id)
		switch {
		case faults.Is(err, faults.NotFound):
			return notThere
		case err != nil:
			return err
		}
		if m.Type != servers.LiveMigration {
			return faults.New(faults.Invalid, "InvalidMigrationState",
				"Migration %d state of instance %s is %s. Cannot %s while the migration is in this state.", m.ID, server.ID, m.Status, needs.name)
		}
		return do(tx, server, m)
	})
}
